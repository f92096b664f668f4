import type { Labels } from '../container/label-names.ts';
import type { Platform } from '../reference/platform.ts';

/** A service of a swarm, as one read shows it: all of it is of one version. */
export type SwarmService = {
  readonly id: string;
  readonly name: string;
  /** Decimal digits. It moves also while nobody changes the service; a change is made of what was read with it. */
  readonly version: string;
  /** Verbatim: `repository:tag@sha256:…`, or less. */
  readonly image: string;
  /** `Spec.Labels`. */
  readonly labels: Labels;
  /** Of its containers: `Spec.TaskTemplate.ContainerSpec.Labels`. */
  readonly containerLabels: Labels;
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly mode: ServiceMode;
  /** Of the spec; undefined where the mode has no such number. */
  readonly replicas: number | undefined;
  /** The swarm's own count; a task on a node that is down may be among those that run. Undefined where it was not asked for. */
  readonly count: { readonly running: number; readonly wanted: number } | undefined;
  /** Undefined: never updated, or changed since without a restart of its tasks. */
  readonly update: UpdateState | undefined;
  readonly order: 'start-first' | 'stop-first';
  readonly failureAction: 'pause' | 'continue' | 'rollback';
  /** How long the swarm's updater watches a new task. */
  readonly monitorMs: number;
  /** It publishes a port on the node itself, so that one node runs one task of it. */
  readonly hasHostPorts: boolean;
  /** `node.role==worker`, as in the spec. */
  readonly constraints: readonly string[];
  /** `Placement.Platforms` of the spec; undefined where it has none. */
  readonly platforms: readonly Platform[] | undefined;
  /** Of `PreviousSpec`; undefined without one, as after the swarm's own rollback. */
  readonly previous: { readonly image: string; readonly labels: Labels } | undefined;
  readonly spec: RawSpec;
};

/** The bytes of a spec as they were read: only the adapter that read them looks into them. */
export type RawSpec = string & { readonly [rawSpec]: never };
declare const rawSpec: unique symbol;

export type ServiceMode = 'replicated' | 'global' | 'replicated-job' | 'global-job';

/** What the swarm's updater says of itself; it is a claim, and `updating` need not end. */
export type UpdateState = {
  readonly state: UpdateWord;
  /** Milliseconds since the epoch by the swarm's clock; undefined where it does not say. */
  readonly startedAtMs: number | undefined;
  readonly completedAtMs: number | undefined;
  /** One printable line. */
  readonly message: string;
};

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceInspect */
export type UpdateWord =
  | 'updating'
  | 'paused'
  | 'completed'
  | 'rollback_started'
  | 'rollback_paused'
  | 'rollback_completed';

export type SwarmTask = {
  readonly id: string;
  readonly serviceId: string;
  /** Empty until it is assigned to a node. */
  readonly nodeId: string;
  /** Undefined for a task of a global service. */
  readonly slot: number | undefined;
  /** Verbatim, of the task's own spec. */
  readonly image: string;
  readonly state: TaskState;
  readonly desired: TaskState;
  /** One printable line: `task: non-zero exit (3)`; empty where all is well. */
  readonly error: string;
  readonly exitCode: number | undefined;
  readonly createdAtMs: number;
  /** When it came to its state, by the clock of its node. */
  readonly stateAtMs: number;
};

/** In the order of a task's life: https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/ */
export const taskStates = [
  'new',
  'pending',
  'assigned',
  'accepted',
  'preparing',
  'ready',
  'starting',
  'running',
  'complete',
  'shutdown',
  'failed',
  'rejected',
  'remove',
  'orphaned',
] as const;

export type TaskState = (typeof taskStates)[number];

/** Tasks of one version. */
export type TaskProgress = { readonly running: number; readonly wanted: number };

export type SwarmNode = {
  readonly id: string;
  readonly hostname: string;
  /** Only a `ready` node is known to run what it should. */
  readonly state: 'ready' | 'down' | 'unknown' | 'disconnected';
  readonly availability: 'active' | 'pause' | 'drain';
  readonly role: 'manager' | 'worker';
  readonly platform: Platform;
  readonly labels: Labels;
};
