import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { cutLine, cutText, messagePieces, piecesOf } from './requests.ts';

const units = fc.constantFrom('units' as const, 'characters' as const, 'bytes' as const);
const limits = fc.record({ max: fc.integer({ min: 8, max: 300 }), unit: units });
const texts = fc.oneof(
  anyText({ maxLength: 600 }),
  fc.array(fc.oneof(fc.string({ maxLength: 60 }), fc.constant('größer 🎉'))).map((lines) => lines.join('\n')),
);

const loneSurrogate = /\p{Surrogate}/u;

function sizeOf(text: string, unit: 'units' | 'characters' | 'bytes'): number {
  if (unit === 'units') return text.length;
  return unit === 'bytes' ? Buffer.byteLength(text) : Array.from(text).length;
}

describe('piecesOf()', () => {
  test('loses no character, exceeds no limit and cuts no character in two', () => {
    fc.assert(
      fc.property(texts, limits, (text, { max, unit }) => {
        const pieces = piecesOf(text, { max, unit, maxPieces: Infinity });
        expect(pieces.join('')).toBe(text);
        for (const piece of pieces) {
          expect(sizeOf(piece, unit)).toBeLessThanOrEqual(max);
          if (!loneSurrogate.test(text)) expect(piece).not.toMatch(loneSurrogate);
        }
      }),
    );
  });

  test('parts at line ends, else between words, else within one', () => {
    const parted = (text: string) => piecesOf(text, { max: 10, unit: 'units' });
    expect(parted('one two\nthree\nfour')).toEqual(['one two\n', 'three\nfour']);
    expect(parted('1234567890123')).toEqual(['1234567890', '123']);
    expect(piecesOf(`${'word '.repeat(30)}end`, { max: 148, unit: 'units' })[0]).toBe('word '.repeat(29));
  });

  test('ends after so many pieces, and says how much is missing', () => {
    const text = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n');
    const pieces = piecesOf(text, { max: 60, unit: 'units', maxPieces: 3 });
    expect(pieces).toHaveLength(3);
    const last = /line (\d+)\n… (\d+) more lines$/.exec(pieces.join('')) ?? [];
    expect(Number(last[1]) + 1 + Number(last[2])).toBe(100);
  });
});

describe('messagePieces()', () => {
  test('has no blank piece, and one piece for nothing', () => {
    expect(messagePieces('', { max: 10, unit: 'units' })).toEqual(['']);
    expect(messagePieces('\n\n\n          \n\nend\n', { max: 4, unit: 'units' })).toEqual(['end']);
  });
});

describe('cutText() and cutLine()', () => {
  test('never exceed the limit', () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        expect(sizeOf(cutText(text, limit), limit.unit)).toBeLessThanOrEqual(limit.max);
        expect(sizeOf(cutLine(text, limit), limit.unit)).toBeLessThanOrEqual(limit.max);
      }),
    );
  });

  test('cutText() counts the lines that are missing', () => {
    const limit = { max: 30, unit: 'units' } as const;
    expect(cutText('one\ntwo\nthree\nfour\nfive\nsix\nseven', limit)).toBe('one\ntwo\nthree\n… 4 more lines');
    expect(cutText('one\ntwo', limit)).toBe('one\ntwo');
  });
});
