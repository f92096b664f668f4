import { type WaveStep, assignWaves } from '../../../domain/waves.ts';

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
