import { describe, expect, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import type { ImageReference } from '../../domain/image/image-reference.ts';
import { ageOf, type SeenTag } from '../../domain/check/known-versions.ts';
import { createTagSightings } from './newer.ts';
import { createCooldownClock } from './registry-verdict.ts';

const reference: ImageReference = { registry: 'registry.test', repository: 'web', tag: '1', digest: undefined };
const dayMs = 86_400_000;
const trueMs = 20_600 * dayMs;

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

describe('the age of a version that an earlier process saw first', () => {
  const digest = `sha256:${'a'.repeat(64)}` as const;

  /** The age in a process with the right clock, which starts when the first one has seen the version. */
  async function ageAfterRestart(
    firstDiffersMs: number,
    { told, laterMs = 60_000 }: { told?: number; laterMs?: number },
  ) {
    const records: SeenTag[] = [];
    const store = {
      read: () => Promise.resolve(records),
      append: (items: readonly SeenTag[]) => Promise.resolve((records.push(...items), 'kept' as const)),
      fault: () => undefined,
    };
    const open = async (wallMs: number, registryMs: number | undefined) => {
      const clock = { nowMs: () => wallMs, monotonicMs: () => 7, sleep: () => Promise.resolve() };
      const read = createCooldownClock({ registry: { timeAt: () => registryMs }, clock, log: createTestLog() });
      const tags = createTagSightings({ clock, store });
      await tags.load();
      const now = read(reference, 2 * dayMs);
      const seen = tags.see('web:1', digest, { now, cooldownMs: 2 * dayMs, isNew: true });
      tags.keep();
      await tags.flush();
      return ageOf(seen.at(-1)!, undefined, now).ms;
    };
    await open(trueMs + firstDiffersMs, told);
    return open(trueMs + laterMs, trueMs + laterMs);
  }

  test.each([-3 * dayMs, -3650 * dayMs, -60_000, 0])(
    'counts by the clock of the registry, if the clock of its machine differed by %i ms',
    async (differsMs) => expect(await ageAfterRestart(differsMs, { told: trueMs })).toBe(60_000),
  );

  test.each([3 * dayMs, 3650 * dayMs])('counts from the restart, if that clock was %i ms ahead', async (differsMs) =>
    expect(await ageAfterRestart(differsMs, { told: trueMs })).toBe(0),
  );

  test('is never more than the time since then, if the clock of the registry was wrong as well', async () => {
    expect(await ageAfterRestart(0, { told: trueMs - 3 * dayMs, laterMs: dayMs })).toBe(dayMs);
    expect(await ageAfterRestart(0, { told: trueMs + 3 * dayMs, laterMs: dayMs })).toBe(0);
  });
});
