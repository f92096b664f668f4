import type { SwarmNode, SwarmService, SwarmTask } from '../../src/domain/container/swarm-service.ts';
import type { FailedServiceVersion } from '../../src/domain/outside/engine.ts';
import type { RegistryCredentials } from '../../src/domain/outside/registry.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import type { Behaviour } from '../base/behaviour.ts';
import type { IdSource, Timers } from '../base/simulation.ts';

/** A swarm in memory that reports as Docker's does: the updater's state describes the updater alone, not the tasks. */
export type SwarmState = {
  readonly id: string;
  readonly clock: Clock;
  readonly later: Timers;
  readonly newId: IdSource;
  /** Behaviour of an image, by its reference with a digest; undefined: no registry has it. */
  readonly behaviourOf: (
    image: string,
    credentials: RegistryCredentials | undefined,
  ) => Promise<ImageBehaviour | undefined>;
  /** Sends an event of every engine that manages the swarm. */
  readonly announce: (action: 'create' | 'update' | 'remove', service: SandboxService) => void;
  /** Takes the next step from the actual to the desired state; called after every change. */
  readonly settle: () => void;
  readonly nodes: Map<string, SandboxNode>;
  readonly services: Map<string, SandboxService>;
  readonly tasks: Map<string, SandboxTask>;
  /** By the id of the config object. */
  readonly failures: Map<string, FailedServiceVersion>;
  /** Ended tasks that are kept, with the newest, in each slot. */
  taskHistory: number;
  /** Counts every change, as the index of the swarm's log does. */
  index: number;
};

/** An engine in a swarm, or in none. */
export type Membership = {
  readonly swarm: SwarmState;
  place: 'none' | 'worker' | 'manager' | 'leaderless';
};

export type ImageBehaviour = { readonly behaviour: Behaviour; readonly hasHealthcheck: boolean };

export type SandboxNode = Writable<SwarmNode>;

export type SandboxService = {
  readonly id: string;
  readonly createdAtMs: number;
  spec: SandboxServiceSpec;
  previous: SandboxServiceSpec | undefined;
  version: number;
  status: SwarmService['update'];
  /** Not part of any answer. */
  credentials: RegistryCredentials | undefined;
  updater: Updater | undefined;
};

export type SandboxTask = Writable<SwarmTask> & {
  /** Cancels the running operations. */
  callOff: () => void;
  behaviour: ImageBehaviour | undefined;
};

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Docker's updater at work: one slot after another. */
export type Updater = {
  readonly kind: 'update' | 'rollback';
  readonly total: number;
  /** Remaining slots, or ids of nodes. */
  readonly left: string[];
  /** First new task of each slot, without its replacements. */
  readonly watched: Map<string, { untilMs: number | undefined }>;
  current: { readonly oldIds: readonly string[]; readonly newId: string } | undefined;
  /** Earliest time of the next slot. */
  notBeforeMs: number;
};

/** The fields of a service's spec that the sandbox supports; the others are kept unchanged. */
export type SandboxServiceSpec = {
  Name: string;
  Labels?: Record<string, string>;
  Mode?: {
    Replicated?: { Replicas?: number };
    Global?: object;
    ReplicatedJob?: object;
    GlobalJob?: object;
  };
  UpdateConfig?: RollConfig;
  RollbackConfig?: RollConfig;
  EndpointSpec?: { Ports?: readonly { PublishedPort?: number; PublishMode?: string }[] };
  TaskTemplate: {
    ContainerSpec: {
      Image: string;
      Labels?: Record<string, string>;
      StopGracePeriod?: number;
      [field: string]: unknown;
    };
    Placement?: {
      Constraints?: readonly string[];
      Platforms?: readonly { OS?: string; Architecture?: string }[];
      [field: string]: unknown;
    };
    RestartPolicy?: { Condition?: string; Delay?: number };
    [field: string]: unknown;
  };
};

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceCreate; durations in nanoseconds. */
export type RollConfig = {
  Parallelism?: number;
  Delay?: number;
  FailureAction?: string;
  Monitor?: number;
  MaxFailureRatio?: number;
  Order?: string;
};

const endedStates: ReadonlySet<SwarmTask['state']> = new Set([
  'complete',
  'shutdown',
  'failed',
  'rejected',
  'orphaned',
]);

export function hasEnded({ state }: SandboxTask): boolean {
  return endedStates.has(state);
}

export function tasksOf(world: SwarmState, service: SandboxService): SandboxTask[] {
  return [...world.tasks.values()].filter(({ serviceId }) => serviceId === service.id);
}

/** The place of a task in its service: a slot, or the node for a global service. */
export function placeOf({ slot, nodeId }: SandboxTask): string {
  return slot === undefined ? nodeId : String(slot);
}

export function nsToMs(ns: number | undefined, orElseMs: number): number {
  return ns === undefined ? orElseMs : ns / 1_000_000;
}

/** Docker's default of five seconds: https://docs.docker.com/reference/cli/docker/service/create/ */
export function monitorMs(config: RollConfig | undefined): number {
  return config?.Monitor ? config.Monitor / 1_000_000 : 5000;
}
