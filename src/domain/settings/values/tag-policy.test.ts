import { describe, expect, test } from 'vitest';
import { readTagFilter, readTagPolicy } from './versions.ts';

describe('readTagPolicy()', () => {
  test.each(['digest', 'patch', 'minor', 'major'])('reads %s in any case, with spaces around it', (kind) => {
    expect(readTagPolicy(` ${kind.toUpperCase()} `)).toEqual({ kind });
  });

  test('reads a pattern as it is written', () => {
    expect(readTagPolicy('regex:^V(\\d+)$')).toMatchObject({ kind: 'regex', text: '^V(\\d+)$' });
  });

  test.each([
    ['', 'it takes digest, patch, minor, major or regex:PATTERN'],
    ['semver', 'it takes digest, patch, minor, major or regex:PATTERN'],
    ['regex:', 'the pattern needs a group around the numbers'],
    ['regex:^\\d+$', 'the pattern needs a group around the numbers'],
    ['regex:(\\d+', 'it is not a pattern of RE2'],
    ['regex:(\\d+)(?=-)', 'it is not a pattern of RE2'],
    [`regex:(${'\\d'.repeat(600)})`, 'the pattern is too large'],
    ['regex:(\\pL{1000})', 'the pattern is too large'],
  ])('refuses %j', (text, fault) => {
    expect(readTagPolicy(text)).toEqual({ kind: 'unreadable', text, fault: expect.stringContaining(fault) as unknown });
  });
});

describe('readTagFilter()', () => {
  test.each([
    ['^1\\.2', '1.27', true],
    ['alpine', '1.27-alpine3.20', true],
    ['^alpine$', '1.27-alpine3.20', false],
    [' \\d$ ', '1.27', true],
    ['', 'latest', true],
  ])('%j on %s: %s', (text, tag, expected) => {
    const filter = readTagFilter(text);
    expect(typeof filter === 'function' && filter(tag)).toBe(expected);
  });

  test('refuses what is no pattern', () => {
    expect(readTagFilter('[')).toEqual({ fault: expect.stringContaining('RE2') as unknown });
  });
});
