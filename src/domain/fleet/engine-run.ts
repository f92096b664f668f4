/** One engine's part in a run. */
export type EngineRun = {
  readonly name: string;
  /** `busy`: another run works on it, so it sat out. `failed`: it answered, but the run as a whole failed there. */
  readonly result: 'ran' | 'busy' | 'unreachable' | 'failed';
  /** A sentence without a final period; absent with `ran`. */
  readonly error?: string;
  readonly durationMs: number;
};

/** How a check or a repair ended on each engine; absent where there is one. */
export type EngineRuns = { readonly engines?: readonly EngineRun[] };
