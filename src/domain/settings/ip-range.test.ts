import { BlockList, isIP, SocketAddress } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatIpAddress, parseIpAddress, parseIpRange, readAddressList } from './http-settings.ts';

describe('parseIpAddress()', () => {
  test('reads what Node calls an IP address, and nothing else', () => {
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdefF:.:'), maxLength: 24 }),
    );
    fc.assert(
      fc.property(text, (address) => {
        expect(parseIpAddress(address) !== undefined).toBe(isIP(address) !== 0);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    '',
    ' 1.2.3.4',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '1::2::3',
    ':::',
    '1:2:3:4:5:6:7:8:9',
    '[::1]',
    'localhost',
  ])('refuses %j', (text) => expect(parseIpAddress(text)).toBeUndefined());

  test('takes an address of IPv4 inside IPv6 for the IPv4 address it is, and drops a zone', () => {
    expect(parseIpAddress('::ffff:10.0.0.1')).toEqual(parseIpAddress('10.0.0.1'));
    expect(parseIpAddress('fe80::1%eth0')).toEqual(parseIpAddress('fe80::1'));
  });
});

describe('formatIpAddress()', () => {
  test('spells every address the way Node does', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const address = parseIpAddress(text);
        if (address?.bits !== 128 || address.value >> 32n === 0n) return;
        expect(formatIpAddress(address)).toBe(new SocketAddress({ address: text, family: 'ipv6' }).address);
      }),
      { numRuns: 1000 },
    );
  });

  test('reads back as the same address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = parseIpAddress(text);
        expect(address && parseIpAddress(formatIpAddress(address))).toEqual(address);
      }),
    );
  });
});

describe('readAddressList()', () => {
  test('agrees with Node about ranges of both families', () => {
    const v4 = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }), fc.ipV4(), fc.constant('ipv4' as const));
    const v6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }), fc.ipV6(), fc.constant('ipv6' as const));
    fc.assert(
      fc.property(fc.oneof(v4, v6), ([network, prefix, address, family]) => {
        const range = parseIpRange(`${network}/${prefix}`);
        const one = parseIpAddress(address);
        if (range === undefined || one === undefined || range.address.bits !== one.bits) return;
        if (family === 'ipv6' && one.bits === 32) return;
        const list = new BlockList();
        list.addSubnet(network, prefix, family);
        expect(readAddressList([`${network}/${prefix}`], new BlockList()).contains(address)).toBe(
          list.check(address, family),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.0.0.1', '10.0.0.1', true],
    ['::ffff:10.0.0.9', '10.0.0.0/24', true],
    ['10.0.0.9', '::ffff:10.0.0.0/120', true],
    ['::1', '0.0.0.0/0', false],
    ['2001:db8::1', '2001:db8::/32', true],
  ])('%s in %s: %s', (address, range, expected) => {
    expect(readAddressList([range], new BlockList()).contains(address)).toBe(expected);
  });

  test.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '::/129', 'lan', '::ffff:10.0.0.0/80'])(
    'no range: %j',
    (text) => expect(parseIpRange(text)).toBeUndefined(),
  );
});
