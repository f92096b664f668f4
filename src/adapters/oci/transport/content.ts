import { createHash } from 'node:crypto';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { WireAnswer } from './exchange.ts';
import { RegistryFailure } from './failure.ts';

/** The digest of content, by the algorithm of another digest, or sha256 without one. */
export function digestOf(content: Buffer, like: Digest | undefined): Digest {
  const algorithm = like?.startsWith('sha512:') === true ? 'sha512' : 'sha256';
  return `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;
}

/** Throws `registry-invalid` unless the content has the requested digest. */
export function verify({ body, headers }: WireAnswer, digest: Digest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new RegistryFailure('registry-invalid', 'it sent compressed content, which was not requested');
  if (digestOf(body, digest) !== digest)
    throw new RegistryFailure('registry-invalid', `its content does not have the digest ${digest}`);
}
