/** The products that can be told apart. */
export type EngineKind = 'docker' | 'podman';

/** The present state of one of several engines. */
export type EngineState = {
  readonly name: string;
  /** The address without user, password and query. */
  readonly address: string;
  /** Undefined before the first connection. */
  readonly kind: EngineKind | undefined;
  readonly version: string | undefined;
  /** Undefined before the end of the first attempt. */
  readonly reachable: boolean | undefined;
  /** The begin of this state, milliseconds since the epoch; undefined before the first attempt. */
  readonly sinceMs: number | undefined;
  /** A sentence without a final period; undefined while it answers. */
  readonly error: string | undefined;
  /** The number of watched containers in its last listing. */
  readonly containers: number;
  /** Undefined while no check has told. */
  readonly updatesAvailable: number | undefined;
  /** When the last run on it ended, milliseconds since the epoch; undefined before the first. */
  readonly lastRunAtMs: number | undefined;
};
