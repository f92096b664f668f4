import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAddress, shownKinds, startAddress, writeAddress } from './address.ts';

test('an address that is written is read as it was', () => {
  const address = fc.record({
    page: fc.constant('containers' as const),
    open: fc.string({ unit: 'grapheme' }),
    show: fc.constantFrom(...shownKinds),
    group: fc.constantFrom('status' as const, 'project' as const),
    q: fc.string({ unit: 'grapheme' }),
    engine: fc.string({ unit: 'grapheme' }),
  });
  fc.assert(fc.property(address, (one) => void expect(readAddress(writeAddress(one))).toEqual(one)));
});

test.each([
  ['', startAddress],
  ['#', startAddress],
  ['#/nonsense?show=x&group=y', startAddress],
  ['#/c/%E0%A4%A', { ...startAddress, open: '%E0%A4%A' }],
  ['#/history', { ...startAddress, page: 'history' }],
  ['#/c/a%2Fb?q=x%20y&show=ready', { ...startAddress, open: 'a/b', q: 'x y', show: 'ready' }],
])('readAddress(%j)', (hash, expected) => {
  expect(readAddress(hash)).toEqual(expected);
});

test('a name that is no text still has an address', () => {
  expect(readAddress(writeAddress({ ...startAddress, open: 'a\uD800' })).open).toBe('a\uFFFD');
});

test('any fragment has an address', () => {
  fc.assert(fc.property(fc.string(), (text) => void readAddress(`#${text}`)));
});
