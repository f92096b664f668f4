import { describeError, type ErrorCode, ServiceError } from '../../../domain/errors.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Member, Reach } from './member.ts';

export type ReachParts = {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly publish: (event: ServiceEvent) => void;
  /** Hears that an engine answers again. */
  readonly onReturn: () => void;
};

/** Whether an engine answers, from what its readings and runs find out; it announces every change. */
export function createReach({ name, info }: Pick<Member, 'name' | 'info'>, parts: ReachParts): Reach {
  const { clock, publish, onReturn } = parts;
  let state: { readonly failure: unknown; readonly sinceMs: number } | undefined;
  let about: ReturnType<Reach['about']>;

  function learn(): void {
    info().then(
      ({ kind, version }) => (about = { kind, version }),
      () => undefined,
    );
  }

  return {
    isReachable: () => state && state.failure === undefined,
    sinceMs: () => state?.sinceMs,
    failure: () => state?.failure,
    about: () => about,
    note(failure) {
      if (failure !== undefined && !isAway(failure)) return;
      const was = state;
      if (was !== undefined && (was.failure === undefined) === (failure === undefined)) {
        state = { ...was, failure };
        return;
      }
      const atMs = clock.nowMs();
      state = { failure, sinceMs: atMs };
      if (failure !== undefined)
        return publish({ kind: 'engine_unreachable', engine: name, error: sayAway(failure), atMs });
      learn();
      if (was === undefined) return;
      publish({ kind: 'engine_reachable', engine: name, atMs });
      onReturn();
    },
  };
}

/** Also one that cannot list its containers: that is mended there. */
const away: ReadonlySet<ErrorCode> = new Set(['engine-unreachable', 'engine-denied', 'engine-refused', 'timeout']);

/** Whether the error is that of an engine which cannot be worked on. */
export function isAway(error: unknown): boolean {
  return error instanceof ServiceError && away.has(error.code);
}

/** The reason as it may be shown: the address in it without its user. */
export function sayAway(failure: unknown): string {
  return describeError(failure).replaceAll(/(\w:\/\/)[^\s/@"]*@/g, '$1');
}
