import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { formatHealthProbe, type HealthProbe, parseHealthProbe, probeTitle } from './label-values.ts';

const port = fc.integer({ min: 1, max: 65_535 });
const pathCharacter = fc.constantFrom(..."azAZ09-._~!$&'()*+,;=:@%/?");
const path = fc.string({ unit: pathCharacter, maxLength: 200 }).map((rest) => `/${rest}`);
const command = fc
  .string({ minLength: 1, maxLength: 200 })
  .map((text) => text.replaceAll('\0', '').trim())
  .filter((text) => text !== '');
const probe: fc.Arbitrary<HealthProbe> = fc.oneof(
  fc.constant({ kind: 'none' } as const),
  fc.record({ kind: fc.constant('http' as const), port, path }),
  fc.record({ kind: fc.constant('tcp' as const), port }),
  fc.record({ kind: fc.constant('exec' as const), command }),
);

describe('parseHealthProbe()', () => {
  test.each<[string, HealthProbe]>([
    ['http://:8080/healthz', { kind: 'http', port: 8080, path: '/healthz' }],
    ['http://:80', { kind: 'http', port: 80, path: '/' }],
    [' http://:1/a?b=c&d ', { kind: 'http', port: 1, path: '/a?b=c&d' }],
    ['tcp://:5432', { kind: 'tcp', port: 5432 }],
    ['exec: pg_isready -q', { kind: 'exec', command: 'pg_isready -q' }],
    ['none', { kind: 'none' }],
  ])('reads %j', (text, expected) => {
    expect(parseHealthProbe(text)).toEqual(expected);
  });

  test.each([
    '',
    'http://',
    'http://:0/',
    'http://:65536/',
    'http://:080/',
    'http://:+80/',
    'http://:80?a',
    'http://:80#a',
    'http://:80@evil.test/',
    'http://evil.test:80/',
    'http://127.0.0.1:80/',
    'http://user:password@:80/',
    'http://:80/a b',
    'http://:80/a\r\nHost: evil',
    'http://:80/a\\b',
    'http://:80/%00\0',
    'https://:443/',
    'HTTP://:80/',
    'tcp://:5432/',
    'tcp://db:5432',
    'tcp://169.254.169.254:80',
    'exec:',
    'exec: \t',
    'exec:a\0b',
    `exec:${'a'.repeat(4096)}`,
    'off',
  ])('refuses %j', (text) => {
    expect(parseHealthProbe(text)).toBeUndefined();
  });

  test('reads back what formatHealthProbe() wrote', () => {
    fc.assert(
      fc.property(probe, (one) => {
        expect(parseHealthProbe(formatHealthProbe(one))).toEqual(one);
      }),
    );
  });

  test('never lets a host in, whatever it is called', () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.webAuthority(),
    );
    fc.assert(
      fc.property(fc.constantFrom('http', 'tcp'), host, port, path, (scheme, name, number, rest) => {
        expect(parseHealthProbe(`${scheme}://${name}:${number}${rest}`)).toBeUndefined();
        expect(parseHealthProbe(`${scheme}://:${number}@${name}`)).toBeUndefined();
      }),
    );
  });

  test('leaves nothing in a path that could end a request line', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 40 }), (text) => {
        const read = parseHealthProbe(`http://:80/${text}`);
        // A trailing space is not part of the path.
        if (read?.kind === 'http') expect(read.path).toMatch(/^\/[!-~]*$/);
      }),
    );
  });
});

describe('probeTitle()', () => {
  test.each([
    ['http://:80/ready?token=hunter2', 'http://:80/ready'],
    ['tcp://:5432', 'tcp://:5432'],
    ['exec:psql --password hunter2', 'exec'],
  ])('says what may be shown of %j', (text, expected) => {
    const read = parseHealthProbe(text);
    expect(read && probeTitle(read)).toBe(expected);
  });
});
