import type { WaveStep } from './wave-grammar.ts';

/**
 * Names of the engines in each wave, in configured order. Each engine is in the first wave that matches it. The same
 * configuration always gives the same waves. Engines that no step matches form the last wave. No wave is empty.
 */
export function assignWaves(steps: readonly WaveStep[], engines: readonly string[]): readonly (readonly string[])[] {
  const taken = new Set<string>();
  const waves: string[][] = [];
  const take = (wave: readonly string[]): void => {
    if (wave.length === 0) return;
    for (const engine of wave) taken.add(engine);
    waves.push([...wave]);
  };
  const left = (): readonly string[] => engines.filter((engine) => !taken.has(engine));
  for (const step of steps) {
    if (step.kind === 'names') take(left().filter((engine) => step.matches(engine)));
    else take(left().slice(0, Math.max(0, Math.ceil((engines.length * step.percent) / 100) - taken.size)));
  }
  take(left());
  return waves;
}

/** Patterns that match no engine, usually because of a typo. */
export function patternsWithoutEngine(steps: readonly WaveStep[], engines: readonly string[]): readonly string[] {
  return steps.flatMap((step) =>
    step.kind === 'names' && !engines.some((engine) => step.matches(engine)) ? [step.text] : [],
  );
}
