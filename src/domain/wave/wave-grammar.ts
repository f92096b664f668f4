import { boundedPattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';

/** A step in the order of engine updates. A share is a percentage of all engines, from the first one. */
export type WaveStep =
  | { readonly kind: 'names'; readonly text: string; readonly matches: (engine: string) => boolean }
  | { readonly kind: 'share'; readonly percent: number };

/**
 * Reads `canary-.*, 25%, 100%`: patterns for whole engine names in the syntax of
 * https://github.com/google/re2/wiki/Syntax, and increasing shares. A comma within braces belongs to the pattern. The
 * fault completes "Cannot read …: ".
 */
export function parseWaves(text: string): readonly WaveStep[] | { readonly fault: string } {
  if (text.length > longestText) return { fault: `it has more than ${longestText} characters` };
  const parts = text
    .split(/,(?![^{]*\})/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return { fault: 'it is empty' };
  const steps: WaveStep[] = [];
  for (const part of parts) {
    const step = /^-?[\d.]+\s*%$/.test(part) ? readShare(part, steps) : readNames(part);
    if ('fault' in step) return step;
    steps.push(step);
  }
  return steps;
}

const longestText = 1000;

type Fault = { readonly fault: string };

function readShare(part: string, before: readonly WaveStep[]): WaveStep | Fault {
  const percent = Number(part.slice(0, -1));
  if (!(percent > 0 && percent <= 100)) return { fault: `${quoted(part)} is not a share above 0% and up to 100%` };
  const largest = Math.max(0, ...before.map((step) => (step.kind === 'share' ? step.percent : 0)));
  if (percent <= largest) return { fault: `${quoted(part)} comes after ${largest}%, so it adds no engine` };
  return { kind: 'share', percent };
}

function readNames(text: string): WaveStep | Fault {
  const pattern = boundedPattern(text);
  if ('fault' in pattern) return { fault: `${quoted(text)}: ${pattern.fault}` };
  return { kind: 'names', text, matches: (engine) => pattern.groupsOf(engine) !== undefined };
}

/**
 * Names of the engines in each wave, in configured order. Each engine is in the first wave that matches it. The same
 * configuration always gives the same waves. Engines that no step matches form the last wave. No wave is empty.
 */
export function assignWaves(steps: readonly WaveStep[], engines: readonly string[]): readonly (readonly string[])[] {
  const assigned = new Set<string>();
  const waves: string[][] = [];
  const add = (wave: readonly string[]): void => {
    if (wave.length === 0) return;
    for (const engine of wave) assigned.add(engine);
    waves.push([...wave]);
  };
  const remaining = (): readonly string[] => engines.filter((engine) => !assigned.has(engine));
  for (const step of steps) {
    if (step.kind === 'names') add(remaining().filter((engine) => step.matches(engine)));
    else add(remaining().slice(0, Math.max(0, Math.ceil((engines.length * step.percent) / 100) - assigned.size)));
  }
  add(remaining());
  return waves;
}

/** Patterns that match no engine, usually because of a typo. */
export function patternsWithoutEngine(steps: readonly WaveStep[], engines: readonly string[]): readonly string[] {
  return steps.flatMap((step) =>
    step.kind === 'names' && !engines.some((engine) => step.matches(engine)) ? [step.text] : [],
  );
}
