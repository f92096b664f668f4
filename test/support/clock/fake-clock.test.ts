import { describe, expect, test } from 'vitest';
import { createFakeClock } from './fake-clock.ts';

describe('createFakeClock()', () => {
  test('stands still until it is advanced', async () => {
    const clock = createFakeClock({ startMs: 1000 });
    let woken = false;
    void clock.sleep(50).then(() => (woken = true));
    await clock.advance(49);
    expect([woken, clock.nowMs(), clock.monotonicMs()]).toEqual([false, 1049, 49]);
    await clock.advance(1);
    expect(woken).toBe(true);
  });

  test('wakes in the order of time, then of going to sleep, and lets each finish before the next', async () => {
    const clock = createFakeClock();
    const seen: string[] = [];
    const walk = async (name: string, ms: number) => {
      await clock.sleep(ms);
      seen.push(`${name}@${clock.monotonicMs()}`);
      await clock.sleep(10);
      seen.push(`${name}@${clock.monotonicMs()}`);
    };
    void walk('late', 20);
    void walk('first', 10);
    void walk('second', 10);
    await clock.advance(100);
    expect(seen).toEqual(['first@10', 'second@10', 'late@20', 'first@20', 'second@20', 'late@30']);
  });

  test('run() lets time pass until the work is done, and no further', async () => {
    const clock = createFakeClock();
    void clock.sleep(1_000_000);
    const result = await clock.run(async () => {
      await clock.sleep(3000);
      await clock.sleep(4000);
      return 'done';
    });
    expect([result, clock.monotonicMs(), clock.sleepers()]).toEqual(['done', 7000, 1]);
  });

  test('run() hands on the failure of the work', async () => {
    const clock = createFakeClock();
    const work = clock.run(async () => {
      await clock.sleep(5);
      throw new Error('broken');
    });
    await expect(work).rejects.toThrow('broken');
  });

  test('sleep() rejects with the reason of its signal and leaves no sleeper behind', async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const sleep = clock.sleep(10, abort.signal);
    abort.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
    await expect(clock.sleep(10, abort.signal)).rejects.toThrow('enough');
    expect(clock.sleepers()).toBe(0);
  });

  test('advances by itself when everyone is asleep, if asked to', async () => {
    const clock = createFakeClock({ auto: true });
    await Promise.all([clock.sleep(60_000), clock.sleep(30_000)]);
    expect(clock.monotonicMs()).toBe(60_000);
  });

  test('jumpWallClock() moves the wall clock and no deadline', async () => {
    const clock = createFakeClock({ startMs: 0 });
    clock.jumpWallClock(-5000);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([-5000, 0]);
    await clock.advance(10);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([-4990, 10]);
  });
});
