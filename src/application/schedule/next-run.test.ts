import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { delayed, type Schedule } from '../../domain/run/event.ts';
import { createNextRun } from '../async/scheduler.ts';

type NextRun = ReturnType<typeof createNextRun>;

const minuteMs = 60_000;

/** A wall clock and a monotonic clock, both set by hand; in minutes. */
function createClocks() {
  let [wall, running] = [1000, 0];
  return {
    nowMs: () => wall * minuteMs,
    monotonicMs: () => running * minuteMs,
    wall: () => wall,
    pass: (minutes: number) => {
      wall += minutes;
      running += minutes;
    },
    set: (minutes: number) => void (wall += minutes),
  };
}

type Clocks = ReturnType<typeof createClocks>;

/** Slots at every multiple of `every` minutes, until `last`. */
function slots(every: number, last = Infinity): Extract<Schedule, { kind: 'calendar' }> {
  return {
    kind: 'calendar',
    words: '',
    nextRunAfter: (ms) => {
      const next = (Math.floor(ms / minuteMs / every) + 1) * every;
      return next <= last ? next * minuteMs : undefined;
    },
  };
}

/** Stores the slots that are due now; returns their minutes. */
function keepDue(agenda: NextRun): number[] {
  const kept: number[] = [];
  while (agenda.dueInMs() === 0) {
    kept.push((agenda.nextAtMs() ?? 0) / minuteMs);
    agenda.keep();
  }
  return kept;
}

/** Like the scheduler: waits until a slot is due, but at most a minute at a time. */
function live(agenda: NextRun, clocks: Clocks, minutes: number): number[] {
  const kept: number[] = [];
  for (let passed = 0; passed < minutes;) {
    const waits = Math.min((agenda.dueInMs() ?? minuteMs) / minuteMs, 1, minutes - passed);
    clocks.pass(waits);
    passed += waits;
    kept.push(...keepDue(agenda));
  }
  return kept;
}

describe('the agenda of a calendar', () => {
  test('keeps every slot at its time', () => {
    const clocks = createClocks();
    const agenda = createNextRun(slots(15), clocks);
    expect(agenda.nextAtMs()).toBe(1005 * minuteMs);
    expect(live(agenda, clocks, 40)).toEqual([1005, 1020, 1035]);
  });

  test('makes up once for what the clock was set past', () => {
    const clocks = createClocks();
    const agenda = createNextRun(slots(15), clocks);
    clocks.set(200);
    expect(keepDue(agenda)).toHaveLength(1);
    expect(live(agenda, clocks, 16)).toEqual([1215]);
  });

  test('does not keep a slot twice when the clock is set back, nor wait for a year when it had been wrong', () => {
    const clocks = createClocks();
    const agenda = createNextRun(slots(15), clocks);
    expect(live(agenda, clocks, 30)).toEqual([1005, 1020]);
    clocks.set(-20);
    expect(live(agenda, clocks, 30)).toEqual([1035]);
    clocks.set(-500);
    expect(live(agenda, clocks, 30)).toEqual([555, 570]);
  });

  test('comes to an end where the schedule does', () => {
    const clocks = createClocks();
    const agenda = createNextRun(slots(15, 1020), clocks);
    expect(live(agenda, clocks, 100)).toEqual([1005, 1020]);
    expect([agenda.dueInMs(), agenda.nextAtMs()]).toEqual([undefined, undefined]);
  });

  test('does as a plain model does, whatever is done to the clock', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.option(fc.integer({ min: 1000, max: 1300 })),
        moves,
        (every, last, made) => {
          const schedule = slots(every, last ?? Infinity);
          const clocks = createClocks();
          const agenda = createNextRun(schedule, clocks);
          const model = createModel(schedule);
          for (const { kind, minutes } of made) {
            if (kind === 'pass') {
              expect(live(agenda, clocks, minutes)).toEqual(model.pass(minutes));
            } else {
              clocks.set(minutes);
              expect(keepDue(agenda)).toEqual(model.set(minutes));
            }
            expect(agenda.nextAtMs()).toBe(model.next());
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('the agenda of an interval', () => {
  test('counts time that passes, whatever is done to the clock', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), moves, (everyMinutes, made) => {
        const clocks = createClocks();
        const agenda = createNextRun({ kind: 'interval', words: '', everyMs: everyMinutes * minuteMs }, clocks);
        let [runs, passed] = [0, 0];
        for (const { kind, minutes } of made) {
          if (kind === 'set') clocks.set(minutes);
          else {
            runs += live(agenda, clocks, minutes).length;
            passed += minutes;
          }
          expect(runs).toBe(Math.floor(passed / everyMinutes));
          expect(agenda.nextAtMs()).toBe(clocks.nowMs() + (everyMinutes - (passed % everyMinutes)) * minuteMs);
        }
      }),
    );
  });

  test('makes up once for what was slept through, and keeps its beat', () => {
    const clocks = createClocks();
    const agenda = createNextRun({ kind: 'interval', words: '', everyMs: 10 * minuteMs }, clocks);
    clocks.pass(35);
    expect(keepDue(agenda)).toHaveLength(1);
    expect(agenda.dueInMs()).toBe(5 * minuteMs);
  });
});

const moves = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('pass' as const), minutes: fc.integer({ min: 1, max: 120 }) }),
    fc.record({ kind: fc.constant('set' as const), minutes: fc.integer({ min: -150, max: 150 }) }),
  ),
  { maxLength: 12 },
);

/**
 * Walks minute by minute. A slot that was not stored before is stored; of the slots that a clock change skips, the
 * first one is.
 */
function createModel({ nextRunAfter }: Extract<Schedule, { kind: 'calendar' }>) {
  const kept = new Set<number>();
  let now = 1000;
  const isSlot = (minute: number) => nextRunAfter(minute * minuteMs - 1) === minute * minuteMs;
  const between = (from: number, to: number): number[] => {
    const found: number[] = [];
    for (let minute = from + 1; minute <= to; minute += 1) if (isSlot(minute) && !kept.has(minute)) found.push(minute);
    return found;
  };
  const keep = (minutes: readonly number[]) => {
    for (const minute of minutes) kept.add(minute);
    return minutes;
  };
  return {
    pass(minutes: number) {
      const found = between(now, now + minutes);
      now += minutes;
      return keep(found);
    },
    set(minutes: number) {
      const found = between(now, now + minutes);
      now += minutes;
      return keep(found.slice(0, 1));
    },
    next: () => {
      const [next] = between(now, now + 2000);
      return next === undefined ? undefined : next * minuteMs;
    },
  };
}

test('a delayed calendar keeps each of its runs, by the same time later', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 59 }), (every, delay) => {
      const clocks = createClocks();
      const agenda = createNextRun(delayed(slots(every), delay * minuteMs), clocks);
      const kept = live(agenda, clocks, 120);
      expect(kept.every((minute) => (minute - delay) % every === 0)).toBe(true);
      expect(kept).toHaveLength(Math.floor((1120 - delay) / every) - Math.floor((1000 - delay) / every));
    }),
  );
});
