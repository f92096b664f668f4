import { constants, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: KeyObject) => key.export(spki).toString();
const curve = (namedCurve: string) => pem(generateKeyPairSync('ec', { namedCurve }).publicKey);

test('a key has the name of its file, and proves its own signatures alone', async () => {
  const [team, other] = [makeCosignKey('team'), makeCosignKey('other.key', 'ed25519')];
  const keys = await readVerificationKeys([team.file, other.file]);
  expect(keys.map(({ name }) => name)).toEqual(['team', 'other.key']);
  const { payload, signature } = team.signBytes(Buffer.from('x'));
  expect(keys.map(({ hasSigned }) => hasSigned(payload, signature))).toEqual([true, false]);
  expect(await readVerificationKeys([])).toEqual([]);
});

test.each([
  ['RSA with 2048 bits', rsa, ['sha256']],
  ['RSA with 3072 bits', generateKeyPairSync('rsa', { modulusLength: 3072 }), ['sha256']],
  ['P-256', ec, ['sha256']],
  ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' }), ['sha256', 'sha384']],
  ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' }), ['sha256', 'sha512']],
] as const)('a key of %s has signed what its hashes say', async (_, { publicKey, privateKey }, hashes) => {
  const [key] = await readVerificationKeys([fileWith(pem(publicKey))]);
  const content = Buffer.from('content');
  const signed = ['sha1', 'sha256', 'sha384', 'sha512'].filter((hash) =>
    key?.hasSigned(content, sign(hash, content, privateKey).toString('base64')),
  );
  expect(signed).toEqual(hashes);
});

test('an RSA signature with another padding is none', async () => {
  const [key] = await readVerificationKeys([fileWith(pem(rsa.publicKey))]);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  const signature = sign('sha256', Buffer.from('x'), { key: rsa.privateKey, padding }).toString('base64');
  expect(key?.hasSigned(Buffer.from('x'), signature)).toBe(false);
});

test('a key of Ed25519 has signed the content itself, or its hash as cosign signs it', async () => {
  // RFC 8032, section 7.3: Ed25519ph of "abc".
  const point = Buffer.from('ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf', 'hex');
  const hashed =
    '98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae4131f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406';
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') },
    format: 'jwk',
  });
  const [key] = await readVerificationKeys([fileWith(pem(publicKey))]);
  const signature = Buffer.from(hashed, 'hex').toString('base64');
  expect(key?.hasSigned(Buffer.from('abc'), signature)).toBe(true);
  expect(key?.hasSigned(Buffer.from('abd'), signature)).toBe(false);
  expect(key?.hasSigned(Buffer.from('abc'), Buffer.alloc(64).toString('base64'))).toBe(false);
  expect(key?.hasSigned(Buffer.from('abc'), 'AAAA')).toBe(false);
});

test('each key of a file counts, under the name of the file', async () => {
  const keys = (['ec', 'rsa', 'ed25519'] as const).map((kind) => makeCosignKey('one', kind));
  const texts = keys.map(({ file }) => readFileSync(file, 'utf8'));
  const pkcs1 = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const file = fileWith(`The keys of the team:\n${texts.join('\r\n# the next one\n')}\n${pkcs1}`, 'team.pub');
  const [team, ...others] = await readVerificationKeys([file]);
  expect([team?.name, others]).toEqual(['team', []]);
  for (const key of keys) {
    const { payload, signature } = key.signBytes(Buffer.from('x'));
    expect(team?.hasSigned(payload, signature)).toBe(true);
  }
  const signature = sign('sha256', Buffer.from('x'), rsa.privateKey).toString('base64');
  expect(team?.hasSigned(Buffer.from('x'), signature)).toBe(true);
  const stranger = makeCosignKey('stranger').signBytes(Buffer.from('x'));
  expect(team?.hasSigned(stranger.payload, stranger.signature)).toBe(false);
});

const certificate = readFileSync(new URL('../../../test/fixtures/tls/ca.pem', import.meta.url), 'utf8');
const privateText = ec.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const publicText = pem(ec.publicKey);
const something = 'it holds no public key in PEM, or something else besides';

test.each([
  ['nothing', '', something],
  ['a text', 'ssh-ed25519 AAAA', something],
  ['a private key', privateText, 'it holds a private key'],
  ['a private key behind a public one', publicText + privateText, 'it holds a private key'],
  [
    'an encrypted private key of cosign',
    privateText.replaceAll(' PRIVATE', ' ENCRYPTED SIGSTORE PRIVATE'),
    'it holds a private key',
  ],
  ['a certificate', certificate, 'it holds a certificate, which is no key'],
  [
    'a trusted certificate',
    certificate.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE'),
    'it holds a certificate, which is no key',
  ],
  ['a key and a certificate', publicText + certificate, 'it holds a certificate, which is no key'],
  [
    'a key and something else',
    `${publicText}-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----\n`,
    something,
  ],
  ['a key and half of another', publicText + publicText.slice(0, 80), something],
  ['a key whose end has another name', publicText.replace('END PUBLIC', 'END RSA PUBLIC'), something],
  ['a key that is none', publicText.replace(/\n.*\n/, '\nAAAA\n'), 'it holds no public key in PEM'],
  [
    'a short RSA key',
    pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey),
    'it holds an RSA key of 1024 bits, outside 2048 to 8192',
  ],
  [
    'an RSA key with a small exponent',
    pem(generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).publicKey),
    'it holds an RSA key with the exponent 3',
  ],
  [
    'a key of RSA-PSS',
    pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey),
    'it holds a key of the kind rsa-pss',
  ],
  ['a key of secp256k1', curve('secp256k1'), 'it holds a key of the kind secp256k1'],
  ['a key of Ed448', pem(generateKeyPairSync('ed448').publicKey), 'it holds a key of the kind ed448'],
  ['a key of X25519', pem(generateKeyPairSync('x25519').publicKey), 'it holds a key of the kind x25519'],
  ['a good key and a bad one', publicText + curve('secp256k1'), 'it holds a key of the kind secp256k1'],
  ['too much', Buffer.alloc(70_000), 'it has more than 65536 bytes'],
])('a file with %s is refused, with the remedy and without its content', async (_, text, why) => {
  const file = fileWith(text);
  await expect(readVerificationKeys([file])).rejects.toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      message: `Cannot read the verification key "${file}": ${why}`,
      remedy: expect.stringContaining('cosign generate-key-pair') as unknown,
    }) as Error,
  );
});

test.each(['any.pub', 'OFF.pem', 'a,b.pub'])(
  'a key called %s is refused, because --verify-with cannot name it',
  async (name) => {
    const file = fileWith(ec.publicKey.export(spki), name);
    await expect(readVerificationKeys([file])).rejects.toThrow(
      /^Cannot use a verification key with the name ".*": --verify-with/,
    );
  },
);

test('a key in place of the name of its file is not shown', async () => {
  await expect(readVerificationKeys([privateText])).rejects.toThrow(
    /^Cannot read the verification key: ENOENT: no such file or directory$/,
  );
});

test('a file that is not there, and two of one name, are refused', async () => {
  await expect(readVerificationKeys([join(folder, 'missing.pub')])).rejects.toThrow(
    /^Cannot read the verification key .*ENOENT/,
  );
  const twice = [fileWith(ec.publicKey.export(spki), 'a.pub'), fileWith(ec.publicKey.export(spki), 'a.pem')];
  await expect(readVerificationKeys(twice)).rejects.toThrow('Cannot use two verification keys with the name "a"');
});
