import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createSlots, inSlices, mapConcurrently } from './concurrency.ts';

describe('mapConcurrently()', () => {
  test('answers in the order of the items, and never runs more than the limit at once', async () => {
    const clock = createFakeClock({ auto: true });
    let running = 0;
    let most = 0;
    const results = await mapConcurrently([30, 10, 20, 5, 1], 2, async (ms) => {
      most = Math.max(most, (running += 1));
      await clock.sleep(ms);
      running -= 1;
      return ms * 2;
    });
    expect(results).toEqual([60, 20, 40, 10, 2]);
    expect(most).toBe(2);
  });

  test('throws the first failure when what is under way has ended, and begins nothing after it', async () => {
    const clock = createFakeClock({ auto: true });
    const ended: number[] = [];
    const work = mapConcurrently([1, 20, 3, 4], 2, async (ms) => {
      await clock.sleep(ms);
      if (ms === 1) throw new Error('one');
      ended.push(ms);
    });
    await expect(work).rejects.toThrow('one');
    expect(ended).toEqual([20]);
  });

  test('nothing to do is done at once, and a limit below 1 is 1', async () => {
    expect(await mapConcurrently([], 4, () => Promise.reject(new Error('never')))).toEqual([]);
    expect(await mapConcurrently(['a'], 0, (item) => Promise.resolve(item))).toEqual(['a']);
  });
});

describe('createSlots()', () => {
  test('lets in so many at once, first come first served, also after a failure', async () => {
    const clock = createFakeClock({ auto: true });
    const slots = createSlots(2);
    const log: string[] = [];
    const job = (name: string, ms: number) => () => {
      log.push(`${name} begins`);
      return clock.sleep(ms).then(() => {
        log.push(`${name} ends`);
        if (name === 'a') throw new Error('a');
      });
    };
    const all = await Promise.allSettled([
      slots.run(job('a', 10)),
      slots.run(job('b', 30)),
      slots.run(job('c', 5)),
      slots.run(job('d', 5)),
    ]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(log).toEqual(['a begins', 'b begins', 'a ends', 'c begins', 'c ends', 'd begins', 'd ends', 'b ends']);
  });

  test('a paused one lets others begin, so many at most, and its return waits for nobody', async () => {
    const clock = createFakeClock({ auto: true });
    const slots = createSlots(1, 1);
    const log: string[] = [];
    const job = (name: string, waitMs: number) =>
      slots.run(async ({ pause }) => {
        log.push(`${name} begins`);
        await pause(() => clock.sleep(waitMs));
        log.push(`${name} goes on`);
        await clock.sleep(100);
        log.push(`${name} ends`);
      });
    await Promise.all([job('a', 10), job('b', 200), job('c', 1)]);
    // One is paused at a time: `b` keeps its slot until `a` goes on, and `c` begins when `a` has ended.
    expect(log).toEqual([
      ...['a begins', 'b begins', 'a goes on', 'a ends'],
      ...['c begins', 'c goes on', 'b goes on', 'c ends', 'b ends'],
    ]);
  });

  test('many that wait equally long lend their slots one after the other, not all again after the longest wait', async () => {
    const clock = createFakeClock({ auto: true });
    const slots = createSlots(2, 3);
    const begunAt: number[] = [];
    const job = (name: number) =>
      slots.run(async ({ pause }) => {
        begunAt[name] = clock.nowMs();
        await clock.sleep(10);
        await pause(() => clock.sleep(1000));
        await clock.sleep(1);
      });
    const startMs = clock.nowMs();
    await Promise.all(Array.from({ length: 7 }, (_, name) => job(name)));
    expect(begunAt.map((ms) => ms - startMs)).toEqual([0, 0, 10, 10, 20, 1011, 1011]);
  });

  test('after any lending and failing, all have run, and no more began at once than there were slots', async () => {
    const jobs = fc.array(fc.record({ workMs: fc.nat(20), waitMs: fc.nat(50), fails: fc.boolean() }), {
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(jobs, fc.integer({ min: 1, max: 4 }), fc.nat(4), async (given, limit, pauseLimit) => {
        const clock = createFakeClock({ auto: true });
        const slots = createSlots(limit, pauseLimit);
        let [beginning, under] = [0, 0];
        const ends = await Promise.allSettled(
          given.map(({ workMs, waitMs, fails }) =>
            slots.run(async ({ pause }) => {
              expect((beginning += 1)).toBeLessThanOrEqual(limit);
              expect((under += 1)).toBeLessThanOrEqual(limit + pauseLimit);
              await clock.sleep(workMs);
              beginning -= 1;
              await pause(() => clock.sleep(waitMs)).finally(() => (under -= 1));
              if (fails) throw new Error('as told');
            }),
          ),
        );
        const failures = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
        expect(failures).toEqual(given.filter(({ fails }) => fails).map(() => 'Error: as told'));
      }),
    );
  });
});

describe('inSlices()', () => {
  function* counting(steps: number): Generator<undefined, number, undefined> {
    for (let step = 0; step < steps; step += 1) yield;
    return steps;
  }
  /** Each reading is 4 ms later. */
  const slowClock = () => {
    let nowMs = 0;
    const sleep = () =>
      new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    return { monotonicMs: () => (nowMs += 4), sleep };
  };

  test('returns the result, with a turn of the event loop between two slices', async () => {
    let turns = 0;
    let watching = setImmediate(countTurn);
    function countTurn(): void {
      turns += 1;
      watching = setImmediate(countTurn);
    }
    expect(await inSlices(counting(30), { clock: slowClock() })).toBe(30);
    clearImmediate(watching);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  test('counts the time of its own work only for the limit', async () => {
    const limit = { maxMs: 500, tooLong: () => new Error('too long') };
    const both = ['one', 'other'].map(() => inSlices(counting(100), { clock: slowClock(), limit }));
    expect(await Promise.all(both)).toEqual([100, 100]);
    await expect(inSlices(counting(200), { clock: slowClock(), limit })).rejects.toThrow('too long');
  });

  test('a failure, or a signal, ends it and lets others go on', async () => {
    function* failing(): Generator<undefined, number, undefined> {
      yield;
      throw new Error('broken');
    }
    const stopped = AbortSignal.abort(new Error('stopped'));
    const ended = await Promise.allSettled([
      inSlices(failing(), { clock: slowClock() }),
      inSlices(counting(3), { clock: slowClock(), signal: stopped }),
      inSlices(counting(3), { clock: slowClock() }),
    ]);
    expect(ended).toMatchObject([{ reason: { message: 'broken' } }, { reason: { message: 'stopped' } }, { value: 3 }]);
  });
});
