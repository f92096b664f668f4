import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/clock/fake-clock.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Log } from '../../domain/outside/outside.ts';
import type { Schedule } from '../../domain/run/event.ts';
import type { Trigger } from '../../domain/run/session.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

type SchedulerParts = Parameters<typeof createScheduler>[0];

const hourMs = 3_600_000;

const hourly: Schedule = {
  kind: 'calendar',
  words: '0 * * * *',
  nextRunAfter: (ms) => (Math.floor(ms / hourMs) + 1) * hourMs,
};

type Scene = {
  readonly clock: FakeClock;
  readonly scheduler: Scheduler;
  /** Runs that began, with the hours since the start by the monotonic clock. */
  readonly begun: readonly (readonly [Trigger, number])[];
  readonly complaints: readonly string[];
  /** Ends the loop and resolves when it has ended. */
  readonly stop: () => Promise<void>;
};

function start(
  order: { readonly schedule: Schedule | undefined; readonly updateOnStart?: boolean },
  work: (signal: AbortSignal, clock: FakeClock) => Promise<unknown> = () => Promise.resolve(),
  look: Pick<SchedulerParts, 'lookAtStart'> = {},
): Scene {
  const clock = createFakeClock();
  const begun: (readonly [Trigger, number])[] = [];
  const complaints: string[] = [];
  const complain = (message: string) => void complaints.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: complain, error: complain };
  const scheduler = createScheduler({
    clock,
    log,
    ...look,
    update: ({ trigger }, signal) => {
      begun.push([trigger, clock.monotonicMs() / hourMs]);
      return work(signal, clock);
    },
  });
  const asked = new AbortController();
  const ended = scheduler.keepUpdating({ updateOnStart: false, ...order }, asked.signal);
  const stop = () => {
    asked.abort();
    return ended;
  };
  onTestFinished(stop);
  return { clock, scheduler, begun, complaints, stop };
}

