/** One engine's part in a run. */
export type EngineRun = {
  readonly name: string;
  /**
   * `busy`: another run was under way, so the engine was skipped. `failed`: it answered, but the run as a whole failed
   * there.
   */
  readonly result: 'ran' | 'busy' | 'unreachable' | 'failed';
  /** A sentence without a final period; absent with `ran`. */
  readonly error?: string;
  readonly durationMs: number;
};

/** The result of a check or a repair for each engine. Absent with one engine. */
export type EngineRuns = { readonly engines?: readonly EngineRun[] };
