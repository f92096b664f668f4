import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startConnection } from './connection.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  [0, 1000],
  [20_000, 20_000],
  [86_400_000, 300_000],
])('when Upkeep asks to wait for %d ms, the next try is in %d ms, and is announced so', async (askedMs, waitMs) => {
  const states: unknown[] = [];
  let readings = 0;
  const nothing = () => undefined;
  const connection = startConnection({
    follow: async () => 'ended',
    mayFollow: () => false,
    read: async () => {
      readings += 1;
      return 'unreachable';
    },
    retryAfterMs: () => askedMs,
    onState: (state, nextTryMs) => states.push([state, nextTryMs]),
    onEvent: nothing,
    onRefused: nothing,
  });
  await vi.advanceTimersByTimeAsync(waitMs - 1);
  expect([readings, states]).toEqual([1, [['offline', waitMs]]]);
  await vi.advanceTimersByTimeAsync(1);
  expect(readings).toBe(2);
  connection.stop();
});
