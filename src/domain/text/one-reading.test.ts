import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doubtIn, namesOf } from './json.ts';

describe('doubtIn()', () => {
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
  ])('finds a field given twice in %s', (text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(doubtIn(text)).toBe('a field is given twice');
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
    expect(doubtIn(text)).toBeUndefined();
  });

  test('finds none in what JSON.stringify() writes of lower-case fields', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', ':', '{', '}', ',', '[', ' ') });
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, key, fc.array(tie('any')), fc.dictionary(key, tie('any'))),
    })).any;
    fc.assert(fc.property(value, (each) => doubtIn(JSON.stringify(each, null, 1)) === undefined));
  });

  const known = { names: namesOf('os config Labels'), maps: new Set(['Labels']) };
  test.each([
    ['{"os":1,"os":1}', '"os" is given twice'],
    ['{"OS":1}', 'a field looks like "os", but is not'],
    ['{"o\u017f":1}', 'a field looks like "os", but is not'],
    ['{"config":{"Config":1}}', 'a field looks like "config", but is not'],
    ['{"x":1,"x":1}', 'a field is given twice'],
    ['{"config":{"Labels":{"x":"1","x":"2"}}}', 'a field is given twice'],
    ['{"config":{"Labels":{"os":"1","os":"2"}}}', '"os" is given twice'],
    [`{"x":${'['.repeat(32)}${']'.repeat(32)}}`, 'it is nested too deep'],
  ])('with known names it finds in %s: %s', (text, why) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(doubtIn(text, known)).toBe(why);
  });

  test.each(['{"x":1,"X":2}', '{"config":{"Labels":{"x":"1","X":"2","OS":"3","CONFIG":"4"}}}', '{"os":{"os":["os"]}}'])(
    'with known names it finds nothing in %s',
    (text) => expect(doubtIn(text, known)).toBeUndefined(),
  );

  test('refuses what is nested too deep without known names too', () => {
    expect(doubtIn(`${'['.repeat(33)}${']'.repeat(33)}`)).toBe('it is nested too deep');
  });
});
