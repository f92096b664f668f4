import { describe, expect, test } from 'vitest';
import { causeFirst, sayResult, wordOf } from './wording.ts';

describe('causeFirst()', () => {
  test.each([
    ['the new version of "web" failed: it exited with code 1', 'exited with code 1'],
    ['the new version of "web" failed: it exited with code 1; its log is lost', 'exited with code 1; its log is lost'],
    ['the new version of "db" failed: it was not healthy in time', 'was not healthy in time: the new version of "db"'],
    ['no space left on device', 'no space left on device'],
    ['', ''],
  ])('of %j is %j in the row of web', (reason, expected) => {
    expect(causeFirst(reason, 'web')).toBe(expected);
  });
});

test.each([
  [{ outcome: 'fresh', verdict: 'pinned' }, 'pinned'],
  [{ outcome: 'fresh', verdict: 'local' }, 'local'],
  [{ outcome: 'fresh' }, 'fresh'],
  [{ outcome: 'skipped', verdict: 'held' }, 'held'],
  [{ outcome: 'deferred', verdict: 'held' }, 'held'],
  [{ outcome: 'deferred' }, 'deferred'],
  [{ outcome: 'updated', verdict: 'held' }, 'updated'],
] as const)('the word of %j is %s', (result, word) => {
  expect(wordOf(result)).toBe(word);
});

test.each([
  [{ outcome: 'went_back', from: '2', to: '1' }, 'went back to 1'],
  [{ outcome: 'rolled_back', from: '1', to: '2' }, 'failed; back on 1'],
  [{ outcome: 'rolled_back' }, 'failed and was rolled back'],
  [{ outcome: 'went_back' }, 'went back'],
] as const)('the result %j is told as %j', (result, text) => {
  expect(sayResult(result).text).toBe(text);
});
