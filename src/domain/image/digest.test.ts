import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDigest, parseDigest, shortDigest } from './image-reference.ts';

const sha256 = `sha256:${'0123456789abcdef'.repeat(4)}`;
const sha512 = `sha512:${'0123456789abcdef'.repeat(8)}`;

test.each([sha256, sha512])('parseDigest() reads %s', (text) => {
  expect(parseDigest(text)).toBe(text);
});

test.each([
  '',
  'sha256:',
  sha256.slice(0, -1),
  `${sha256}0`,
  ` ${sha256}`,
  `${sha256}\n`,
  sha256.toUpperCase(),
  sha256.replace('sha256', 'sha384'),
  sha256.replace('sha256', 'sha512'),
  sha256.replace('0', 'g'),
  sha256.slice('sha256:'.length),
])('isDigest() refuses %j', (text) => {
  expect(isDigest(text)).toBe(false);
  expect(parseDigest(text)).toBeUndefined();
});

test('isDigest() says no to whatever else', () => {
  fc.assert(fc.property(fc.string(), (text) => !isDigest(text)));
});

test('shortDigest() shows twelve digits, with or without the algorithm', () => {
  expect(shortDigest(sha256)).toBe('0123456789ab');
  expect(shortDigest(sha512)).toBe('0123456789ab');
  expect(shortDigest('0123456789abcdef')).toBe('0123456789ab');
  expect(shortDigest('')).toBe('');
});
