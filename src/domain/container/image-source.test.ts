import { expect, test } from 'vitest';
import { sourceOf } from './image-source.ts';

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
