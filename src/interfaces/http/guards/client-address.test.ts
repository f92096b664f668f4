import { describe, expect, test } from 'vitest';
import { createClientReader } from './clients.ts';

describe('createClientReader()', () => {
  test.each([
    ['nothing is trusted: the peer', [], {}, '203.0.113.9', '203.0.113.9'],
    ['nothing is trusted: no header counts', [], { 'x-forwarded-for': '1.1.1.1' }, '203.0.113.9', '203.0.113.9'],
    ['the peer is no proxy', ['10.0.0.0/8'], { 'x-forwarded-for': '1.1.1.1' }, '203.0.113.9', '203.0.113.9'],
    ['the peer is a proxy', ['10.0.0.0/8'], { 'x-forwarded-for': '1.1.1.1' }, '10.0.0.1', '1.1.1.1'],
    ['spoofed addresses stand left', ['10.0.0.0/8'], { 'x-forwarded-for': '9.9.9.9, 1.1.1.1' }, '10.0.0.1', '1.1.1.1'],
    ['a chain of proxies', ['10.0.0.0/8'], { 'x-forwarded-for': '9.9.9.9, 1.1.1.1, 10.0.0.7' }, '10.0.0.1', '1.1.1.1'],
    ['all are proxies: the first', ['10.0.0.0/8'], { 'x-forwarded-for': '10.0.0.3, 10.0.0.2' }, '10.0.0.1', '10.0.0.3'],
    ['no header', ['10.0.0.0/8'], {}, '10.0.0.1', '10.0.0.1'],
    ['garbage', ['10.0.0.0/8'], { 'x-forwarded-for': 'unknown' }, '10.0.0.1', '10.0.0.1'],
    ['garbage on the way', ['10.0.0.0/8'], { 'x-forwarded-for': '1.1.1.1, x, 10.0.0.2' }, '10.0.0.1', '10.0.0.1'],
    ['an empty item', ['10.0.0.0/8'], { 'x-forwarded-for': '1.1.1.1,,' }, '10.0.0.1', '10.0.0.1'],
    ['with ports', ['10.0.0.0/8'], { 'x-forwarded-for': '1.1.1.1:99' }, '10.0.0.1', '1.1.1.1'],
    ['IPv6 with a port', ['10.0.0.0/8'], { 'x-forwarded-for': '[2001:DB8::1]:99' }, '10.0.0.1', '2001:db8::1'],
    [
      'a peer of IPv4 on a socket of IPv6',
      ['10.0.0.0/8'],
      { 'x-forwarded-for': '1.1.1.1' },
      '::ffff:10.0.0.1',
      '1.1.1.1',
    ],
    ['an IPv6 proxy', ['fd00::/8'], { 'x-forwarded-for': '1.1.1.1' }, 'fd00::1', '1.1.1.1'],
    ['one address is trusted', ['10.0.0.1'], { 'x-forwarded-for': '1.1.1.1' }, '10.0.0.2', '10.0.0.2'],
    ['a peer of IPv4 in IPv6 clothes', [], {}, '::ffff:203.0.113.9', '203.0.113.9'],
  ])('%s', (_, trustedProxies, headers, peer, expected) => {
    expect(read({ trustedProxies, headers, peer }).address).toBe(expected);
  });

  test('reads the header that it is told to', () => {
    const headers = { 'x-forwarded-for': '1.1.1.1', 'cf-connecting-ip': '2.2.2.2' };
    const proxyHeader = 'CF-Connecting-IP';
    expect(read({ trustedProxies: ['10.0.0.1'], headers, peer: '10.0.0.1', proxyHeader }).address).toBe('2.2.2.2');
  });

  test.each([
    [['10.0.0.1'], 'https', 'https'],
    [['10.0.0.1'], 'HTTPS, http', 'https'],
    [['10.0.0.1'], 'gopher', 'http'],
    [[], 'https', 'http'],
    [['10.0.0.2'], 'https', 'http'],
  ])('with the proxies %j, X-Forwarded-Proto %s means %s', (trustedProxies, value, expected) => {
    const headers = { 'x-forwarded-proto': value };
    expect(read({ trustedProxies, headers, peer: '10.0.0.1' }).scheme).toBe(expected);
  });

  test('a TLS socket is https by itself', () => {
    expect(read({ trustedProxies: [], headers: {}, peer: '10.0.0.1', encrypted: true }).scheme).toBe('https');
  });
});

type Scene = {
  readonly trustedProxies: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly peer: string;
  readonly proxyHeader?: string;
  readonly encrypted?: boolean;
};

function read({ trustedProxies, headers, peer, proxyHeader = 'X-Forwarded-For', encrypted = false }: Scene) {
  const request = { headers, socket: { remoteAddress: peer, encrypted } };
  return createClientReader({ trustedProxies, proxyHeader })(request as never);
}
