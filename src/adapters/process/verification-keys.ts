import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { FoundSignature, VerificationKey } from '../../domain/signature/signature.ts';
import { signers } from '../../domain/settings/values/versions.ts';
import { shownPath } from '../../domain/settings/values/shown-text.ts';
import { messageWithoutPath } from '../../domain/text/error-code.ts';
import { quoted } from '../../domain/text/printable.ts';

/**
 * Reads public keys in the format of `cosign public-key`: PEM with ECDSA P-256 or Ed25519. A key is named after its
 * file: `team.pub` is `team`. Throws `invalid-input` for a file without such a key, for a repeated name, and for a name
 * that `--verify-with` cannot name.
 */
export function readVerificationKeys(files: readonly string[]): readonly VerificationKey[] {
  const keys = files.map(readKey);
  for (const { name } of keys) refuseUnusableName(name);
  const twice = keys.find(({ name }, at) => keys.findIndex((other) => other.name === name) < at);
  if (twice === undefined) return keys;
  throw new ServiceError('invalid-input', `Cannot use two verification keys with the name ${quoted(twice.name)}`, {
    remedy: 'name the files of --verify-key differently: a key has the name of its file',
  });
}

/** `any.pub` would be the word for every key. */
function refuseUnusableName(name: string): void {
  const read = signers.parse(name);
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

function readKey(file: string): VerificationKey {
  const key = parseKey(readText(file), file);
  const isEdwards = key.asymmetricKeyType === 'ed25519';
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (!isEdwards && !(key.asymmetricKeyType === 'ec' && curve === 'prime256v1'))
    throw refusal(
      file,
      `it holds a key of the kind ${key.asymmetricKeyType ?? 'unknown'}, ${curve ?? 'without a curve'}`,
    );
  return {
    name: basename(file, extname(file)),
    hasSigned: (found) => hasSigned(key, isEdwards ? null : 'sha256', found),
  };
}

function hasSigned(key: KeyObject, algorithm: 'sha256' | null, { payload, signature }: FoundSignature): boolean {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return false;
  try {
    return verify(algorithm, payload, key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

/** Refuses a private key, from which Node would derive the public key. */
function parseKey(text: string, file: string): KeyObject {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw refusal(file, 'it holds a private key');
  try {
    return createPublicKey(text);
  } catch (error) {
    throw refusal(file, 'it holds no public key in PEM', error);
  }
}

function readText(file: string): string {
  try {
    if (statSync(file).size > largestKeyBytes) throw new Error(`it has more than ${largestKeyBytes} bytes`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw refusal(file, messageWithoutPath(error), error);
  }
}

const largestKeyBytes = 64 * 1024;

function refusal(file: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid-input', `Cannot read the verification key${shownPath(file)}: ${why}`, {
    remedy: 'give a public key of ECDSA P-256 or Ed25519 in PEM, as "cosign generate-key-pair" writes it to cosign.pub',
    cause,
  });
}
