import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeBetween, sourceOf, versionOf } from './image-labels.ts';

const digest = `sha256:${'0123456789ab'.padEnd(64, 'c')}`;
const labelled = (version: string) => ({ 'org.opencontainers.image.version': version });

describe('versionOf()', () => {
  test.each([
    ['its label before all else', { labels: labelled('1.2.3'), image: 'app:latest', digest }, '1.2.3'],
    ['a tag that looks like a version', { labels: {}, image: 'app:16-alpine', digest }, '16-alpine'],
    ['a tag with a v', { labels: undefined, image: 'ghcr.io/team/app:v2', digest }, 'v2'],
    ['the digest for another tag', { labels: {}, image: 'app:latest', digest }, '0123456789ab'],
    ['the digest for a blank label', { labels: labelled('  '), image: 'app', digest }, '0123456789ab'],
    ['nothing where nothing is known', { labels: {}, image: 'not a reference', digest: '' }, undefined],
    ['a hostile label so that it can be shown', { labels: labelled('1\u001b[2J'), image: 'app', digest }, '1\\x1b[2J'],
  ])('is %s', (_, facts, expected) => {
    expect(versionOf(facts)).toBe(expected);
  });

  test('is at most 100 characters', () => {
    expect(versionOf({ labels: labelled('9'.repeat(500)), image: 'app', digest })).toHaveLength(100);
  });
});

describe('changeBetween()', () => {
  test.each([
    ['1.27.4', '2.0.0', 'major'],
    ['v1.27.4', '1.28', 'minor'],
    ['1.27.4', '1.27.5', 'patch'],
    ['1.27', '1.27.0-r1', 'build'],
    ['16-alpine', '16-alpine', 'build'],
    ['rolling', 'rolling', 'build'],
    ['rolling', 'stable', undefined],
    ['1.27', '0123456789ab', undefined],
    ['012345678901', '112345678901', undefined],
  ])('%s → %s is %s', (from, to, change) => {
    expect(changeBetween(from, to)).toBe(change);
  });

  test('takes no time that grows with the square of a text', () => {
    const long = `1${'.1'.repeat(500_000)}!`;
    expect(changeBetween(long, long)).toBe('build');
  });

  test('is the same in both directions, and never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(changeBetween(one, other)).toBe(changeBetween(other, one));
      }),
    );
  });
});

const source = (url: string) => ({ 'org.opencontainers.image.source': url });

test.each([
  ['the sources', source('https://git.example/app'), 'https://git.example/app'],
  [
    'the home page where no sources are named',
    { 'org.opencontainers.image.url': 'http://app.example' },
    'http://app.example/',
  ],
  [
    'the home page where the sources are no address',
    { ...source('app'), 'org.opencontainers.image.url': 'https://a.example/' },
    'https://a.example/',
  ],
  ['no script', source('javascript:alert(1)'), undefined],
  ['no login', source('https://user:password@git.example/'), undefined],
  ['nothing too long', source(`https://git.example/${'a'.repeat(500)}`), undefined],
  ['nothing of no labels', undefined, undefined],
])('sourceOf() is %s', (_, labels, expected) => {
  expect(sourceOf(labels)).toBe(expected);
});
