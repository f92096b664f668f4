import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { repeatsField } from './json-value.ts';

describe('repeatsField()', () => {
  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"A":2}',
    '{"a":1,"\\u0061":2}',
    '{"k":1,"\u212a":2}',
    '{"s":1,"\u017f":2}',
    '[{"b":{"a":[],"c":{},"A":0}}]',
    '{"a":{"b":1},"c":"}","a":1}',
    '{"a\\"b":1,"a\\"b":2}',
    '{"__proto__":1,"__proto__":2}',
  ])('finds it in %s', (text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(repeatsField(text)).toBe(true);
  });

  test.each([
    '1',
    '"a:a"',
    '{"a":{"a":[{"a":1},{"a":"a"}]}}',
    '{"a":"b\\":","b":"a:","c":["a","a"]}',
    '{"a":"{\\"a\\":1","b":"a"}',
    '{"\\\\":1,"\\\\\\"":2}',
  ])('finds none in %s', (text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(repeatsField(text)).toBe(false);
  });

  test('finds none in what JSON.stringify() writes of lower-case fields', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', ':', '{', '}', ',', '[', ' ') });
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, key, fc.array(tie('any')), fc.dictionary(key, tie('any'))),
    })).any;
    fc.assert(fc.property(value, (each) => !repeatsField(JSON.stringify(each, null, 1))));
  });
});
