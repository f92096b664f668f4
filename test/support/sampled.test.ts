import { afterEach, expect, test, vi } from 'vitest';
import { isSampled } from './sampled.ts';

const numbers = Array.from({ length: 40 }, (_, index) => index);

afterEach(() => vi.unstubAllEnvs());

test('a push runs one point in four, and pushes take turns', () => {
  const seen = new Set<number>();
  for (let commit = 0; commit < 40; commit += 1) {
    vi.stubEnv('TEST_DRAW', `commit ${commit}`);
    const drawn = numbers.filter((number) => isSampled(number, 4));
    expect(drawn).toHaveLength(10);
    for (const number of drawn) seen.add(number);
  }
  expect(seen.size).toBe(numbers.length);
});

test.each([undefined, 'all'])('every point has its turn without a draw (%s)', (draw) => {
  vi.stubEnv('TEST_DRAW', draw);
  expect(numbers.every((number) => isSampled(number, 4))).toBe(true);
});
