import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  helperMarksOf,
  helperMarkTag,
  isTransactionMarkTag,
  isMarkOf,
  transactionMarksOf,
  transactionMarkTag,
  markTextOf,
} from './transaction-names.ts';

const id = 'ab'.repeat(32);
const seal = '0123456789abcdef'.repeat(4);
const orders = fc.record({
  oldId: fc.stringMatching(/^[0-9a-f]{64}$/),
  wasRunning: fc.boolean(),
  transaction: fc.uuid(),
  policy: fc.oneof(
    fc.constantFrom('', 'no', 'always', 'unless-stopped').map((Name) => ({ Name, MaximumRetryCount: 0 })),
    fc.nat(999_999_999).map((MaximumRetryCount) => ({ Name: 'on-failure', MaximumRetryCount })),
  ),
});

test('a mark reads back as it was written, under whatever host an engine prints, and fits into a tag', () => {
  fc.assert(
    fc.property(
      orders,
      fc.constantFrom('', seal),
      fc.constantFrom('', 'localhost/', 'docker.io/library/'),
      (order, sealed, host) => {
        let signed = '';
        const written = transactionMarkTag(order, (text) => {
          signed = text;
          return sealed;
        });
        const tag = `${host}${written}`;
        const [mark] = transactionMarksOf([{ id: 'sha256:new', tags: ['app:1', tag] }]);
        const { transaction, ...told } = order;
        expect(mark).toMatchObject({ ...told, tag, imageId: 'sha256:new', seal: sealed.slice(0, 32) });
        expect(mark && isMarkOf(mark, transaction)).toBe(true);
        expect(mark && markTextOf(mark)).toBe(signed);
        expect(tag.split(':')[1]?.length).toBeLessThanOrEqual(128);
        expect(isTransactionMarkTag(tag)).toBe(true);
      },
    ),
  );
});

test.each([
  'app:1',
  `shop.test/upkeep-open:${id}.u.0123456789abcdef`,
  `upkeep-open:${id}.u`,
  `upkeep-open:${id}.x.0123456789abcdef`,
  'upkeep-open:nameless',
])('%s is no mark', (tag) => {
  expect(transactionMarksOf([{ id: 'sha256:new', tags: [tag] }])).toEqual([]);
});

test('a helper is known by its own mark, which is none of a container that is replaced', () => {
  const tag = helperMarkTag(id, 'transaction', () => seal);
  expect(helperMarksOf([{ tags: [tag] }])).toMatchObject([{ helperId: id, seal: seal.slice(0, 32) }]);
  expect(transactionMarksOf([{ id: 'sha256:new', tags: [tag] }])).toEqual([]);
});
