import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import { printable, printableJson, quoted } from './printable.ts';

describe('printable()', () => {
  test.each([
    ['nginx:1.27', 'nginx:1.27'],
    ['grüße 你好 🚀', 'grüße 你好 🚀'],
    ['a\nb\r\tc', String.raw`a\nb\r\tc`],
    ['\u001b[31mred', String.raw`\x1b[31mred`],
    ['\u009b31mred', String.raw`\x9b31mred`],
    ['nul\0', String.raw`nul\x00`],
    ['\u007f', String.raw`\x7f`],
    ['user\u202egpj.exe', String.raw`user\u202egpj.exe`],
    ['a\u2066b\u2069', String.raw`a\u2066b\u2069`],
    ['zero\u200bwidth\ufeff', String.raw`zero\u200bwidth\ufeff`],
    ['line\u2028end\u2029', String.raw`line\u2028end\u2029`],
    ['tag\u{e0041}', String.raw`tag\u{e0041}`],
    ['half\ud83d', String.raw`half\ud83d`],
    [String.raw`C:\new`, String.raw`C:\new`],
  ])('shows %j as %s', (text, expected) => {
    expect(printable(text, 100)).toBe(expected);
  });

  test('cuts with an ellipsis within the length, and never in the middle of a character or an escape', () => {
    expect(printable('abcdef', 6)).toBe('abcdef');
    expect(printable('abcdefg', 6)).toBe('abcde…');
    expect(printable('abc🚀🚀', 6)).toBe('abc🚀…');
    expect(printable('abcd\u001bf', 6)).toBe('abcd…');
    expect(printable('\u202e', 3)).toBe('…');
    expect(printable('abc', 0)).toBe('');
  });

  test('leaves nothing unsafe, keeps within the length, and changes nothing the second time', () => {
    fc.assert(
      fc.property(anyText(), fc.nat(40), (text, maxLength) => {
        const shown = printable(text, maxLength);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(shown.length).toBeLessThanOrEqual(maxLength);
        expect(printable(shown, maxLength)).toBe(shown);
      }),
    );
  });

  test('reads no further than it shows', () => {
    const long = printable('\u001b'.repeat(2 ** 20), 100);
    expect(long).toBe(`${String.raw`\x1b`.repeat(24)}…`);
  });
});

describe('quoted()', () => {
  test('escapes quotes, so that a value cannot end its own quotes', () => {
    expect(quoted('a" is "b')).toBe(String.raw`"a\" is \"b"`);
    expect(quoted(String.raw`a\" is "b\\`)).toBe(String.raw`"a\\\" is \"b\\\\"`);
    expect(quoted(String.raw`C:\new`)).toBe(String.raw`"C:\new"`);
  });

  test('leaves no quote and no end that is not its own', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n', ' ') }), (text) => {
        expect(quoted(text)).toMatch(/^"(?:[^"\\]|\\.)*"$/);
      }),
    );
  });

  test('shows at most 100 characters unless told otherwise', () => {
    expect(quoted('x'.repeat(101))).toBe(`"${'x'.repeat(99)}…"`);
    expect(quoted('abcdef', 3)).toBe('"ab…"');
  });
});

test('printableJson() changes how a text is written, and not what it says', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const json = printableJson(JSON.stringify({ [text]: text }, undefined, 2));
      expect(json).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ [text]: text })));
    }),
  );
});
