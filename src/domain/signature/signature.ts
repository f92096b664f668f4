import { type Digest, isDigest } from '../reference/digest.ts';
import {
  familiarReference,
  sameRepository,
  tryParseImageReference,
  type ImageReference,
} from '../reference/image-reference.ts';
import { quoted } from '../text/printable.ts';

/** A signature stored beside an image, not verified. */
export type FoundSignature = {
  /** The signed bytes. */
  readonly payload: Uint8Array;
  /** In base64. */
  readonly signature: string;
};

/** A public key of `--verify-key`. */
export type VerificationKey = {
  readonly name: string;
  /** Whether the key has signed these bytes. False for a malformed signature. */
  readonly hasSigned: (found: FoundSignature) => boolean;
};

/** `key`: the name of the key. `why` completes "not signed by NAME: ". */
export type SignatureVerdict =
  | { readonly kind: 'signed'; readonly key: string }
  | { readonly kind: 'unsigned'; readonly why: string };

export type SignatureQuestion = {
  readonly reference: ImageReference;
  /** Digests of the image: of the index, or of the manifest for the platform. */
  readonly digests: readonly Digest[];
  readonly found: readonly FoundSignature[];
  /** One of these keys is enough. */
  readonly keys: readonly VerificationKey[];
};

/**
 * Whether one of the keys has signed this digest under this repository's name. A signature of another digest, or of the
 * same digest in another repository, proves nothing here. Without keys nothing counts as signed.
 */
export function judgeSignatures({ reference, digests, found, keys }: SignatureQuestion): SignatureVerdict {
  let why = 'it has no signature';
  for (const each of found) {
    const key = keys.find(({ hasSigned }) => hasSigned(each));
    const fault = key === undefined ? 'none of its signatures is of that key' : faultOf(each, reference, digests);
    if (key !== undefined && fault === undefined) return { kind: 'signed', key: key.name };
    // A fault in a signature of the right key is more specific than signatures of other keys.
    if (fault !== undefined && (key !== undefined || why === 'it has no signature')) why = fault;
  }
  return { kind: 'unsigned', why };
}

function faultOf(
  { payload }: FoundSignature,
  reference: ImageReference,
  digests: readonly Digest[],
): string | undefined {
  const signed = readSignedPayload(payload);
  if ('fault' in signed) return signed.fault;
  if (!digests.includes(signed.digest)) return `its signature is of another digest, ${signed.digest}`;
  const named = tryParseImageReference(signed.name);
  if (named === undefined) return 'its signature names no repository';
  return sameRepository(named, reference)
    ? undefined
    : `its signature is of another repository, ${quoted(familiarReference({ ...named, tag: undefined, digest: undefined }), 300)}`;
}

/** Subject of a signature: a digest, and the image name at signing, `ghcr.io/team/app`. */
type SignedPayload = { readonly digest: Digest; readonly name: string };

/**
 * Reads the payload of simple signing, the format of cosign:
 * https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#payload. The fault completes "not signed by
 * NAME: ".
 */
function readSignedPayload(payload: Uint8Array): SignedPayload | { readonly fault: string } {
  const critical = fieldOf(parse(payload), 'critical');
  if (fieldOf(critical, 'type') !== cosignType) return { fault: 'its signature is not for an image' };
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
