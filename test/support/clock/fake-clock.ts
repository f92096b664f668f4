import type { Clock } from '../../../src/domain/outside/outside.ts';

/** A clock that stands still until it is moved, so that a test always takes the same steps. */
export type FakeClock = Clock & {
  /** Lets `ms` pass: wakes the sleepers one after another, and after each runs the code until all sleep again. */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Advances time from sleeper to sleeper until the work is done. Time stands still while code runs. Real I/O does not
   * count as running code, so the work must not use files or sockets.
   */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  /** Changes only the wall clock, like a person or NTP. Deadlines do not move. */
  readonly jumpWallClock: (ms: number) => void;
  /** The number of sleepers. */
  readonly sleepers: () => number;
};

export type FakeClockOptions = {
  /** The wall clock at the start; the default is the first second of 2026. */
  readonly startMs?: number;
  /** Advances automatically while all sleep. */
  readonly auto?: boolean;
};

export function createFakeClock({ startMs = Date.UTC(2026, 0, 1), auto = false }: FakeClockOptions = {}): FakeClock {
  const asleep: Sleeper[] = [];
  let elapsedMs = 0;
  let wallOffsetMs = startMs;
  let pumping = false;

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const wake = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper: Sleeper = { wakeAtMs: elapsedMs + Math.max(0, ms), wake };
      const onAbort = () => {
        asleep.splice(asleep.indexOf(sleeper), 1);
        reject(signal?.reason as Error);
      };
      insert(asleep, sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (auto) void pump();
    });
  }

  function wakeNext(): void {
    const next = asleep.shift();
    if (next === undefined) return;
    elapsedMs = Math.max(elapsedMs, next.wakeAtMs);
    next.wake();
  }

  async function advance(ms: number): Promise<void> {
    const targetMs = elapsedMs + ms;
    await everyoneIsIdle();
    while (asleep[0] !== undefined && asleep[0].wakeAtMs <= targetMs) {
      wakeNext();
      await everyoneIsIdle();
    }
    elapsedMs = targetMs;
  }

  async function run<T>(work: () => Promise<T>): Promise<T> {
    let settled = false;
    const result = work().finally(() => (settled = true));
    result.catch(() => undefined);
    for (;;) {
      await everyoneIsIdle();
      if (settled) return result;
      wakeNext();
    }
  }

  async function pump(): Promise<void> {
    if (pumping) return;
    pumping = true;
    await everyoneIsIdle();
    while (asleep.length > 0) {
      wakeNext();
      await everyoneIsIdle();
    }
    pumping = false;
  }

  return {
    nowMs: () => wallOffsetMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep,
    advance,
    run,
    jumpWallClock: (ms) => (wallOffsetMs += ms),
    sleepers: () => asleep.length,
  };
}

type Sleeper = { readonly wakeAtMs: number; readonly wake: () => void };

/** Keeps the list in the order of waking; of equal times, the earlier sleeper wakes first. */
function insert(asleep: Sleeper[], sleeper: Sleeper): void {
  let at = asleep.length;
  while (at > 0 && (asleep[at - 1]?.wakeAtMs ?? 0) > sleeper.wakeAtMs) at--;
  asleep.splice(at, 0, sleeper);
}

/** All promise reactions have run when Node comes to its check phase: https://nodejs.org/en/learn/asynchronous-work/understanding-setimmediate */
function everyoneIsIdle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