describe('keepUpdating()', () => {
  test('updates at every slot of a calendar, and knows the next one', async () => {
    const { clock, scheduler, begun } = start({ schedule: hourly });
    expect(scheduler.nextRunAtMs()).toBe(Date.UTC(2026, 0, 1, 1));
    await clock.advance(2.5 * hourMs);
    expect(begun).toEqual([
      ['schedule', 1],
      ['schedule', 2],
    ]);
    expect(scheduler.nextRunAtMs()).toBe(Date.UTC(2026, 0, 1, 3));
  });

  test.each<[string, NonNullable<SchedulerParts['lookAtStart']>]>([
    ['fails', () => Promise.reject(new ServiceError('registry-unreachable', 'no registry'))],
    ['lasts until the stop', (signal) => once(signal, 'abort')],
    ['has a bug', () => Promise.reject(new TypeError('a bug'))],
  ])('a look at the start that %s delays no update and no stop', async (how, lookAtStart) => {
    const { clock, begun, complaints, stop } = start({ schedule: hourly }, undefined, { lookAtStart });
    await clock.advance(1.5 * hourMs);
    await stop();
    expect(begun).toEqual([['schedule', 1]]);
    const bugs = how === 'has a bug' ? ['The check at the start failed because of an internal error'] : [];
    expect(complaints).toEqual(bugs);
  });

  test('updates after every interval, and at the start only when told to', async () => {
    const schedule: Schedule = { kind: 'interval', words: 'every 6h', everyMs: 6 * hourMs };
    const patient = start({ schedule });
    await patient.clock.advance(13 * hourMs);
    expect(patient.begun).toEqual([
      ['schedule', 6],
      ['schedule', 12],
    ]);
    const eager = start({ schedule, updateOnStart: true });
    await eager.clock.advance(7 * hourMs);
    expect(eager.begun).toEqual([
      ['start', 0],
      ['schedule', 6],
    ]);
  });

  test('without a schedule waits to be stopped', async () => {
    const { clock, scheduler, begun, stop } = start({ schedule: undefined, updateOnStart: true });
    await clock.advance(100 * hourMs);
    expect(begun).toEqual([['start', 0]]);
    expect(scheduler.nextRunAtMs()).toBeUndefined();
    await stop();
  });

  test('does not wait for an update that takes longer than until the next date: the lock says what is skipped', async () => {
    const { clock, begun } = start({ schedule: hourly }, (signal, { sleep }) => sleep(2.5 * hourMs, signal));
    await clock.advance(4 * hourMs);
    expect(begun.map(([, hour]) => hour)).toEqual([1, 2, 3, 4]);
  });

  test('goes on when an update fails; a failure of our own is an error in the log', async () => {
    const failures = [new ServiceError('busy', 'Cannot update: busy'), new TypeError('a bug')];
    const { clock, begun, complaints } = start({ schedule: hourly }, () => {
      throw failures.shift() ?? new TypeError('another bug');
    });
    await clock.advance(hourMs);
    expect(complaints).toEqual([]);
    await clock.advance(2 * hourMs);
    expect(begun).toHaveLength(3);
    expect(complaints).toEqual([
      'The update failed because of an internal error',
      'The update failed because of an internal error',
    ]);
  });

  test('ends when it is asked to, after the update that runs has come to its safe point', async () => {
    let isSafe = false;
    const { clock, scheduler, stop } = start({ schedule: hourly }, async (signal, { sleep }) => {
      await sleep(24 * hourMs, signal).catch(() => undefined);
      await sleep(1000);
      isSafe = true;
    });
    await clock.advance(hourMs);
    const ended = stop().then(() => isSafe);
    await clock.advance(1000);
    expect(await ended).toBe(true);
    expect(scheduler.nextRunAtMs()).toBeUndefined();
  });

  test('notices within a minute that the clock was set, forward and back', async () => {
    const { clock, scheduler, begun } = start({ schedule: hourly });
    clock.jumpWallClock(5.5 * hourMs);
    await clock.advance(60_000);
    expect(begun).toHaveLength(1);
    expect(scheduler.nextRunAtMs()).toBe(Date.UTC(2026, 0, 1, 6));
    await clock.advance(hourMs);
    expect(begun).toHaveLength(2);
    // Half past six becomes half past four: five and six o'clock come again, and six was kept.
    clock.jumpWallClock(-2 * hourMs);
    await clock.advance(60_000);
    expect(scheduler.nextRunAtMs()).toBe(Date.UTC(2026, 0, 1, 5));
    await clock.advance(2 * hourMs);
    expect(begun).toHaveLength(3);
    await clock.advance(hourMs);
    expect(begun).toHaveLength(4);
  });
});

test('after the clock was set back, a window that opens again begins an update', async () => {
  const clock = createFakeClock();
  const begun: number[] = [];
  const ignore = () => {};
  const scheduler = createScheduler({
    clock,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    update: () => Promise.resolve(void begun.push(clock.monotonicMs())),
    // A window opens at half past each hour.
    opensAfter: (ms) => {
      const fromMs = Math.max(ms, clock.nowMs() - hourMs);
      return { atMs: (Math.floor(fromMs / hourMs + 0.5) + 0.5) * hourMs, names: ['web'] };
    },
  });
  const asked = new AbortController();
  const never: Schedule = { kind: 'calendar', words: 'never', nextRunAfter: () => Infinity };
  const ended = scheduler.keepUpdating({ updateOnStart: false, schedule: never }, asked.signal);
  await clock.advance(0.6 * hourMs);
  const before = begun.length;
  clock.jumpWallClock(1000 * hourMs);
  await clock.advance(hourMs);
  clock.jumpWallClock(-1000 * hourMs);
  const far = begun.length;
  await clock.advance(3 * hourMs);
  asked.abort();
  await ended;
  expect(before).toBeGreaterThan(0);
  expect(begun.length).toBeGreaterThan(far);
});
