import { describeError, type ErrorCode, ServiceError } from '../../../domain/text/errors.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Member, Reachability } from './member.ts';

export type ReachParts = {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly publish: (event: ServiceEvent) => void;
  /** Called when an engine answers again. */
  readonly onReturn: () => void;
  /** Called with the id that the engine reports. */
  readonly onId: (id: string) => void;
};

/** Tracks whether an engine answers, from the results of its readings and runs. Publishes every change. */
export function createReachability({ name, info }: Pick<Member, 'name' | 'info'>, parts: ReachParts): Reachability {
  const { clock, publish, onReturn, onId } = parts;
  let state: { readonly failure: unknown; readonly sinceMs: number } | undefined;
  let about: ReturnType<Reachability['about']>;

  function learn(): void {
    info().then(
      ({ id, kind, version }) => {
        about = { kind, version };
        onId(id);
      },
      () => undefined,
    );
  }

  return {
    isReachable: () => state && state.failure === undefined,
    sinceMs: () => state?.sinceMs,
    failure: () => state?.failure,
    about: () => about,
    note(failure) {
      if (failure !== undefined && !isUnreachable(failure)) return;
      const was = state;
      if (was !== undefined && (was.failure === undefined) === (failure === undefined)) {
        state = { ...was, failure };
        return;
      }
      const atMs = clock.nowMs();
      state = { failure, sinceMs: atMs };
      if (failure !== undefined)
        return publish({ kind: 'engine_unreachable', engine: name, error: describeUnreachable(failure), atMs });
      learn();
      if (was === undefined) return;
      publish({ kind: 'engine_reachable', engine: name, atMs });
      onReturn();
    },
  };
}

/** An engine that cannot list its containers counts as unreachable, because the cause is on its side. */
const away: ReadonlySet<ErrorCode> = new Set(['engine-unreachable', 'engine-denied', 'engine-refused', 'timeout']);

/** Whether the error means that the engine cannot be used at all. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ServiceError && away.has(error.code);
}

/** The reason for display, without the user in an address. */
export function describeUnreachable(failure: unknown): string {
  return describeError(failure).replaceAll(/(\w:\/\/)[^\s/@"]*@/g, '$1');
}
