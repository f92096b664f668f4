import { isDigest, type Digest } from '../../../domain/reference/digest.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf } from '../../../domain/text/json-value.ts';

/** The digest of a payload, and its signature in base64. */
export type SignatureLayer = { readonly payload: Digest; readonly signature: string };

/** Digests of manifests with cosign signatures, from an index of referrers. */
export function signatureManifestsIn(body: Buffer): readonly Digest[] {
  const entries = arrayOf(parseJsonObject(body)?.['manifests']).map(objectOf);
  return entries
    .filter((entry) => stringOf(entry?.['artifactType']) === signatureArtifact)
    .flatMap((entry) => digestIn(entry?.['digest']));
}

/**
 * The signatures in a cosign manifest. Empty for other manifests:
 * https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#storage
 */
export function signatureLayersIn(body: Buffer): readonly SignatureLayer[] {
  const layers = arrayOf(parseJsonObject(body)?.['layers']).map(objectOf);
  return layers
    .filter((layer) => stringOf(layer?.['mediaType']) === payloadType)
    .flatMap((layer) => {
      const signature = stringOf(objectOf(layer?.['annotations'])?.[signatureAnnotation]) ?? '';
      const isSound = signature !== '' && signature.length <= longestSignature;
      return isSound ? digestIn(layer?.['digest']).map((payload) => ({ payload, signature })) : [];
    });
}

/** The type of an artifact whose subject is the signed image. */
export const signatureArtifact = 'application/vnd.dev.cosign.artifact.sig.v1+json';

const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';

const signatureAnnotation = 'dev.cosignproject.cosign/signature';

/** ECDSA P-256 takes 96 characters, Ed25519 takes 88. */
const longestSignature = 1024;

function digestIn(value: unknown): readonly Digest[] {
  return typeof value === 'string' && isDigest(value) ? [value] : [];
}
