import { expect, test } from 'vitest';
import { createLru } from './plain-data.ts';

test('forgets what was not used for longest, at its bound', () => {
  const lru = createLru<number>(2);
  lru.set('a', 1);
  lru.set('b', 2);
  expect(lru.get('a')).toBe(1);
  lru.set('c', 3);
  expect([lru.get('a'), lru.get('b'), lru.get('c')]).toEqual([1, undefined, 3]);
  lru.set('a', 4);
  lru.delete('c');
  expect([...lru.values()]).toEqual([4]);
  lru.clear();
  expect([...lru.values()]).toEqual([]);
});
