import { type AsymmetricKeyDetails, createPublicKey, verify, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { ServiceError, messageWithoutPath } from '../../domain/text/errors.ts';
import type { VerificationKey } from '../../domain/image/signature.ts';
import { versionKinds } from '../../domain/settings/values/versions.ts';
import { shownPath } from '../../domain/text/hidden-secrets.ts';
import { quoted } from '../../domain/text/printable.ts';

/**
 * Reads public keys in PEM, as `cosign public-key` writes them, of the kinds in `algorithmsOf`. The keys of a file share
 * its name: `team.pub` is `team`. Throws `invalid-input` for a file with anything else in PEM, for a repeated name, and
 * for a name that `--verify-with` cannot name.
 */
export async function readVerificationKeys(files: readonly string[]): Promise<readonly VerificationKey[]> {
  const keys = await Promise.all(files.map(readFile));
  for (const { name } of keys) refuseUnusableName(name);
  const twice = keys.find(({ name }, at) => keys.findIndex((other) => other.name === name) < at);
  if (twice === undefined) return keys;
  throw new ServiceError('invalid-input', `Cannot use two verification keys with the name ${quoted(twice.name)}`, {
    remedy: 'name the files of --verify-key differently: a key has the name of its file',
  });
}

/** `any.pub` would be the word for every key. */
function refuseUnusableName(name: string): void {
  const read = versionKinds.signers.parse(name);
  if (read?.kind === 'keys' && read.names[0] === name) return;
  throw new ServiceError(
    'invalid-input',
    `Cannot use a verification key with the name ${quoted(name)}: --verify-with cannot name it`,
    {
      remedy:
        'rename the file: a key has the name of its file; any and off have meanings of their own, and a comma separates names',
    },
  );
}

async function readFile(file: string): Promise<VerificationKey> {
  const keys = await Promise.all(keysIn(readText(file), file).map((key) => checkerOf(key, file)));
  return {
    name: basename(file, extname(file)),
    hasSigned: (content, text) => {
      const signature = Buffer.from(text, 'base64');
      return signature.toString('base64') === text && keys.some((isSigned) => isSigned(content, signature));
    },
  };
}

/** Node would take the first block alone, and derive a public key from a private key or a certificate. */
function keysIn(text: string, file: string): readonly KeyObject[] {
  const blocks = [...text.matchAll(/-----BEGIN ([^\n-]*)-----[^-]*-----END \1-----/g)];
  const kinds = [...text.matchAll(/-----BEGIN ([^\n-]*)-----/g)].map(([, kind = '']) => kind);
  if (kinds.some((kind) => kind.endsWith('PRIVATE KEY'))) throw refusal(file, 'it holds a private key');
  if (kinds.some((kind) => kind.endsWith('CERTIFICATE')))
    throw refusal(file, 'it holds a certificate, which is no key');
  const isWhole = blocks.length === kinds.length && kinds.every((kind) => publicKinds.has(kind));
  if (blocks.length === 0 || !isWhole) throw refusal(file, 'it holds no public key in PEM, or something else besides');
  try {
    return blocks.map(([block]) => createPublicKey(block));
  } catch (error) {
    throw refusal(file, 'it holds no public key in PEM', error);
  }
}

const publicKinds: ReadonlySet<string> = new Set(['PUBLIC KEY', 'RSA PUBLIC KEY']);

type Checker = (content: Uint8Array, signature: Buffer) => boolean;

async function checkerOf(key: KeyObject, file: string): Promise<Checker> {
  const { asymmetricKeyType: kind = 'unknown', asymmetricKeyDetails: details = {} } = key;
  if (kind === 'ed25519') return edwardsChecker(key);
  if (kind === 'rsa') refuseWeakKey(details, file);
  const algorithms = algorithmsOf.get(kind === 'ec' ? (details.namedCurve ?? '') : kind);
  if (algorithms === undefined) throw refusal(file, `it holds a key of the kind ${details.namedCurve ?? kind}`);
  return (content, signature) => algorithms.some((algorithm) => isValid(algorithm, content, key, signature));
}

/**
 * The hashes that signers use, by curve or kind. cosign uses the hash of the curve's size; older tools use SHA-256 with
 * each. RSA is with the padding of PKCS #1 1.5.
 */
const algorithmsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ['prime256v1', ['sha256']],
  ['secp384r1', ['sha384', 'sha256']],
  ['secp521r1', ['sha512', 'sha256']],
  ['rsa', ['sha256']],
]);

/** The limits of Go's libraries, which cosign uses: https://pkg.go.dev/crypto/rsa#hdr-Minimum_key_size and TLS. */
function refuseWeakKey({ modulusLength: bits = 0, publicExponent = 0n }: AsymmetricKeyDetails, file: string): void {
  if (bits < 2048 || bits > 8192) throw refusal(file, `it holds an RSA key of ${bits} bits, outside 2048 to 8192`);
  if (publicExponent < 65_537n) throw refusal(file, `it holds an RSA key with the exponent ${publicExponent}`);
}

/** cosign signs a hash of the content (Ed25519ph), which Node cannot verify; other tools sign the content. */
async function edwardsChecker(key: KeyObject): Promise<Checker> {
  const { ed25519ph } = await import('@noble/curves/ed25519.js');
  const point = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  return (content, signature) =>
    isValid(null, content, key, signature) || (signature.length === 64 && ed25519ph.verify(signature, content, point));
}

function isValid(algorithm: string | null, content: Uint8Array, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(algorithm, content, key, signature);
  } catch {
    return false;
  }
}

function readText(file: string): string {
  try {
    if (statSync(file).size > maxKeyBytes) throw new Error(`it has more than ${maxKeyBytes} bytes`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw refusal(file, messageWithoutPath(error), error);
  }
}

const maxKeyBytes = 64 * 1024;

function refusal(file: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid-input', `Cannot read the verification key${shownPath(file)}: ${why}`, {
    remedy:
      'give public keys in PEM, of ECDSA (P-256, P-384, P-521), RSA or Ed25519, as "cosign generate-key-pair" writes one to cosign.pub',
    cause,
  });
}
