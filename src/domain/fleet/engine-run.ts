/**
 * The results of a run on one engine. `busy`: another run was under way, so the engine was skipped. `failed`: it
 * answered, but the run as a whole failed there.
 */
export const engineRunResults = ['ran', 'busy', 'unreachable', 'failed'] as const;

/** One engine's part in a run. */
export type EngineRun = {
  readonly name: string;
  readonly result: (typeof engineRunResults)[number];
  /** A sentence without a final period; absent with `ran`. */
  readonly error?: string;
  readonly durationMs: number;
};

/** The result of a check or a repair for each engine. Absent with one engine. */
export type EngineRuns = { readonly engines?: readonly EngineRun[] };
