import { assignWaves, patternsWithoutEngine } from '../../../domain/wave/assign-waves.ts';
import { type WaveStep, parseWaves } from '../../../domain/wave/wave-grammar.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';

/** The engines in waves. */
export type WavePlan = {
  /** The index of the wave, from 0, by the name of an engine. */
  readonly waveOf: (engine: string) => number;
  readonly waves: readonly (readonly string[])[];
  readonly pauseMs: number;
};

export type WaveOptions = { readonly steps: readonly WaveStep[]; readonly pauseMs: number };

/** Undefined if all engines are one wave. */
export function planWaves(engines: readonly string[], options: WaveOptions | undefined): WavePlan | undefined {
  if (options === undefined) return undefined;
  const waves = assignWaves(options.steps, engines);
  const indexes = new Map(waves.flatMap((wave, index) => wave.map((engine): [string, number] => [engine, index])));
  return { waves, pauseMs: options.pauseMs, waveOf: (engine) => indexes.get(engine) ?? 0 };
}

/** Reads `--waves` for the given engine names. Throws `invalid-input`. Warns of patterns that match no engine. */
export function readWaves(
  { text, pauseMs }: { readonly text: string; readonly pauseMs: number },
  engines: readonly string[],
  log: Log,
): WaveOptions {
  const steps = parseWaves(text);
  if ('fault' in steps) throw new ServiceError('invalid-input', `Cannot use --waves ${quoted(text)}: ${steps.fault}`);
  for (const pattern of patternsWithoutEngine(steps, engines))
    log.warn(`--waves: no engine has a name like ${quoted(pattern)}`);
  return { steps, pauseMs };
}
