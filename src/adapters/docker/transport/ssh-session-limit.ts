import type { Clock } from '../../../domain/outside/outside.ts';
import { startDeadline } from './deadline.ts';
import { EngineFailure, type Explained } from './failure.ts';

/**
 * Limits the concurrent sessions with one engine, because each session is a process. Resolves to a function that must
 * be called to end the turn. Throws an `EngineFailure` if no session is free within `ms`, or the signal's reason.
 */
export type SessionLimit = (order: SessionRequest) => Promise<() => void>;

export type SessionRequest = {
  /** The kind of socket, as in `ConnectionRequest`. */
  readonly socket: SessionKind | 'events';
  readonly ms: number;
  readonly signal: AbortSignal | undefined;
};

/** Sessions for requests, while at most one long call is under way. */
export const usualSessions = 2;

/** Pulls, stops and other long calls. An update of many containers has at most 8 under way. */
const maxLongCalls = 32;

/** An inventory has at most 16 reads under way. API requests add more, and are also limited. */
const mostWaiting = 1_000;

/**
 * A long call (`own`) does not wait for reads, because a container could be down meanwhile. Reads (`shared`) get the
 * remaining usual sessions, and at least one, so long calls never block them. Events have their own session, which does
 * not count.
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

  return async function take(request) {
    request.signal?.throwIfAborted();
    if (request.socket === 'events') return () => undefined;
    if (isFree(request.socket)) return begin(request.socket);
    if (waiting.size >= mostWaiting) throw new EngineFailure(queueFull, { host, sent: false });
    return await wait(request.socket, request);
  };
}

type SessionKind = 'own' | 'shared';

type Waiter = { readonly kind: SessionKind; readonly admit: () => void };

const remedy = 'Look at the load and the log of the engine';

const sessionsBusy = (ms: number): Explained => ({
  code: 'timeout',
  why: `other calls have used all its sessions for ${ms / 1000} s`,
  remedy,
});

const queueFull: Explained = { code: 'timeout', why: `${mostWaiting} calls are already waiting for it`, remedy };
