import { createHash } from 'node:crypto';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { WireAnswer } from './exchange.ts';
import { RegistryFailure } from './failure.ts';

/** The digest of a content, by the algorithm of another digest; sha256 where there is none. */
export function digestOf(content: Buffer, like: Digest | undefined): Digest {
  const algorithm = like?.startsWith('sha512:') === true ? 'sha512' : 'sha256';
  return `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;
}

/** Throws `registry-invalid` unless the content is the one that was asked for. */
export function verify({ body, headers }: WireAnswer, digest: Digest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new RegistryFailure('registry-invalid', 'it sent compressed what was not asked for so');
  if (digestOf(body, digest) !== digest)
    throw new RegistryFailure('registry-invalid', `its content does not have the digest ${digest}`);
}
