import { expect, test } from 'vitest';
import { noticeMs } from './node.ts';

test('a long notice stays long enough to be read, and one with a button at least 8 s', () => {
  expect(noticeMs('Done: 1 updated.', false)).toBe(4000);
  expect(noticeMs('Skipped.', true)).toBe(8000);
  expect(noticeMs('x'.repeat(200), false)).toBe(24_000);
  expect(noticeMs('x'.repeat(10_000), false)).toBe(60_000);
});
