import type { EngineInfo, EngineReader, Swarm } from '../../../domain/outside/engine.ts';
import type { Engine } from '../../../domain/outside/outside.ts';
import type { EngineApplication } from '../../application.ts';

/** One engine of a fleet, with the application for this engine alone. */
export type Member = {
  readonly name: string;
  /** The address without user, password and query. */
  readonly address: string;
  readonly application: EngineApplication;
  readonly info: EngineReader['info'];
  /** Absent if services are not watched. */
  readonly node?: EngineNode;
};

/** An engine with the swarm interface of its node. The node may be a manager. */
export type EngineNode = { readonly engine: Engine; readonly swarm: Swarm };

/** A member with the state of its connection. */
export type ReachedMember = Member & { readonly reach: Reachability };

export type Reachability = {
  /** Undefined before the first attempt has ended. */
  readonly isReachable: () => boolean | undefined;
  readonly sinceMs: () => number | undefined;
  /** Why it is unreachable; undefined while it answers. */
  readonly failure: () => unknown;
  readonly about: () => Pick<EngineInfo, 'kind' | 'version'> | undefined;
  /** Notes the result of an attempt; undefined means an answer. */
  readonly note: (failure: unknown) => void;
};
