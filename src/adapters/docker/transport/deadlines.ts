/** How long we wait for the engine, in milliseconds. */
export type Deadlines = {
  /** For a whole answer that changes nothing. A list of 3,000 containers takes 0.2 s on a slow machine. */
  readonly readMs: number;
  /** For create, start, rename and the like: a volume driver or a full disk can make them slow, and giving up early only yields "unknown". */
  readonly changeMs: number;
  /** Time after a container's own stop timeout, for the kill and the engine's tidying. */
  readonly stopMarginMs: number;
  /** For a removal that somebody else began. */
  readonly removalMs: number;
  /** Silence during a pull. The engine reports progress several times a second while there is any. */
  readonly pullSilenceMs: number;
};

export const defaultDeadlines: Deadlines = {
  readMs: 30_000,
  changeMs: 120_000,
  stopMarginMs: 15_000,
  removalMs: 60_000,
  pullSilenceMs: 600_000,
};
