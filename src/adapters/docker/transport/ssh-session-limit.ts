import type { Clock } from '../../../domain/outside/outside.ts';
import { startDeadline } from './deadline.ts';
import { EngineFailure, type Explained } from './failure.ts';

/**
 * Bounds how many calls use a session with one engine at once, because each session is a process. Resolves to the end
 * of the turn, which must be called. Throws an `EngineFailure` when there is no turn within `ms`, or the signal's
 * reason.
 */
export type SessionLimit = (order: SessionRequest) => Promise<() => void>;

export type SessionRequest = {
  /** As for a connection. */
  readonly socket: SessionKind | 'events';
  readonly ms: number;
  readonly signal: AbortSignal | undefined;
};

/** Sessions for requests, as long as no two calls that may last are under way. */
export const usualSessions = 2;

/** Pulls, stops and other calls that may last; an update of many containers has at most 8 under way. */
const maxLongCalls = 32;

/** An inventory has at most 16 reads under way; others come from requests, which are bounded too. */
const mostWaiting = 1_000;

/**
 * A call that may last (`own`) does not wait, because a container could be down meanwhile. Reads (`shared`) get what
 * is left of the usual sessions, and at least one, so that no call that lasts keeps them from an answer. Events have a
 * session of their own, beside all turns.
 */
export function createSessionLimit({ clock, host }: { readonly clock: Clock; readonly host: string }): SessionLimit {
  const underWay = { own: 0, shared: 0 };
  const waiting = new Set<Waiter>();

  function isFree(kind: SessionKind): boolean {
    if (kind === 'own') return underWay.own < maxLongCalls;
    return underWay.shared < Math.max(1, usualSessions - underWay.own);
  }

  function begin(kind: SessionKind): () => void {
    underWay[kind] += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      underWay[kind] -= 1;
      for (const { kind: next, admit } of [...waiting]) if (isFree(next)) admit();
    };
  }

  function wait(kind: SessionKind, { ms, signal }: SessionRequest): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        kind,
        admit() {
          leave();
          resolve(begin(kind));
        },
      };
      const deadline = startDeadline(clock, ms, () =>
        giveUp(new EngineFailure(sessionsBusy(ms), { host, sent: false })),
      );
      const onAbort = () => giveUp(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(waiter);

      function leave(): void {
        waiting.delete(waiter);
        deadline.end();
        signal?.removeEventListener('abort', onAbort);
      }

      function giveUp(reason: unknown): void {
        leave();
        reject(reason);
      }
    });
  }

  return async function take(order) {
    order.signal?.throwIfAborted();
    if (order.socket === 'events') return () => undefined;
    if (isFree(order.socket)) return begin(order.socket);
    if (waiting.size >= mostWaiting) throw new EngineFailure(queueFull, { host, sent: false });
    return await wait(order.socket, order);
  };
}

type SessionKind = 'own' | 'shared';

type Waiter = { readonly kind: SessionKind; readonly admit: () => void };

const remedy = 'Look at the load and the log of the engine';

const sessionsBusy = (ms: number): Explained => ({
  code: 'timeout',
  why: `its sessions have been taken by other calls for ${ms / 1000} s`,
  remedy,
});

const queueFull: Explained = { code: 'timeout', why: `${mostWaiting} calls wait for it already`, remedy };
