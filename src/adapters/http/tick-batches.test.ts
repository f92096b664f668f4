import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTickBatches } from './exchange.ts';

test('what comes in one turn goes on in the next, in the order in which it came', async () => {
  const inTurn = createTickBatches(2);
  const gone: string[] = [];
  for (const name of ['a', 'b', 'c']) inTurn(() => gone.push(name));
  expect(gone).toEqual([]);
  await nextTurn();
  expect(gone).toEqual(['a', 'b', 'c']);
  inTurn(() => inTurn(() => gone.push('e')));
  await nextTurn();
  expect(gone).toEqual(['a', 'b', 'c']);
  await nextTurn();
  expect(gone).toEqual(['a', 'b', 'c', 'e']);
});

test('no more than its places go before the promises of the first ones have', async () => {
  const inTurn = createTickBatches(2);
  const gone: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    inTurn(() => {
      gone.push(name);
      void Promise.resolve().then(() => gone.push(`after ${name}`));
    });
  }
  await nextTurn();
  await nextTurn();
  expect(gone).toEqual(['a', 'b', 'after a', 'after b', 'c', 'after c']);
});
