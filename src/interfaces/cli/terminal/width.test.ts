import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable } from '../../../domain/text/printable.ts';
import { displayWidth, fit, wrapText } from './table.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 60 }).map((raw) => printable(raw, 200));

describe('displayWidth()', () => {
  test.each([
    ['', 0],
    ['web-1', 5],
    ['zażółć', 6],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한국', 4],
    ['ﾊﾝｶｸ', 4],
    ['ＡＢ', 4],
    ['🚀', 2],
    ['❤️', 2],
    ['🇩🇪', 2],
    ['👍🏽', 2],
    ['→…', 2],
  ])('of %j is %i', (of, width) => {
    expect(displayWidth(of)).toBe(width);
  });
});

describe('fit()', () => {
  test.each([
    ['nginx:1.27', 12, 'start', 'nginx:1.27  '],
    ['nginx:1.27', 6, 'start', 'nginx…'],
    ['ghcr.io/acme/api:2', 8, 'end', '…e/api:2'],
    ['日本語', 4, 'start', '日… '],
    ['日本語', 5, 'end', '…本語'],
    ['x', 0, 'start', ''],
    ['xy', 1, 'start', '…'],
  ] as const)('%j in %i columns, keeping the %s, is %j', (of, width, keep, expected) => {
    expect(fit(of, width, keep)).toBe(expected);
  });

  test('always gives exactly the width', () => {
    fc.assert(
      fc.property(text, fc.nat(70), fc.constantFrom('start' as const, 'end' as const), (of, width, keep) => {
        expect(displayWidth(fit(of, width, keep))).toBe(width);
      }),
    );
  });
});

describe('wrapText()', () => {
  test('breaks at spaces, and inside of a word that is longer than a line', () => {
    expect(wrapText('the new version crashed', 9)).toEqual(['the new', 'version', 'crashed']);
    expect(wrapText('sha256:0123456789', 8)).toEqual(['sha256:0', '12345678', '9']);
    expect(wrapText('', 5)).toEqual(['']);
  });

  test('keeps every letter and no line is too long', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (of, width) => {
        const lines = wrapText(of, width);
        expect(lines.join('').replaceAll(/\s/gu, '')).toBe(of.normalize().replaceAll(/\s/gu, ''));
        // A grapheme with marks of its own width can take three columns.
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(3, width));
      }),
    );
  });
});
