import { expect, test } from 'vitest';
import { createProxyChoice } from './agents.ts';

const proxy = { http: 'http://plain:3128', https: 'secure:3129' };

test.each<[string, string | undefined]>([
  ['https://registry.test/v2/', 'http://secure:3129/'],
  ['http://registry.test/v2/', 'http://plain:3128/'],
  // This machine is never reached through a proxy.
  ['http://localhost:5000/', undefined],
  ['https://127.0.0.1:5000/', undefined],
  ['https://[::1]:5000/', undefined],
  // `example.com`, `.below.net`, `*.star.org`, `port.test:8443`, `10.0.0.0/8`, `192.168.1.1`
  ['https://example.com/', undefined],
  ['https://a.b.EXAMPLE.com/', undefined],
  ['https://notexample.com/', 'http://secure:3129/'],
  ['https://below.net/', 'http://secure:3129/'],
  ['https://a.below.net/', undefined],
  ['https://a.star.org/', undefined],
  ['https://star.org/', 'http://secure:3129/'],
  ['https://port.test:8443/', undefined],
  ['https://port.test/', 'http://secure:3129/'],
  ['https://default.test/', undefined],
  ['http://default.test/', 'http://plain:3128/'],
  ['https://10.9.8.7/', undefined],
  ['https://192.168.1.1:5000/', undefined],
  ['https://192.168.1.2/', 'http://secure:3129/'],
])('%s leads through %s', (url, through) => {
  const no = [
    'example.com',
    ' .below.net ',
    '*.star.org',
    'port.test:8443',
    'default.test:443',
    '10.0.0.0/8',
    '192.168.1.1',
    '',
  ];
  expect(createProxyChoice({ ...proxy, no })(new URL(url))?.href).toBe(through);
});

test.each(['http://user:100%@proxy:3128', 'http://us%er:x@proxy:3128'])(
  'refuses the login of %s at the start',
  (http) => {
    expect(() => createProxyChoice({ http })).toThrow(
      'Cannot use the proxy of HTTP_PROXY: its login has a % that encodes no character',
    );
  },
);

test('a star exempts everything, and nothing is a proxy unless one is given', () => {
  expect(createProxyChoice({ ...proxy, no: ['*'] })(new URL('https://a.test'))).toBeUndefined();
  expect(createProxyChoice({ http: ' ', https: '' })(new URL('https://a.test'))).toBeUndefined();
});

test.each(['socks5://user:geheim@proxy:1080', 'http://', 'a b:geheim'])('%j is refused, and not shown', (https) => {
  expect(() => createProxyChoice({ https })).toThrow(
    /^Cannot use the proxy of HTTPS_PROXY: it is not the URL of an HTTP proxy$/,
  );
});
