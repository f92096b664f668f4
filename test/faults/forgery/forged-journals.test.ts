import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyForgeries, anyTakeover, forgeryKinds } from '../rig/forgery/any-forgery.ts';
import { anyDay, harmOf, lossOf } from '../memory/forged-day.ts';

/**
 * A user who may only create containers writes journals. For any such journal, a start and a run leave the containers
 * of others alone, and repair the honest update.
 */

const days = Number(process.env['UPKEEP_FORGERIES'] ?? 400);

test('without a forger there is no harm', async () => {
  await fc.assert(
    fc.asyncProperty(anyDay(fc.constant([])), async (day) => {
      expect(await harmOf(day)).toEqual([]);
    }),
    { numRuns: Math.ceil(days / forgeryKinds.length) },
  );
});

describe.each(forgeryKinds)('forged journals: %s', (kind) => {
  test('nothing of others changes, and the interrupted update beside them is repaired', async () => {
    await fc.assert(
      fc.asyncProperty(anyDay(anyForgeries(kind)), async (day) => {
        expect(await harmOf(day)).toEqual([]);
      }),
      { numRuns: Math.ceil(days / forgeryKinds.length) },
    );
  });
});

test('whoever takes the name of a container while it is free: the container itself is not lost', async () => {
  await fc.assert(
    fc.asyncProperty(anyDay(anyTakeover()), async (day) => {
      expect(await lossOf(day)).toEqual([]);
    }),
    { numRuns: Math.ceil(days / forgeryKinds.length) },
  );
});
