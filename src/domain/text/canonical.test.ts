import { describe, expect, test } from 'vitest';
import { canonical, sameToEngine } from './json.ts';

describe('canonical()', () => {
  test.each([[undefined], [null], [''], [0], [false], [[]], [{}], [{ a: null, b: [], c: { d: 0 } }]])(
    'is empty for %j, which all mean that nothing was set',
    (value) => {
      expect(canonical(value)).toBe('');
    },
  );

  test('does not care for the order of fields, but for that of a list', () => {
    expect(sameToEngine({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
    expect(sameToEngine(['a', 'b'], ['b', 'a'])).toBe(false);
  });

  test('keeps an empty item in its place', () => {
    expect(sameToEngine([''], [])).toBe(false);
    expect(sameToEngine(['sh', ''], ['sh'])).toBe(false);
    expect(sameToEngine([null], [])).toBe(false);
  });

  test('takes a field called __proto__ for a field', () => {
    const odd: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(sameToEngine(odd, {})).toBe(false);
    expect(sameToEngine(odd, JSON.parse('{"__proto__":{"a":1}}'))).toBe(true);
  });
});
