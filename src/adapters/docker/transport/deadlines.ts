/** Time limits for answers of the engine, in milliseconds. */
export type Deadlines = {
  /** For a whole answer to a read. A list of 3,000 containers takes 0.2 s on a slow machine. */
  readonly readMs: number;
  /**
   * For create, start, rename and similar calls. A volume driver or a full disk can make them slow, and an early end
   * only gives the outcome "unknown".
   */
  readonly changeMs: number;
  /** Time after a container's own stop timeout, for the kill and the engine's cleanup. */
  readonly stopMarginMs: number;
  /** For a removal that another client began. */
  readonly removalMs: number;
  /** Silence during a pull. The engine reports progress several times a second. */
  readonly pullSilenceMs: number;
};

export const defaultDeadlines: Deadlines = {
  readMs: 30_000,
  changeMs: 120_000,
  stopMarginMs: 15_000,
  removalMs: 60_000,
  pullSilenceMs: 600_000,
};
