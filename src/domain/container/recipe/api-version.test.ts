import { expect, test } from 'vitest';
import { supportsApi } from './networks.ts';

test.each([
  ['1.41', '1.41', true],
  ['1.41', '1.44', false],
  ['1.44', '1.41', true],
  ['1.9', '1.41', false],
  ['1.100', '1.41', true],
  ['2.0', '1.41', true],
  ['', '1.41', false],
] as const)('speaksApi(%j, %j) is %j: minor versions are numbers, not fractions', (version, wanted, expected) => {
  expect(supportsApi(version, wanted)).toBe(expected);
});
