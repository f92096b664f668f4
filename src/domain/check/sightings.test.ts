import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../test/support/scene/builders.ts';
import { ageOf, eligibleOlderDigests, type Sighting, withSighting } from './known-versions.ts';

const day = 86_400_000;
const nowMs = Date.UTC(2026, 5, 1);

/** Sightings as `word@day`. */
function see(looks: readonly string[], maxMs = 30 * day): readonly Sighting[] {
  let seen: readonly Sighting[] = [];
  for (const look of looks) {
    const [word = '', at = '0'] = look.split('@');
    seen = withSighting(seen, digestOf(word), { monotonicMs: Number(at) * day, maxMs });
  }
  return seen;
}

const shown = (seen: readonly Sighting[]) => seen.map(({ digest, atMs }) => `${nameOf(digest)}@${atMs / day}`);
const nameOf = (digest: string) => 'abcdef'.split('').find((word) => digestOf(word) === digest) ?? '?';

describe('withSighting()', () => {
  test('keeps when each was seen first, in order', () => {
    expect(shown(see(['a@0', 'a@1', 'b@2', 'b@3']))).toEqual(['a@0', 'b@2']);
  });

  test('knows of the first only that it was there, of the others that they came', () => {
    expect(see(['a@0', 'b@1']).map(({ sawItCome }) => sawItCome)).toEqual([false, true]);
  });

  test('forgets what was withdrawn, when the tag moves back', () => {
    expect(shown(see(['a@0', 'b@1', 'c@2', 'a@3']))).toEqual(['a@0']);
    expect(shown(see(['a@0', 'b@1', 'a@3', 'b@4']))).toEqual(['a@0', 'b@4']);
  });

  test('forgets what can be of no use any more', () => {
    expect(shown(see(['a@0', 'b@1', 'c@2', 'd@9'], 3 * day))).toEqual(['c@2', 'd@9']);
  });

  test('stays small however often a tag moves, and has something of every age all the same', () => {
    const looks = Array.from({ length: 2000 }, (_, hour) => `${hour}@${hour / 24}`);
    const seen = see(looks);
    expect(seen.length).toBeLessThanOrEqual(64);
    const ages = seen.map(({ atMs }) => (1999 / 24) * day - atMs);
    for (const [place, age] of ages.entries())
      if (place > 0) expect((ages[place - 1] ?? 0) - age).toBeLessThan(4 * day);
    expect(eligibleOlderDigests(seen, 30 * day, (1999 / 24) * day)).not.toEqual([]);
  });
});

describe('ageOf()', () => {
  const at = { nowMs, monotonicMs: 10 * day };
  test.each<readonly [string, boolean, number | undefined, number, string]>([
    ['what was there already counts from its build', false, nowMs - 5 * day, 5, 'built'],
    ['what was seen to come counts from then, however old its build', true, nowMs - 50 * day, 2, 'first seen'],
    ['what has no date counts from when it was seen', false, undefined, 2, 'first seen'],
    ['what was built in the future, too', false, nowMs + day, 2, 'first seen'],
    [
      'what was seen for longer than its build claims, by a clock that was set back',
      false,
      nowMs - day,
      2,
      'first seen',
    ],
  ])('%s', (_, sawItCome, createdAtMs, days, since) => {
    const sighting = { digest: digestOf('a'), atMs: 8 * day, sawItCome };
    expect(ageOf(sighting, createdAtMs, at)).toEqual({ ms: days * day, since });
  });
});

describe('eligibleOlderDigests()', () => {
  test('finds the youngest that has been out for the cooldown, once the tag has not rested for twice of it', () => {
    const seen = see(['a@0', 'b@1', 'c@2', 'd@3', 'e@4', 'f@5']);
    expect(shown(eligibleOlderDigests(seen, 3 * day, 5.5 * day))).toEqual([]);
    expect(shown(eligibleOlderDigests(seen, 3 * day, 6 * day))).toEqual(['d@3', 'c@2', 'b@1', 'a@0']);
    expect(eligibleOlderDigests([], 0, 0)).toEqual([]);
  });

  test('a tag that moves at every look, however often, still yields something within twice the cooldown', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: day }), { minLength: 1, maxLength: 400 }),
        fc.integer({ min: 1, max: 20 }),
        (gaps, days) => {
          const cooldownMs = days * day;
          let seen: readonly Sighting[] = [];
          let monotonicMs = 0;
          for (const [index, gap] of gaps.entries()) {
            monotonicMs += gap;
            seen = withSighting(seen, digestOf(`release ${index}`), { monotonicMs, maxMs: cooldownMs });
            const due = eligibleOlderDigests(seen, cooldownMs, monotonicMs);
            const begunAtMs = gaps[0] ?? 0;
            if (monotonicMs - begunAtMs >= 2 * cooldownMs) expect(due).not.toEqual([]);
            for (const { atMs } of due) expect(monotonicMs - atMs).toBeGreaterThanOrEqual(cooldownMs);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
