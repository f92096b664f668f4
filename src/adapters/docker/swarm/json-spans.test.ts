import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementsAt, membersAt, sliceOf, spanAt } from './raw-spec.ts';

/** JSON texts that no `JSON.stringify` prints: blanks, repeated keys, numbers of any length, escapes of any letter. */
const jsonText = fc.letrec<{ value: string }>((tie) => {
  const blanks = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });
  const digits = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String);
  const number = fc.oneof(
    digits,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => JSON.stringify(each)),
  );
  const escape = fc.constantFrom(
    '\\"',
    '\\\\',
    '\\/',
    '\\n',
    '\\u007b',
    '\\u0022',
    '\\ud83d\\ude00',
    '{',
    '}',
    ']',
    ',',
    ':',
    '€',
    '😀',
  );
  const string = fc.array(escape, { maxLength: 6 }).map((pieces) => `"${pieces.join('')}"`);
  const key = fc.oneof(fc.constantFrom('"Spec"', '"__proto__"', '"a"', '"\\u0061"'), string);
  const list = fc
    .tuple(blanks, fc.array(tie('value'), { maxLength: 4 }))
    .map(([blank, values]) => `[${blank}${values.join(`${blank},`)}${blank}]`);
  const object = fc
    .tuple(blanks, fc.array(fc.tuple(key, blanks, tie('value')), { maxLength: 4 }))
    .map(
      ([blank, members]) =>
        `{${blank}${members.map(([name, gap, value]) => `${name}${gap}:${gap}${value}`).join(`,${blank}`)}}`,
    );
  const leaf = fc.oneof(number, string, fc.constantFrom('true', 'false', 'null'));
  return {
    value: fc
      .tuple(blanks, fc.oneof({ depthSize: 'medium', withCrossShrink: true }, leaf, list, object), blanks)
      .map(([before, value, after]) => `${before}${value}${after}`),
  };
}).value;

/** All values of a document from the scanner, combined again. */
function rebuilt(text: string, at = 0): unknown {
  const members = membersAt(text, at);
  if (members !== undefined) {
    return Object.fromEntries(members.map(({ key, value }) => [key, rebuilt(text, value.start)]));
  }
  const elements = elementsAt(text, at);
  if (elements !== undefined) return elements.map(({ start }) => rebuilt(text, start));
  const span = spanAt(text, [], at);
  return span === undefined ? undefined : JSON.parse(sliceOf(text, span));
}

describe('the spans of a JSON text', () => {
  test('its values are those of JSON.parse, whatever the text', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const parsed: unknown = JSON.parse(text);
        // A parser treats `__proto__` as an ordinary key; the expected value must do the same.
        expect(JSON.stringify(rebuilt(text))).toBe(JSON.stringify(parsed));
      }),
      { numRuns: 500 },
    );
  });

  test('a span is the text between its neighbours, byte for byte', () => {
    const text = ' { "a" : [ 1 , 9007199254740993 ] , "b":"}" } ';
    expect(membersAt(text, 0)?.map(({ key, value }) => [key, sliceOf(text, value)])).toEqual([
      ['a', '[ 1 , 9007199254740993 ]'],
      ['b', '"}"'],
    ]);
    expect(elementsAt(text, text.indexOf('['))?.map((each) => sliceOf(text, each))).toEqual(['1', '9007199254740993']);
  });

  test('the last of a repeated key counts, also where it is written with escapes', () => {
    const text = '{"Image":"one","Im\\u0061ge":"two"}';
    expect(spanAt(text, ['Image'])).toEqual({ start: text.indexOf('"two"'), end: text.length - 1 });
  });

  test('a path through something else than objects leads nowhere', () => {
    expect(spanAt('{"a":[{"b":1}]}', ['a', 'b'])).toBeUndefined();
    expect(spanAt('{"a":"{\\"b\\":1}"}', ['a', 'b'])).toBeUndefined();
    expect(spanAt('null', ['a'])).toBeUndefined();
  });

  test('a hundred thousand brackets are no deeper than one', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(spanAt(`{"a":${deep},"b":1}`, ['b'])).toEqual({ start: deep.length + 10, end: deep.length + 11 });
  });
});
