/** What the user wants, after flags, environment and defaults: the same for every run of the process. */
export type ServiceSettings = {
  /** Names or whole-name regular expressions; empty: every container. */
  readonly names: readonly string[];
  readonly labelEnable: boolean;
  readonly disableContainers: readonly string[];
  /** Undefined: unscoped containers only. */
  readonly scope: string | undefined;
  readonly includeStopped: boolean;
  readonly includeRestarting: boolean;
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  /** Labels override flags instead of adding to them. */
  readonly labelTakesPrecedence: boolean;
  readonly cleanup: boolean;
  /** Minimum age of an image before it is applied; 0: none. */
  readonly cooldownMs: number;
  /** For containers without a stop timeout of their own. */
  readonly stopTimeoutMs: number;
  /** How long a successor without HEALTHCHECK must run before it counts as up. */
  readonly gateWindowMs: number;
  /** Upper bound of the wait for `healthy`; undefined: from the HEALTHCHECK's own numbers. */
  readonly gateTimeoutMs: number | undefined;
  /** A pull that makes no progress for so long has failed. */
  readonly pullTimeoutMs: number;
  /** Transactions in flight at once. */
  readonly updateConcurrency: number;
  /** Registry checks in flight at once, all hosts together. */
  readonly checkConcurrency: number;
  readonly useComposeDependsOn: boolean;
};

/** The defaults of the Watchtower family where it has one, else of `design` decisions in `docs/configuration.md`. */
export const defaultSettings: ServiceSettings = {
  names: [],
  labelEnable: false,
  disableContainers: [],
  scope: undefined,
  includeStopped: false,
  includeRestarting: false,
  monitorOnly: false,
  noPull: false,
  labelTakesPrecedence: false,
  cleanup: false,
  cooldownMs: 0,
  stopTimeoutMs: 30_000,
  gateWindowMs: 10_000,
  gateTimeoutMs: undefined,
  pullTimeoutMs: 600_000,
  updateConcurrency: 4,
  checkConcurrency: 64,
  useComposeDependsOn: true,
};
