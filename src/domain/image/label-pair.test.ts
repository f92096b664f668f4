import { expect, test } from 'vitest';
import { carriesAny, parseLabelPair } from './labels.ts';

test.each([
  ['tier=web', { label: 'tier', value: 'web' }],
  [' tier = web ', { label: 'tier', value: 'web' }],
  ['tier=', { label: 'tier', value: '' }],
  ['a=b=c', { label: 'a', value: 'b=c' }],
  ['tier', undefined],
  ['=web', undefined],
  [' =web', undefined],
  ['', undefined],
  [`tier=${'x'.repeat(4096)}`, undefined],
])('parseLabelPair(%j)', (text, expected) => {
  expect(parseLabelPair(text)).toEqual(expected);
});

test.each<readonly [readonly string[], boolean]>([
  [[], false],
  [['tier=web'], true],
  [['tier=we'], false],
  [['tier=WEB'], false],
  [['tier='], true],
  [['other=', 'tier=web'], true],
  [['empty='], true],
  [['empty=x'], false],
  [['toString='], false],
  [['tier'], false],
])('carriesAny() of %j', (pairs, expected) => {
  expect(carriesAny({ tier: 'web', empty: '' }, pairs)).toBe(expected);
});

test('quotation marks that compose passes on are part of neither value', () => {
  for (const [written, asked] of [
    ['db', 'tier="db"'],
    ["'db'", 'tier=db'],
    ['"db"', "tier='db'"],
  ] as const)
    expect(carriesAny({ tier: written }, [asked])).toBe(true);
  expect(carriesAny({ tier: 'web' }, ['tier="db"'])).toBe(false);
});
