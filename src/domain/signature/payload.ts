import { isDigest, type Digest } from '../reference/digest.ts';

/** Subject of a signature: a digest, and the image name at signing, `ghcr.io/team/app`. */
export type SignedPayload = { readonly digest: Digest; readonly name: string };

/**
 * Reads the payload of simple signing, the format of cosign:
 * https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#payload. The fault completes "not signed by
 * NAME: ".
 */
export function readSignedPayload(payload: Uint8Array): SignedPayload | { readonly fault: string } {
  const critical = fieldOf(parse(payload), 'critical');
  if (fieldOf(critical, 'type') !== cosignType) return { fault: 'its signature is not that of an image' };
  const digest = fieldOf(fieldOf(critical, 'image'), 'docker-manifest-digest');
  const name = fieldOf(fieldOf(critical, 'identity'), 'docker-reference');
  if (typeof digest !== 'string' || !isDigest(digest)) return { fault: 'its signature names no digest' };
  if (typeof name !== 'string' || name === '') return { fault: 'its signature names no repository' };
  return { digest, name };
}

const cosignType = 'cosign container image signature';

function parse(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    return undefined;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
