import { expect, test } from 'vitest';
import { createServiceClock } from './client.ts';

const now = Date.UTC(2026, 10, 20, 12);
const dateOf = (ms: number) => new Date(ms).toUTCString();

test.each([
  ['no difference', 0, 0],
  ['the way of a reply, and whole seconds', -3000, 0],
  ['a browser that is an hour behind', 3_600_000, 3_600_000],
  ['a browser that is two days ahead', -172_800_000, -172_800_000],
])('the time of the service is known with %s', (_, differenceMs, aheadMs) => {
  const clock = createServiceClock(() => now);
  clock.hear(dateOf(now + differenceMs));
  expect(clock.nowMs() - now).toBe(aheadMs);
});

test('it does not jump with each reply, follows a browser whose clock is set, and ignores a reply without a date', () => {
  let browserMs = now;
  const clock = createServiceClock(() => browserMs);
  for (const ms of [60_000, 61_000, 58_000]) clock.hear(dateOf(now + ms));
  expect(clock.nowMs()).toBe(now + 60_000);
  clock.hear(null);
  clock.hear('soon');
  expect(clock.nowMs()).toBe(now + 60_000);
  browserMs += 60_000;
  clock.hear(dateOf(now + 60_000));
  expect(clock.nowMs()).toBe(now + 60_000);
});
