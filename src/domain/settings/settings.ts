import type { HealthProbe } from './health-probe.ts';

/** The user's settings after flags, environment and defaults, the same for every run of the process. */
export type ServiceSettings = {
  /** Names or whole-name regular expressions; empty: every container. */
  readonly names: readonly string[];
  readonly labelEnable: boolean;
  readonly disableContainers: readonly string[];
  /** Patterns for the whole `name:tag` of an image; empty: every image. */
  readonly monitorImageNames: readonly string[];
  readonly skipImageNames: readonly string[];
  /** `key=value`, or `key=` for any value; a container needs one of them. Empty: none is needed. */
  readonly enableContainersByLabel: readonly string[];
  /** The same; a container with any of them is left alone. */
  readonly disableContainersByLabel: readonly string[];
  /** Empty or `none`: unscoped containers only. Undefined: the scope of the updater's own container. */
  readonly scope: string | undefined;
  readonly includeStopped: boolean;
  readonly includeRestarting: boolean;
  /** Start containers that were stopped before their update. */
  readonly reviveStopped: boolean;
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  /** Labels override flags instead of adding to them. */
  readonly labelTakesPrecedence: boolean;
  /** Successors are created and left stopped. */
  readonly noRestart: boolean;
  /** Also containers that the engine removes as soon as they stop. */
  readonly updateAutoRemove: boolean;
  /** Where it is safe, the old container runs on until its successor is proven. */
  readonly startFirst: boolean;
  /** For how long a replaced container is kept, stopped; 0: not at all. */
  readonly keepOldMs: number;
  /** One transaction at a time, whatever `updateConcurrency` says. */
  readonly rollingRestart: boolean;
  /** Whether Upkeep replaces the container that it runs in. */
  readonly selfUpdate: SelfUpdate;
  readonly cleanup: boolean;
  /** Anonymous volumes go with the old container; its successor gets fresh ones. */
  readonly removeVolumes: boolean;
  /** Minimum age of an image before it is applied; 0: none. */
  readonly cooldownMs: number;
  /** For containers without a stop timeout of their own. */
  readonly stopTimeoutMs: number;
  /** How long a successor without HEALTHCHECK must run before it counts as up. */
  readonly gateWindowMs: number;
  /** Upper bound of the wait for `healthy`; undefined: from the HEALTHCHECK's own numbers. */
  readonly gateTimeoutMs: number | undefined;
  /** Probe of successors besides their HEALTHCHECK. */
  readonly healthProbe: HealthProbe;
  /** A pull that makes no progress for so long has failed. */
  readonly pullTimeoutMs: number;
  /** Transactions in flight at once. */
  readonly updateConcurrency: number;
  /** Registry checks in flight at once, all hosts together. */
  readonly checkConcurrency: number;
  readonly useComposeDependsOn: boolean;
  /** CPU limits that a successor copies; `auto` leaves out those that Podman refuses. */
  readonly cpuCopyMode: CpuCopyMode;
  /** Leaves `MemorySwappiness` out of successors. */
  readonly disableMemorySwappiness: boolean;
  /** Commands in `lifecycle` labels are run. */
  readonly lifecycleHooks: boolean;
  /** Of those commands, where a label says nothing; undefined: the container's own. */
  readonly lifecycleUserId: number | undefined;
  readonly lifecycleGroupId: number | undefined;
};

export type CpuCopyMode = 'auto' | 'full' | 'none';

/** The defaults of the Watchtower family where it has one, else of `design` decisions in `docs/configuration.md`. */
export const defaultSettings: ServiceSettings = {
  names: [],
  labelEnable: false,
  disableContainers: [],
  monitorImageNames: [],
  skipImageNames: [],
  enableContainersByLabel: [],
  disableContainersByLabel: [],
  scope: undefined,
  includeStopped: false,
  includeRestarting: false,
  reviveStopped: false,
  monitorOnly: false,
  noPull: false,
  labelTakesPrecedence: false,
  noRestart: false,
  updateAutoRemove: false,
  startFirst: false,
  keepOldMs: 0,
  rollingRestart: false,
  selfUpdate: 'on',
  cleanup: false,
  removeVolumes: false,
  cooldownMs: 0,
  stopTimeoutMs: 30_000,
  gateWindowMs: 10_000,
  gateTimeoutMs: undefined,
  healthProbe: { kind: 'none' },
  pullTimeoutMs: 600_000,
  updateConcurrency: 4,
  checkConcurrency: 64,
  useComposeDependsOn: true,
  cpuCopyMode: 'auto',
  disableMemorySwappiness: false,
  lifecycleHooks: false,
  lifecycleUserId: undefined,
  lifecycleGroupId: undefined,
};

/**
 * Whether Upkeep replaces the container that it runs in. `unless-published`: the HTTP API is on, so
 * not while the container publishes ports. `not-main-process`: a successor would not begin Upkeep.
 */
export type SelfUpdate = 'on' | 'unless-published' | 'off' | 'not-by-this-command' | 'not-main-process';
