import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyOf, namePattern, sizeOfPatterns } from './name-pattern.ts';

describe('namePattern()', () => {
  test.each([
    ['web', 'web', true],
    ['web', 'web2', false],
    ['web', 'my-web', false],
    ['/web', 'web', true],
    [' web ', 'web', true],
    ['nginx|redis', 'redis', true],
    ['nginx|redis', 'nginx-exporter', false],
    ['nginx|redis', 'x-redis', false],
    ['web-.*', 'web-1', true],
    ['^web-[0-9]+$', 'web-12', true],
    ['(?i)WEB', 'web', true],
    ['we(?=b)b', 'web', false],
    ['a)|(b', 'b', false],
    ['[', '[', true],
    ['web(', 'web(', true],
    ['', 'web', false],
    ['(?m)web$', 'web\nother', false],
  ])('%j means %j: %j', (pattern, name, expected) => {
    expect(namePattern(pattern)(name)).toBe(expected);
  });

  test('always means its own text as a name, whatever it is as a pattern', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,40}$/);
    fc.assert(fc.property(name, (text) => namePattern(text)(text)));
  });

  test('takes a pattern that is too long or too big for an exact name', () => {
    expect(namePattern('a'.repeat(1001))('a'.repeat(1001))).toBe(true);
    expect(namePattern(`${'a'.repeat(1000)}|web`)('web')).toBe(false);
    expect(namePattern('(?:a?b?){1000}')('ab')).toBe(false);
  });

  test('a pattern made to hang a backtracking engine takes no time', () => {
    const patterns = ['(a+)+$', '(a|a)*b', '(?:a?){400}a{400}', '(.*)*(.*)*(.*)*x', '(a*)*(a*)*(a*)*!'].map(
      namePattern,
    );
    for (const matches of patterns) expect(matches(`${'a'.repeat(250)}0`)).toBe(false);
  });
});

test('anyOf() is true when one pattern is, and false of none', () => {
  expect(anyOf([namePattern('a'), namePattern('b')])('b')).toBe(true);
  expect(anyOf([])('b')).toBe(false);
});

describe('sizeOfPatterns()', () => {
  test('is nothing for names, something for patterns, and infinite with one that is too big', () => {
    expect(sizeOfPatterns(['web', '/my_app-1'])).toBe(0);
    expect(sizeOfPatterns(['web-.*', 'a.b'])).toBeGreaterThan(sizeOfPatterns(['web-.*']));
    for (const text of ['\\PL{900}', 'a.'.repeat(501), '[a-z]{1,1000}']) expect(sizeOfPatterns([text])).toBe(Infinity);
  });

  test('tells what is too big without making it', () => {
    const patterns = Array.from({ length: 3000 }, (_, index) => `\\PL{${850 + (index % 100)}}`);
    expect(sizeOfPatterns(patterns)).toBe(Infinity);
    expect(anyOf(patterns.map(namePattern))('web')).toBe(false);
  });
});
