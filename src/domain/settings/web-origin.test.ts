import { describe, expect, test } from 'vitest';
import { isAllowedOrigin, parseOriginPattern } from './http-settings.ts';

type OriginPattern = NonNullable<ReturnType<typeof parseOriginPattern>>;

describe('parseOriginPattern()', () => {
  test.each([
    '*',
    'https://example.com',
    'http://localhost:3000',
    'https://*.example.com',
    'http://[::1]:8080',
    'HTTPS://Example.COM/',
    'http://10.0.0.1',
    'http://my_nas:3000',
  ])('reads %s', (text) => expect(parseOriginPattern(text)).toBeDefined());

  test.each([
    '',
    'example.com',
    'ftp://example.com',
    'https://',
    'https://example.com/path',
    'https://*',
    'https://a.*.example.com',
    'https://exa mple.com',
    'https://example.com:99999',
    'https://user@example.com',
    'null',
    'https://a..b',
    'https://-a',
  ])('refuses %j', (text) => expect(parseOriginPattern(text)).toBeUndefined());
});

describe('isAllowedOrigin()', () => {
  test.each([
    ['https://example.com', 'https://example.com', true],
    ['https://example.com', 'https://EXAMPLE.com', true],
    ['http://my_nas:3000', 'http://my_nas:3000', true],
    ['http://*.my_lan', 'http://web_1.my_lan', true],
    ['https://example.com', 'https://example.com:443', true],
    ['https://example.com', 'http://example.com', false],
    ['https://example.com', 'https://example.com:8443', false],
    ['https://example.com', 'https://example.com.evil.test', false],
    ['https://*.example.com', 'https://a.example.com', true],
    ['https://*.example.com', 'https://a.b.example.com', true],
    ['https://*.example.com', 'https://example.com', false],
    ['https://*.example.com', 'https://evilexample.com', false],
    ['https://*.example.com', 'https://.example.com', false],
    ['https://*.example.com', 'http://a.example.com', false],
    ['https://*.example.com:8443', 'https://a.example.com:8443', true],
    ['https://*.example.com', 'https://*.example.com', false],
    ['*', 'https://anything.test', true],
    ['*', 'null', true],
    ['https://example.com', 'null', false],
    ['https://example.com', 'https://example.com\u0000', false],
  ])('%s allows %s: %s', (pattern, origin, expected) => {
    expect(isAllowedOrigin(origin, [parseOriginPattern(pattern) as OriginPattern])).toBe(expected);
  });
});
