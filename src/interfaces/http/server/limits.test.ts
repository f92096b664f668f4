import { describe, expect, test } from 'vitest';
import { descriptorLimit, maxConnectionsWithin } from './server.ts';

describe('maxConnectionsWithin()', () => {
  test.each([
    [20, 16],
    [256, 128],
    [1024, 512],
    [4096, 3584],
    [1_048_576, 12_000],
    [Infinity, 12_000],
  ])('of %d descriptors is %d', (descriptors, expected) => {
    expect(maxConnectionsWithin(descriptors)).toBe(expected);
  });
});

test('descriptorLimit() is what the system allows this process', () => {
  expect(descriptorLimit()).toBeGreaterThan(100);
});
