import type { Digest } from '../../../domain/image/image-reference.ts';
import type { FoundSignature } from '../../../domain/image/signature.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf, doubtIn, type JsonObject } from '../../../domain/text/json.ts';
import { quoted } from '../../../domain/text/printable.ts';

/** `manifest`: the signature is over the image's manifest, which the bundle does not contain. */
export type BundleContent =
  | Extract<FoundSignature, { kind: 'statement' | 'unreadable' }>
  | {
      readonly kind: 'manifest';
      readonly signature: string;
      readonly isKeyless: boolean;
      readonly digest: Digest | undefined;
    };

/** The media types of bundles begin with this. */
export const bundleTypes = 'application/vnd.dev.sigstore.bundle';

/** The type that cosign 3 writes. */
export const bundleType = `${bundleTypes}.v0.3+json`;

/**
 * Reads a Sigstore bundle: https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto. Timestamps,
 * transparency logs and the hint of the key are not used: the signature itself tells the key.
 */
export function readBundle(body: Buffer): BundleContent {
  const text = body.toString();
  const fields = parseJsonObject(text);
  if (fields === undefined) return unreadable('its bundle is not JSON');
  const doubt = doubtIn(text);
  if (doubt !== undefined) return unreadable(`its bundle can be read in two ways: ${doubt}`);
  const type = stringOf(fields['mediaType']) ?? '';
  if (!knownTypes.has(type)) return unreadable(`its bundle has the unknown type ${quoted(type, 100)}`);
  const material = objectOf(fields['verificationMaterial']);
  const isKeyless = objectOf(material?.['publicKey']) === undefined;
  if (isKeyless && !certificates.some((name) => objectOf(material?.[name]) !== undefined))
    return unreadable('its bundle names neither a key nor a certificate');
  const envelope = objectOf(fields['dsseEnvelope']);
  const message = objectOf(fields['messageSignature']);
  if ((envelope === undefined) === (message === undefined))
    return unreadable('its bundle has no signature, or two kinds of them');
  return envelope === undefined ? readMessage(message, isKeyless) : readEnvelope(envelope, isKeyless);
}

/** The earlier types have the same fields for signatures of keys. */
const knownTypes: ReadonlySet<string> = new Set([
  bundleType,
  ...['0.1', '0.2', '0.3'].map((version) => `${bundleTypes}+json;version=${version}`),
]);

const certificates = ['certificate', 'x509CertificateChain'] as const;

/** An envelope may have several signatures, a bundle's has one. */
function readEnvelope(envelope: JsonObject, isKeyless: boolean): BundleContent {
  const signatures = arrayOf(envelope['signatures']).map(objectOf);
  if (signatures.length !== 1) return unreadable(`its bundle has ${signatures.length} signatures instead of one`);
  const [signature, payload] = [base64In(signatures[0]?.['sig']), base64In(envelope['payload'])];
  const payloadType = stringOf(envelope['payloadType']);
  if (signature === undefined || payload === undefined || payloadType === undefined)
    return unreadable('its bundle lacks a signature, or what was signed');
  return { kind: 'statement', payloadType, payload: Buffer.from(payload, 'base64'), signature, isKeyless };
}

function readMessage(message: JsonObject | undefined, isKeyless: boolean): BundleContent {
  const signature = base64In(message?.['signature']);
  if (signature === undefined) return unreadable('its bundle lacks a signature');
  const hash = objectOf(message?.['messageDigest']);
  if (hash === undefined) return { kind: 'manifest', signature, isKeyless, digest: undefined };
  const bytes = base64In(hash['digest']);
  if (hash['algorithm'] !== 'SHA2_256' || bytes === undefined)
    return unreadable('its bundle is over a digest of an unknown kind');
  return { kind: 'manifest', signature, isKeyless, digest: `sha256:${Buffer.from(bytes, 'base64').toString('hex')}` };
}

/** Base64 in its usual alphabet, with its padding. Undefined for any other text. */
function base64In(value: unknown): string | undefined {
  const text = stringOf(value) ?? '';
  return text !== '' && Buffer.from(text, 'base64').toString('base64') === text ? text : undefined;
}

function unreadable(why: string): BundleContent {
  return { kind: 'unreadable', why };
}
