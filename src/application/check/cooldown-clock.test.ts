import { expect, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import type { ImageReference } from '../../domain/image/image-reference.ts';
import { createCooldownClock } from './registry-verdict.ts';

const reference: ImageReference = { registry: 'registry.test', repository: 'web', tag: '1', digest: undefined };
const dayMs = 86_400_000;
const trueMs = 20_000 * dayMs;

function clockThat(differsMs: number, told: number | undefined) {
  const log = createTestLog();
  const clock = { nowMs: () => trueMs + differsMs, monotonicMs: () => 7, sleep: () => Promise.resolve() };
  const read = createCooldownClock({ registry: { timeAt: () => told }, clock, log });
  return { read: (cooldownMs = dayMs) => read(reference, cooldownMs).nowMs, log };
}

test.each([-10 * dayMs, -60_000, 0, 60_000, 299_000])(
  'a clock that is %i ms ahead or less counts as it is, since it ends no cooldown early',
  (differsMs) => {
    const { read, log } = clockThat(differsMs, trueMs);
    expect(read()).toBe(trueMs + differsMs);
    expect(log.lines).toEqual([]);
  },
);

test.each([301_000, 4 * dayMs, 3650 * dayMs])(
  'a clock that is %i ms ahead does not count, and is told once',
  (differsMs) => {
    const { read, log } = clockThat(differsMs, trueMs);
    expect([read(), read()]).toEqual([trueMs, trueMs]);
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { registry: 'registry.test' } }]);
  },
);

test('without another clock nothing is old, which is told once; without a cooldown nobody asks', () => {
  const { read, log } = clockThat(4 * dayMs, undefined);
  expect([read(), read()]).toEqual([0, 0]);
  expect(log.lines).toHaveLength(1);
  expect(read(0)).toBe(trueMs + 4 * dayMs);
});
