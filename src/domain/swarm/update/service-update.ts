import type { OutcomeKind } from '../../run/session.ts';
import type { SwarmNode, SwarmService, SwarmTask, TaskProgress } from '../swarm-service.ts';

/** One update of a service: the swarm itself keeps it, as labels of the spec that the update made. */
export type ServiceUpdate = {
  readonly id: string;
  readonly serviceId: string;
  /** Verbatim, as the spec had it. */
  readonly from: string;
  readonly to: string;
};

/** One look at the swarm. */
export type ServiceFacts = {
  readonly update: ServiceUpdate;
  /** Undefined: it is gone. */
  readonly service: SwarmService | undefined;
  /** Of the service alone. */
  readonly tasks: readonly SwarmTask[];
  readonly nodes: readonly SwarmNode[];
  /** Monotonic milliseconds. */
  readonly nowMs: number;
};

/** What is to be done next about an update. */
export type ServiceStep =
  | { readonly kind: 'update' }
  | { readonly kind: 'wait'; readonly phase: 'starting' | 'rolling back'; readonly progress: TaskProgress }
  | ({ readonly kind: 'go back' } & Fault)
  | {
      readonly kind: 'end';
      readonly outcome: Extract<OutcomeKind, 'updated' | 'rolled_back' | 'failed' | 'deferred'>;
      /** A sentence without a final period; empty for `updated`. */
      readonly reason: string;
      /** Present where the version is not to be tried again. */
      readonly fault?: Fault;
    };

/** Why a version is taken back. */
export type Fault = {
  readonly reason: string;
  /** It failed by itself: not for a registry, a node or a placement. */
  readonly isImagesOwn: boolean;
};
