import { afterEach, describe, expect, test, vi } from 'vitest';
import { createSystemClock } from './clock.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('createSystemClock()', () => {
  test('sleep() resolves no earlier than it says', async () => {
    const clock = createSystemClock();
    const beganMs = clock.monotonicMs();
    await clock.sleep(20);
    expect(clock.monotonicMs() - beganMs).toBeGreaterThanOrEqual(20);
  });

  test('sleep() rejects with the reason of the signal, and leaves no timer behind', async () => {
    vi.useFakeTimers();
    const abort = new AbortController();
    const slept = createSystemClock().sleep(1_000, abort.signal);
    const reason = new Error('enough');
    expect(vi.getTimerCount()).toBe(1);
    abort.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('sleep() does not begin when the signal has aborted', async () => {
    const clock = createSystemClock();
    await expect(clock.sleep(60_000, AbortSignal.abort('no'))).rejects.toBe('no');
    await expect(clock.sleep(0, AbortSignal.abort('no'))).rejects.toBe('no');
  });

  test('sleep() leaves no listener on a signal that outlives it', async () => {
    const { signal } = new AbortController();
    const remove = vi.spyOn(signal, 'removeEventListener');
    const add = vi.spyOn(signal, 'addEventListener');
    await createSystemClock().sleep(1, signal);
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
  });

  test('sleep() lasts as long as it says when that is more than a timer of Node can', async () => {
    const days = 24 * 3_600_000;
    let nowMs = 0;
    let timer = { ms: 0, fire: (): void => undefined };
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((fire: () => void, ms = 0) => {
      timer = { ms, fire };
      return undefined as unknown as NodeJS.Timeout;
    });
    let awake = false;
    const slept = createSystemClock()
      .sleep(60 * days)
      .then(() => (awake = true));
    while (nowMs < 60 * days) {
      await Promise.resolve();
      expect(awake).toBe(false);
      expect(timer.ms).toBeGreaterThan(0);
      expect(timer.ms).toBeLessThan(2 ** 31);
      nowMs += timer.ms;
      timer.fire();
      timer = { ms: 0, fire: () => undefined };
      await Promise.resolve();
    }
    await slept;
    expect(nowMs).toBe(60 * days);
  });
});
