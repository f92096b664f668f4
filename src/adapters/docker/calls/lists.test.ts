import { expect, test } from 'vitest';
import { createEntryBuffer, entryOverheadBytes } from './lists.ts';

function fill(limitBytes: number, sizes: readonly number[]) {
  const kept = createEntryBuffer(limitBytes);
  for (const [index, bytes] of sizes.entries())
    kept.add({ kind: 'whole', value: { Id: `${index}`, Names: [`/n${bytes}`], Labels: {} }, bytes });
  const { entries, omitted } = kept.read();
  return { entries: entries.map((value) => Number((value as { Id: string }).Id)), omitted };
}

test('all entries are kept, in their order, where they are small enough together', () => {
  expect(fill(1_000_000, [10, 200_000, 30])).toEqual({ entries: [0, 1, 2], omitted: [] });
});

test('where they are not, the largest are left out, and no small one for them', () => {
  const sizes = Array.from({ length: 1_000 }, (_, index) => (index % 100 === 50 ? 700_000 : 100));
  const { entries, omitted } = fill(2_000_000, sizes);
  const small = sizes.flatMap((bytes, index) => (bytes === 100 ? [index] : []));
  expect(entries.filter((index) => sizes[index] === 100)).toEqual(small);
  expect(entries.length - small.length).toBeLessThanOrEqual(2);
  expect(omitted).toHaveLength(1_000 - entries.length);
  expect(omitted[0]).toMatchObject({ Names: ['/n700000'] });
  expect(omitted[0]).not.toHaveProperty('Labels');
});

test('a flood of tiny entries is bounded too', () => {
  const limit = 100 * entryOverheadBytes;
  expect(
    fill(
      limit,
      Array.from({ length: 1_000 }, () => 2),
    ).entries.length,
  ).toBeLessThanOrEqual(100);
});

test('one that was too large by itself is only named', () => {
  const kept = createEntryBuffer(1_000);
  kept.add({ kind: 'large', beginning: { Id: 'x' } });
  expect(kept.read()).toEqual({ entries: [], omitted: [{ Id: 'x' }] });
});

test('of a flood of large entries a thousand are named', () => {
  const kept = createEntryBuffer(1_000);
  for (let index = 0; index < 5_000; index += 1) kept.add({ kind: 'large', beginning: { Id: `${index}` } });
  for (let index = 0; index < 5_000; index += 1) kept.add({ kind: 'whole', value: { Id: `${index}` }, bytes: 900 });
  expect(kept.read().omitted).toHaveLength(1_000);
});
