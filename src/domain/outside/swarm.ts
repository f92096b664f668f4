import type { Labels } from '../image/image-labels.ts';
import type { Platform } from '../image/platform.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../swarm/swarm-service.ts';
import type { CallOutcome } from './engine-writer.ts';
import type { RegistryCredentials } from './registry.ts';

/**
 * The swarm that an engine manages. Reading methods throw a `ServiceError` (`engine-unreachable`, `engine-denied`,
 * `engine-refused`, `timeout`). Except for `state`, a swarm without a leader takes 20 s to answer.
 */
export type SwarmReader = {
  readonly state: (signal?: AbortSignal) => Promise<SwarmState>;
  readonly services: (signal?: AbortSignal) => Promise<readonly SwarmService[]>;
  /** By its whole id; undefined when there is none. Its `count` is undefined. */
  readonly service: (id: string, signal?: AbortSignal) => Promise<SwarmService | undefined>;
  /** The tasks of these services, by whole ids, with as many past tasks as the swarm keeps. */
  readonly tasks: (serviceIds: readonly string[], signal?: AbortSignal) => Promise<readonly SwarmTask[]>;
  readonly nodes: (signal?: AbortSignal) => Promise<readonly SwarmNode[]>;
  /** Failed versions that the swarm stores. */
  readonly failures: (signal?: AbortSignal) => Promise<readonly FailedServiceVersion[]>;
};

/** Changes a swarm. No call is repeated automatically. */
export type SwarmWriter = {
  /** One call, made from the bytes that were read. Only the parts named by the edit change. */
  readonly change: (service: SwarmService, edit: ServiceEdit) => Promise<ServiceCallOutcome>;
  /**
   * The swarm's own rollback: `PreviousSpec` becomes the spec. Refused without one. A second call goes forward again.
   */
  readonly rollBack: (service: SwarmService) => Promise<ServiceCallOutcome>;
  /** `noop` if it is already stored. */
  readonly noteFailure: (failure: Omit<FailedServiceVersion, 'configId'>) => Promise<CallOutcome>;
  /** `noop` if it was already removed. */
  readonly forgetFailure: (failure: FailedServiceVersion) => Promise<CallOutcome>;
};

export type Swarm = SwarmReader & SwarmWriter;

/** The engine's role in a swarm, as it reports it. */
export type SwarmState =
  /** Not in a swarm, or of a kind without swarms. */
  | { readonly kind: 'none' }
  | { readonly kind: 'worker' }
  | { readonly kind: 'manager'; readonly clusterId: string }
  /** A manager that can neither read nor change anything. `message` is the engine's, one printable line. */
  | { readonly kind: 'leaderless'; readonly message: string };

export type ServiceEdit = {
  /** Replaces the image of the spec, verbatim. */
  readonly image: string;
  /** Added to `Spec.Labels`, or replaced there. */
  readonly labels: Labels;
  /** Replaces `Placement.Platforms`. Absent: they stay. */
  readonly platforms?: readonly Platform[];
  /** Absent: the swarm keeps its own. */
  readonly credentials?: RegistryCredentials;
};

/** `conflict`: the service has changed since it was read, and the call had no effect. */
export type ServiceCallOutcome = CallOutcome | { readonly kind: 'conflict' };

/**
 * A version that failed in a service by its own fault. It outlives this process and the leader, and storing it restarts
 * no task.
 */
export type FailedServiceVersion = {
  /** The id of the config object that stores it. */
  readonly configId: string;
  readonly serviceId: string;
  readonly serviceName: string;
  /** The digest of the image that failed. */
  readonly digest: string;
  /** Milliseconds since the epoch, in whole seconds. */
  readonly atMs: number;
  /** A sentence without a final period. */
  readonly reason: string;
};
