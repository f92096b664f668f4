import type { OutcomeKind } from '../../run/session.ts';
import type { SwarmNode, SwarmService, SwarmTask, TaskProgress } from '../../container/swarm-service.ts';

/** One update of a service. The swarm stores it, as labels of the spec that the update made. */
export type ServiceUpdate = {
  readonly id: string;
  readonly serviceId: string;
  /** Verbatim from the spec. */
  readonly from: string;
  readonly to: string;
};

/** One reading of the swarm. */
export type ServiceFacts = {
  readonly update: ServiceUpdate;
  /** Undefined: it was removed. */
  readonly service: SwarmService | undefined;
  /** The tasks of this service only. */
  readonly tasks: readonly SwarmTask[];
  readonly nodes: readonly SwarmNode[];
  /** Monotonic milliseconds. */
  readonly nowMs: number;
};

/** Milliseconds. */
export type ServiceLimits = {
  /** The time that new tasks must run: the longer of the swarm's monitor and the health window. */
  readonly windowMs: number;
  /** The time for that proof after the end of the swarm's updater. */
  readonly proofMs: number;
  /** The time without progress after which an update has stalled: no node fits, or an image cannot be pulled. */
  readonly stallMs: number;
};

/** The next action of an update. */
export type ServiceStep =
  | { readonly kind: 'update' }
  | { readonly kind: 'wait'; readonly phase: 'starting' | 'rolling back'; readonly progress: TaskProgress }
  | ({ readonly kind: 'go back' } & Fault)
  | {
      readonly kind: 'end';
      readonly outcome: Extract<OutcomeKind, 'updated' | 'rolled_back' | 'failed' | 'deferred'>;
      /** A sentence without a final period; empty for `updated`. */
      readonly reason: string;
      /** Present if the version must not be tried again. */
      readonly fault?: Fault;
    };

/** Why a version is rolled back. */
export type Fault = {
  readonly reason: string;
  /** It failed by itself, not because of a registry, a node or a placement. */
  readonly isImagesOwn: boolean;
};

/** The update of one service, as data. */
export type PlannedService = {
  readonly id: string;
  readonly name: string;
  /** In short form. */
  readonly image: string;
  /** The present and the next image of the spec, verbatim. */
  readonly from: string;
  readonly to: string;
  /** Names of services that are updated before it. */
  readonly after: readonly string[];
  /** Present for the service that we run in, which is updated last. */
  readonly isOwn?: true;
};
