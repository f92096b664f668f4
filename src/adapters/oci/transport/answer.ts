import { createHash } from 'node:crypto';
import type { Digest } from '../../../domain/image/image-reference.ts';
import type { WireAnswer } from '../../http/exchange.ts';
import { cut, HttpFailure } from '../../http/failure.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf } from '../../../domain/text/json.ts';

/** Throws for every status but 200; `missing` completes the message of a 404. */
export function requireFound(answer: WireAnswer, missing: string): void {
  const { status } = answer;
  if (status === 200) return;
  const said = errorTextOf(answer);
  const words = said === '' ? '' : ` (${said})`;
  if (status === 404) throw new HttpFailure('not-found', `${missing}${words}`);
  throw new HttpFailure(status >= 500 ? 'unreachable' : 'invalid', `it answered with status ${status}${words}`);
}

/** Throws `registry-invalid` unless the content has the requested digest. */
export function verify({ body, headers }: WireAnswer, digest: Digest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new HttpFailure('invalid', 'it sent compressed content, which was not requested');
  if (digestOf(body, digest) !== digest)
    throw new HttpFailure('invalid', `its content does not have the digest ${digest}`);
}

/** The digest of content, by the algorithm of another digest, or sha256 without one. */
export function digestOf(content: Buffer, like?: Digest): Digest {
  const algorithm = like?.startsWith('sha512:') === true ? 'sha512' : 'sha256';
  return `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;
}

/**
 * Error text of an answer, cut for a message; empty without one. Registries send a list
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes). Token servers send the same, or
 * a field `details`, `error_description` or `message`.
 */
export function errorTextOf(answer: Pick<WireAnswer, 'body' | 'showable'>): string {
  return answer.showable(rawErrorTextOf(answer));
}

/** The same text unchanged, for parsing and not for display. */
export function rawErrorTextOf({ body }: Pick<WireAnswer, 'body'>): string {
  const parsed = parseJsonObject(body);
  if (parsed === undefined) return '';
  const listed = arrayOf(parsed['errors']).map((error) => messageOf(objectOf(error)));
  return cut([...listed, messageOf(parsed)].filter((text) => text !== '').join('; '));
}

function messageOf(error: Readonly<Record<string, unknown>> | undefined): string {
  for (const field of ['message', 'error_description', 'details', 'error', 'code']) {
    const text = stringOf(error?.[field])?.trim();
    if (text !== undefined && text !== '') return text;
  }
  return '';
}
