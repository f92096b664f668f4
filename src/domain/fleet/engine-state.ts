/** One of several engines as it is known now. */
export type EngineState = {
  readonly name: string;
  /** Without a user, a password and a query. */
  readonly address: string;
  /** Undefined before it was reached for the first time. */
  readonly kind: string | undefined;
  readonly version: string | undefined;
  /** Undefined before the first attempt to reach it has ended. */
  readonly reachable: boolean | undefined;
  /** Since when it is so, milliseconds since the epoch; undefined before. */
  readonly sinceMs: number | undefined;
  /** A sentence without a final period; undefined while it answers. */
  readonly error: string | undefined;
  /** Watched containers, as far as it has been listed. */
  readonly containers: number;
  readonly updatesAvailable: number;
  /** When the last run on it ended, milliseconds since the epoch; undefined before the first. */
  readonly lastRunAtMs: number | undefined;
};
