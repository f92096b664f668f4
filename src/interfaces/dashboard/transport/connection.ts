import type { Reader } from './reader.ts';
import type { StreamEnd, StreamListener } from './stream.ts';

/** The way in which the page gets changes. */
export type ConnectionState = 'connecting' | 'live' | 'polling' | 'reconnecting' | 'offline';

export type ConnectionParts = {
  readonly follow: (signal: AbortSignal, listener: StreamListener) => Promise<StreamEnd>;
  /** Whether the service allows this page to follow events. A refused request would leave an error in the console. */
  readonly mayFollow: () => boolean;
  /** Reads everything again. `refused`: the session is no longer signed in. */
  readonly read: Reader['read'];
  readonly retryAfterMs: Reader['retryAfterMs'];
  readonly onState: (state: ConnectionState, nextTryMs?: number) => void;
  readonly onEvent: (text: string) => void;
  readonly onRefused: () => void;
};

export type Connection = {
  /** Reads now instead of at the next interval. */
  readonly tryNow: () => void;
  /** Gives the stream up, because a reading beside it had no answer, and reads everything again. */
  readonly lost: () => void;
  readonly stop: () => void;
};

/**
 * Keeps the page up to date until it is stopped: reads everything, then follows the events, or polls every 10 s without
 * them. After failures it waits 1, 2, 5, 10, then 30 s, or as long as Upkeep asks for, up to 5 min.
 */
export function startConnection(parts: ConnectionParts): Connection {
  const stopped = new AbortController();
  const { signal } = stopped;
  let wake = (): void => undefined;
  let giveUp = (): void => undefined;
  let isHurried = false;
  let isRefused = false;
  let failures = 0;
  let maxAgeMs = 0;
  void run();
  return {
    tryNow,
    lost: () => giveUp(),
    stop: () => {
      stopped.abort();
      tryNow();
    },
  };

  function tryNow(): void {
    isHurried = true;
    wake();
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const answer = await parts.read({ signal, maxAgeMs });
      maxAgeMs = 0;
      if (signal.aborted) return;
      if (answer === 'refused') return parts.onRefused();
      if (answer === 'unreachable') {
        await fail('offline');
        continue;
      }
      if (isRefused || !parts.mayFollow()) {
        failures = 0;
        parts.onState('polling');
        if (await pause(pollMs)) maxAgeMs = pollMs * sharedPart;
        continue;
      }
      await follow();
    }
  }

  async function follow(): Promise<void> {
    const over = new AbortController();
    giveUp = () => over.abort();
    const openedAt = performance.now();
    const refresh = setInterval(() => void readWhileLive(over), refreshMs);
    const end = await parts.follow(AbortSignal.any([signal, over.signal]), {
      onOpen: () => parts.onState('live'),
      onEvent: parts.onEvent,
    });
    clearInterval(refresh);
    if (signal.aborted) return;
    if (end === 'refused') {
      isRefused = true;
      return parts.onState('polling');
    }
    if (performance.now() - openedAt > steadyMs) failures = 0;
    await fail('reconnecting');
  }

  /** A container may start or stop without an event. */
  async function readWhileLive(over: AbortController): Promise<void> {
    if (document.hidden) return;
    const answer = await parts.read({ signal: over.signal, maxAgeMs: refreshMs * sharedPart });
    if (answer !== 'ok') over.abort();
  }

  async function fail(state: 'offline' | 'reconnecting'): Promise<void> {
    const stepMs = waitsMs[Math.min(failures, waitsMs.length - 1)] ?? 30_000;
    const waitMs = Math.max(stepMs, Math.min(parts.retryAfterMs(), maxWaitMs));
    failures += 1;
    parts.onState(state, waitMs);
    await pause(waitMs);
  }

  /** `tryNow` ends it early. False then. */
  async function pause(ms: number): Promise<boolean> {
    if (!isHurried) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const isWhole = !isHurried;
    isHurried = false;
    return isWhole;
  }
}

const waitsMs = [1000, 2000, 5000, 10_000, 30_000];
const maxWaitMs = 300_000;
const pollMs = 10_000;
const refreshMs = 30_000;
/** Of an interval: so old may be what another tab has read, so that all tabs together read once in it. */
const sharedPart = 0.9;
/** A stream of this length counts as a success, so the waits begin at the first step again. */
const steadyMs = 20_000;
