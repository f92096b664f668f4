import type { Clock } from '../../domain/outside/outside.ts';
import type { Schedule } from '../../domain/schedule/schedule.ts';

/** The next run of a schedule, by the present clocks. */
export type NextRun = {
  /** 0: now. Undefined: never. Ask again after every wait, and at least once a minute. */
  readonly dueInMs: () => number | undefined;
  /** By the wall clock. */
  readonly nextAtMs: () => number | undefined;
  /** Called when the run that is due has begun. */
  readonly keep: () => void;
};

export function createNextRun(schedule: Schedule, clock: Pick<Clock, 'nowMs' | 'monotonicMs'>): NextRun {
  return schedule.kind === 'interval'
    ? createIntervals(schedule.everyMs, clock)
    : createCalendar(schedule.nextRunAfter, clock);
}

/** Runs every `everyMs`, counted from the start by the monotonic clock. Several missed runs become one. */
function createIntervals(everyMs: number, clock: Pick<Clock, 'nowMs' | 'monotonicMs'>): NextRun {
  let nextMs = clock.monotonicMs() + everyMs;
  const dueInMs = () => Math.max(0, nextMs - clock.monotonicMs());
  return {
    dueInMs,
    nextAtMs: () => clock.nowMs() + dueInMs(),
    keep() {
      const missed = Math.max(0, Math.floor((clock.monotonicMs() - nextMs) / everyMs));
      nextMs += (missed + 1) * everyMs;
    },
  };
}

/**
 * Runs at times of the wall clock. Times that a clock change skipped become one run together. A clock that was set back
 * repeats no run.
 */
function createCalendar(nextRunAfter: (ms: number) => number | undefined, { nowMs }: Pick<Clock, 'nowMs'>): NextRun {
  const kept = new Set<number>();
  let slot = nextRunAfter(nowMs());

  function nextSlot(): number | undefined {
    let next = nextRunAfter(nowMs());
    while (next !== undefined && kept.has(next)) next = nextRunAfter(next);
    return next;
  }

  function look(): number | undefined {
    if (slot === undefined || slot > nowMs()) slot = nextSlot();
    return slot;
  }

  return {
    dueInMs() {
      const next = look();
      return next === undefined ? undefined : Math.max(0, next - nowMs());
    },
    nextAtMs: look,
    keep() {
      if (slot === undefined) return;
      kept.add(slot);
      const [oldest] = kept;
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
      slot = nextSlot();
    },
  };
}

/** Weeks of a schedule with a run every ten minutes. */
const mostKept = 5000;
