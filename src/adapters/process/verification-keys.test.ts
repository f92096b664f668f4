import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeCosignKey } from '../../../test/support/registry/cosign.ts';
import { readVerificationKeys } from './verification-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(text: string | Buffer, name = 'key.pub'): string {
  const path = join(mkdtempSync(join(folder, 'of-')), name);
  writeFileSync(path, text);
  return path;
}

const spki = { type: 'spki', format: 'pem' } as const;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });

test('a key has the name of its file, and proves its own signatures alone', () => {
  const [team, other] = [makeCosignKey('team'), makeCosignKey('other.key', 'ed25519')];
  const keys = readVerificationKeys([team.file, other.file]);
  expect(keys.map(({ name }) => name)).toEqual(['team', 'other.key']);
  const signed = team.signBytes(Buffer.from('x'));
  expect(keys.map(({ hasSigned }) => hasSigned(signed))).toEqual([true, false]);
  expect(readVerificationKeys([])).toEqual([]);
});

test.each([
  ['nothing', '', 'it holds no public key in PEM'],
  ['a text', 'ssh-ed25519 AAAA', 'it holds no public key in PEM'],
  ['a private key', ec.privateKey.export({ type: 'pkcs8', format: 'pem' }), 'it holds a private key'],
  ['an RSA key', rsa.publicKey.export(spki), 'it holds a key of the kind rsa, without a curve'],
  ['a key of P-384', p384.publicKey.export(spki), 'it holds a key of the kind ec, secp384r1'],
  ['too much', Buffer.alloc(70_000), 'it has more than 65536 bytes'],
])('a file with %s is refused, with the remedy and without its content', (_, text, why) => {
  const file = fileWith(text);
  expect(() => readVerificationKeys([file])).toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      message: `Cannot read the verification key "${file}": ${why}`,
      remedy: expect.stringContaining('cosign generate-key-pair') as unknown,
    }) as Error,
  );
});

test.each(['any.pub', 'OFF.pem', 'a,b.pub'])(
  'a key called %s is refused, because --verify-with cannot name it',
  (name) => {
    const file = fileWith(ec.publicKey.export(spki), name);
    expect(() => readVerificationKeys([file])).toThrow(
      /^Cannot use a verification key with the name ".*": --verify-with/,
    );
  },
);

test('a key in place of the name of its file is not shown', () => {
  const key = ec.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(() => readVerificationKeys([key])).toThrow(
    /^Cannot read the verification key: ENOENT: no such file or directory$/,
  );
});

test('a file that is not there, and two of one name, are refused', () => {
  expect(() => readVerificationKeys([join(folder, 'missing.pub')])).toThrow(
    /^Cannot read the verification key .*ENOENT/,
  );
  const twice = [fileWith(ec.publicKey.export(spki), 'a.pub'), fileWith(ec.publicKey.export(spki), 'a.pem')];
  expect(() => readVerificationKeys(twice)).toThrow('Cannot use two verification keys with the name "a"');
});
