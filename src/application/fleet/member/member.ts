import type { EngineReader } from '../../../domain/outside/engine-reader.ts';
import type { EngineApplication } from '../../application.ts';

/** One engine of a fleet, with the application that works on it alone. */
export type Member = {
  readonly name: string;
  /** Without a user, a password and a query. */
  readonly address: string;
  readonly application: EngineApplication;
  readonly info: EngineReader['info'];
};

/** A member with what is known about its connection. */
export type ReachedMember = Member & { readonly reach: Reach };

export type Reach = {
  /** Undefined before the first attempt has ended. */
  readonly isReachable: () => boolean | undefined;
  readonly sinceMs: () => number | undefined;
  /** Why it is away; undefined while it is not. */
  readonly failure: () => unknown;
  readonly about: () => { readonly kind: string; readonly version: string } | undefined;
  /** Notes the result of an attempt: undefined for an answer. */
  readonly note: (failure: unknown) => void;
};
