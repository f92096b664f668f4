import type { Labels } from '../container/label-names.ts';
import type { Platform } from '../reference/platform.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../swarm/swarm-service.ts';
import type { CallOutcome } from './engine-writer.ts';
import type { RegistryCredentials } from './registry.ts';

/**
 * The swarm that an engine is a manager of. Reading methods throw a `ServiceError` (`engine-unreachable`,
 * `engine-denied`, `engine-refused`, `timeout`); a swarm without a leader takes 20 s to say so, save for `state`.
 */
export type SwarmReader = {
  readonly state: (signal?: AbortSignal) => Promise<SwarmState>;
  readonly services: (signal?: AbortSignal) => Promise<readonly SwarmService[]>;
  /** By its whole id; undefined when there is none. Its `count` is undefined. */
  readonly service: (id: string, signal?: AbortSignal) => Promise<SwarmService | undefined>;
  /** Of these services, by their whole ids; as many of the past as the swarm's history keeps. */
  readonly tasks: (serviceIds: readonly string[], signal?: AbortSignal) => Promise<readonly SwarmTask[]>;
  readonly nodes: (signal?: AbortSignal) => Promise<readonly SwarmNode[]>;
  /** Versions that failed, as far as they are remembered in the swarm. */
  readonly failures: (signal?: AbortSignal) => Promise<readonly FailedServiceVersion[]>;
};

/** Changes a swarm. No call is ever repeated by itself. */
export type SwarmWriter = {
  /** One call, made of the bytes that were read: nothing but what the edit names differs afterwards. */
  readonly change: (service: SwarmService, edit: ServiceEdit) => Promise<ServiceCallOutcome>;
  /** `PreviousSpec` becomes the spec, by the swarm's own rollback; refused when there is none. Twice is forward again. */
  readonly goBack: (service: SwarmService) => Promise<ServiceCallOutcome>;
  /** `noop` where it is remembered already. */
  readonly noteFailure: (failure: Omit<FailedServiceVersion, 'configId'>) => Promise<CallOutcome>;
  /** `noop` when it is gone already. */
  readonly forgetFailure: (failure: FailedServiceVersion) => Promise<CallOutcome>;
};

export type Swarm = SwarmReader & SwarmWriter;

/** The engine's place in a swarm, by its own word. */
export type SwarmState =
  /** Not in a swarm, or of a kind that knows none. */
  | { readonly kind: 'none' }
  | { readonly kind: 'worker' }
  | { readonly kind: 'manager'; readonly clusterId: string }
  /** A manager that can neither tell nor change anything; `message` is the engine's, one printable line. */
  | { readonly kind: 'leaderless'; readonly message: string };

export type ServiceEdit = {
  /** Replaces the image of the spec, verbatim. */
  readonly image: string;
  /** Added to `Spec.Labels`, or replaced there. */
  readonly labels: Labels;
  /** Replace `Placement.Platforms`; absent: it stays as it is. */
  readonly platforms?: readonly Platform[];
  /** Absent: the swarm keeps those it has. */
  readonly credentials?: RegistryCredentials;
};

/** `conflict`: somebody else has changed the service since it was read, and nothing happened. */
export type ServiceCallOutcome = CallOutcome | { readonly kind: 'conflict' };

/** A version that failed in a service for its own fault. It outlives this process and the leader, and touches no task. */
export type FailedServiceVersion = {
  /** Of the config object that remembers it. */
  readonly configId: string;
  readonly serviceId: string;
  readonly serviceName: string;
  /** Of the image that failed. */
  readonly digest: string;
  /** Milliseconds since the epoch, in whole seconds. */
  readonly atMs: number;
  /** A sentence without a final period. */
  readonly reason: string;
};
