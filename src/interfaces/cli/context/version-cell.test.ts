import { describe, expect, test } from 'vitest';
import { ageCell, versionCell } from './wording.ts';

describe('versionCell()', () => {
  test.each([
    [{ from: '1.2', to: '1.3' }, '1.2 → 1.3'],
    [{ from: '1.2', to: '1.2' }, '1.2'],
    [{ from: '1.2' }, '1.2'],
    [{ to: '1.3' }, '1.3'],
    [{ from: '', to: undefined }, ''],
    [{ from: '\u001b[2J', to: 'x'.repeat(100) }, String.raw`\x1b[2J → ${'x'.repeat(39)}…`],
  ])('of %j is %j', (versions, expected) => {
    expect(versionCell(versions).text).toBe(expected);
  });
});

describe('ageCell()', () => {
  const day = 86_400_000;

  test.each([
    [0, 2 * day + 5000, '2d ago'],
    [0, 5 * 3_600_000 + 1, '5h ago'],
    [0, 61_000, '1m ago'],
    [0, 999, '1s ago'],
    [undefined, day, ''],
    [day, 0, ''],
  ])('of %j, at %j, is %j', (releasedAtMs, nowMs, expected) => {
    expect(ageCell(releasedAtMs, nowMs).text).toBe(expected);
  });
});
