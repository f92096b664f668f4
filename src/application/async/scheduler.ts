import type { UpdateSchedule, Schedule, ServiceStatus } from '../../domain/run/event.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { LogFields, Outside, Clock } from '../../domain/outside/outside.ts';
import type { UpdateRequest, Trigger } from '../../domain/run/session.ts';

export type Scheduler = {
  readonly keepUpdating: (order: UpdateSchedule, signal: AbortSignal) => Promise<void>;
  /** By the wall clock; undefined when nothing is scheduled. */
  readonly nextRunAtMs: () => number | undefined;
  /** The schedule in words; empty before the service has begun. */
  readonly schedule: () => Pick<ServiceStatus, 'schedule' | 'scheduleOff'>;
};

type SchedulerParts = Pick<Outside, 'clock' | 'log'> & {
  /** Throws `busy` for a full update when another run is under way; this run is then skipped. */
  readonly update: (request: UpdateRequest, signal: AbortSignal) => Promise<unknown>;
  /** The first window after `ms` (wall clock) that containers wait for, with their names. */
  readonly opensAfter?: (ms: number) => { readonly atMs: number; readonly names: readonly string[] } | undefined;
  /** Finds out at the start which containers wait. Absent: the first run does. */
  readonly lookAtStart?: (signal: AbortSignal) => Promise<unknown>;
};

/**
 * Begins an update at every time of the schedule, even if the last one has not ended: the update lock decides which are
 * skipped. When a window opens, the containers that wait for it are updated once.
 */
export function createScheduler({
  clock,
  log,
  update,
  opensAfter = () => undefined,
  lookAtStart = () => Promise.resolve(),
}: SchedulerParts): Scheduler {
  let nextRun: NextRun | undefined;
  let words: Pick<ServiceStatus, 'schedule' | 'scheduleOff'> = {};

  function logNext(signal: AbortSignal): void {
    const atMs = nextRun?.nextAtMs();
    if (atMs === undefined || signal.aborted) return;
    const inMs = Math.round((atMs - clock.nowMs()) / 1000) * 1000;
    log.info(`Next update in ${formatDuration(inMs)}`, { atMs });
  }

  /**
   * An event reports a run that fails as a whole, for example because the engine is unreachable. The next run begins as
   * usual.
   */
  async function attempt(what: string, work: () => Promise<unknown>, fields: LogFields = {}): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof ServiceError) log.debug(`${what} ended early`, { ...fields, error: error.message });
      else log.error(`${what} failed because of an internal error`, { ...fields, error });
    }
  }

  async function run(trigger: Trigger, names: readonly string[], signal: AbortSignal): Promise<void> {
    const containers = names.map((name) => name.replaceAll('.', String.raw`\.`));
    await attempt('The update', () => update({ images: [], containers, trigger }, signal), { trigger });
    logNext(signal);
  }

  return {
    async keepUpdating({ schedule, updateOnStart, whyNone }, signal) {
      const running = new Set<Promise<void>>();
      let ended = new AbortController();
      const track = (work: Promise<unknown>) => {
        const tracked = work.then(() => {
          running.delete(tracked);
          // It may have found containers whose window opens soon.
          ended.abort();
        });
        running.add(tracked);
      };
      const begin = (trigger: Trigger, names: readonly string[] = []) => track(run(trigger, names, signal));
      nextRun = schedule && createNextRun(schedule, clock);
      words = schedule ? { schedule: schedule.words } : { scheduleOff: whyNone ?? 'No schedule is given' };
      if (!updateOnStart) logNext(signal);
      if (updateOnStart && !signal.aborted) begin('start');
      else if (nextRun !== undefined && !signal.aborted)
        track(attempt('The check at the start', () => lookAtStart(signal)));
      let openedMs = -Infinity;
      while (!signal.aborted) {
        const dueInMs = nextRun?.dueInMs() ?? recheckMs;
        // The wall clock may have been set back since the last opening.
        openedMs = Math.min(openedMs, clock.nowMs());
        const opening = nextRun && opensAfter(openedMs);
        const opensInMs = opening === undefined ? recheckMs : opening.atMs - clock.nowMs();
        if (dueInMs > 0 && opening !== undefined && opensInMs <= 0) {
          openedMs = opening.atMs;
          begin('schedule', opening.names);
        } else if (dueInMs > 0) {
          const either = AbortSignal.any([signal, ended.signal]);
          await clock.sleep(Math.min(dueInMs, opensInMs, recheckMs), either).catch(() => undefined);
          if (ended.signal.aborted) ended = new AbortController();
        } else {
          nextRun?.keep();
          begin('schedule');
        }
      }
      nextRun = undefined;
      words = {};
      await Promise.all(running);
    },
    nextRunAtMs: () => nextRun?.nextAtMs(),
    schedule: () => words,
  };
}

/** A change of the system clock is noticed after this time at the latest. */
const recheckMs = 60_000;

/** The next run of a schedule, by the present clocks. */
type NextRun = {
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
      if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
      slot = nextSlot();
    },
  };
}

/** Weeks of a schedule with a run every ten minutes. */
const maxKept = 5000;
