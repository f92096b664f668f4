import type { Labels } from '../image/image-labels.ts';
import type { Platform } from '../image/platform.ts';

/** A service of a swarm from one reading. All fields are of one version. */
export type SwarmService = {
  readonly id: string;
  readonly name: string;
  /**
   * Decimal digits. It also changes without a change of the service. A change is based on the version that was read
   * with it.
   */
  readonly version: string;
  /** Verbatim: `repository:tag@sha256:…`, or a shorter form. */
  readonly image: string;
  /** `Spec.Labels`. */
  readonly labels: Labels;
  /** Labels of its containers: `Spec.TaskTemplate.ContainerSpec.Labels`. */
  readonly containerLabels: Labels;
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly mode: ServiceMode;
  /** The number in the spec. Undefined for a mode without one. */
  readonly replicas: number | undefined;
  /**
   * The swarm's own count, which may include tasks on a lost node, with the tasks of a global service that wait for
   * their restart. Undefined where it was not requested.
   */
  readonly count: { readonly running: number; readonly wanted: number } | undefined;
  /** Undefined: never updated, or changed since without a restart of its tasks. */
  readonly update: UpdateState | undefined;
  readonly order: 'start-first' | 'stop-first';
  readonly failureAction: 'pause' | 'continue' | 'rollback';
  /** The time for which the swarm's updater watches a new task. */
  readonly monitorMs: number;
  /** It publishes a port on the node itself, so each node runs at most one of its tasks. */
  readonly hasHostPorts: boolean;
  /** `node.role==worker`, as in the spec. */
  readonly constraints: readonly string[];
  /** `Placement.Platforms` of the spec; undefined without it. */
  readonly platforms: readonly Platform[] | undefined;
  /** From `PreviousSpec`. Undefined without one, for example after the swarm's own rollback. */
  readonly previous: { readonly image: string; readonly labels: Labels } | undefined;
  readonly spec: RawSpec;
};

/** The bytes of a spec as they were read. Only the adapter that read them parses them. */
export type RawSpec = string & { readonly [rawSpec]: never };
declare const rawSpec: unique symbol;

export const serviceModes = ['replicated', 'global', 'replicated-job', 'global-job'] as const;

export type ServiceMode = (typeof serviceModes)[number];

/** The report of the swarm's updater about itself. It can be wrong, and `updating` may never end. */
export type UpdateState = {
  readonly state: SwarmUpdateStatus;
  /** Milliseconds since the epoch by the swarm's clock; undefined without it. */
  readonly startedAtMs: number | undefined;
  readonly completedAtMs: number | undefined;
  /** One printable line. */
  readonly message: string;
};

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceInspect */
export const swarmUpdateStatuses = [
  'updating',
  'paused',
  'completed',
  'rollback_started',
  'rollback_paused',
  'rollback_completed',
] as const;

export type SwarmUpdateStatus = (typeof swarmUpdateStatuses)[number];

export type SwarmTask = {
  readonly id: string;
  readonly serviceId: string;
  /** Empty until it is assigned to a node. */
  readonly nodeId: string;
  /** Undefined for a task of a global service. */
  readonly slot: number | undefined;
  /** Verbatim, from the task's own spec. */
  readonly image: string;
  readonly state: TaskState;
  readonly desired: TaskState;
  /** One printable line: `task: non-zero exit (3)`; empty without an error. */
  readonly error: string;
  readonly exitCode: number | undefined;
  readonly createdAtMs: number;
  /** The time at which it reached its state, by the clock of its node. */
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

/** The tasks of one version. */
export type TaskProgress = { readonly running: number; readonly wanted: number };

export type SwarmNode = {
  readonly id: string;
  readonly hostname: string;
  /** Only a `ready` node is known to run its tasks. */
  readonly state: 'ready' | 'down' | 'unknown' | 'disconnected';
  readonly availability: 'active' | 'pause' | 'drain';
  readonly role: 'manager' | 'worker';
  readonly platform: Platform;
  readonly labels: Labels;
};
