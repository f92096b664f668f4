import { isDigest, type Digest } from '../../domain/image/image-reference.ts';
import { hasAtMost } from './answer.ts';
import { signPredicate, type FoundSignature } from '../../domain/image/signature.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf, doubtIn, type JsonObject } from '../../domain/text/json.ts';
import { quoted } from '../../domain/text/printable.ts';

/** `manifest`: the signature is over the image's manifest, which the bundle does not contain. */
type BundleContent =
  | Extract<FoundSignature, { kind: 'statement' | 'unreadable' }>
  | {
      readonly kind: 'manifest';
      readonly signature: string;
      readonly isKeyless: boolean;
      readonly digest: Digest | undefined;
    };

/** The media types of bundles begin with this. */
const bundleTypes = 'application/vnd.dev.sigstore.bundle';

/** The type that cosign 3 writes. */
const bundleType = `${bundleTypes}.v0.3+json`;

/**
 * Reads a Sigstore bundle: https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto. Timestamps,
 * transparency logs and the hint of the key are not used: the signature itself tells the key.
 */
export function readBundle(body: Buffer): BundleContent {
  const text = body.toString();
  const fields = parseJsonObject(text);
  if (fields === undefined) return unreadableBundle('its bundle is not JSON');
  const doubt = doubtIn(text);
  if (doubt !== undefined) return unreadableBundle(`its bundle can be read in two ways: ${doubt}`);
  const type = stringOf(fields['mediaType']) ?? '';
  if (!knownTypes.has(type)) return unreadableBundle(`its bundle has the unknown type ${quoted(type, 100)}`);
  const material = objectOf(fields['verificationMaterial']);
  const isKeyless = objectOf(material?.['publicKey']) === undefined;
  if (isKeyless && !certificates.some((name) => objectOf(material?.[name]) !== undefined))
    return unreadableBundle('its bundle names neither a key nor a certificate');
  const envelope = objectOf(fields['dsseEnvelope']);
  const message = objectOf(fields['messageSignature']);
  if ((envelope === undefined) === (message === undefined))
    return unreadableBundle('its bundle has no signature, or two kinds of them');
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
  if (signatures.length !== 1) return unreadableBundle(`its bundle has ${signatures.length} signatures instead of one`);
  const [signature, payload] = [base64In(signatures[0]?.['sig']), base64In(envelope['payload'])];
  const payloadType = stringOf(envelope['payloadType']);
  if (signature === undefined || payload === undefined || payloadType === undefined)
    return unreadableBundle('its bundle lacks a signature, or what was signed');
  return { kind: 'statement', payloadType, payload: Buffer.from(payload, 'base64'), signature, isKeyless };
}

function readMessage(message: JsonObject | undefined, isKeyless: boolean): BundleContent {
  const signature = base64In(message?.['signature']);
  if (signature === undefined) return unreadableBundle('its bundle lacks a signature');
  const hash = objectOf(message?.['messageDigest']);
  if (hash === undefined) return { kind: 'manifest', signature, isKeyless, digest: undefined };
  const bytes = base64In(hash['digest']);
  if (hash['algorithm'] !== 'SHA2_256' || bytes === undefined)
    return unreadableBundle('its bundle is over a digest of an unknown kind');
  return { kind: 'manifest', signature, isKeyless, digest: `sha256:${Buffer.from(bytes, 'base64').toString('hex')}` };
}

/** Base64 in its usual alphabet, with its padding. Undefined for any other text. */
function base64In(value: unknown): string | undefined {
  const text = stringOf(value) ?? '';
  return text !== '' && Buffer.from(text, 'base64').toString('base64') === text ? text : undefined;
}

function unreadableBundle(why: string): BundleContent {
  return { kind: 'unreadable', why };
}

/** A part of a registry's content that is to be read next. */
export type ToRead =
  /** A manifest of a referrer. */
  | { readonly kind: 'manifest'; readonly digest: Digest }
  | { readonly kind: 'bundle'; readonly digest: Digest }
  /** The content that cosign 2 has signed, with its signatures. */
  | { readonly kind: 'payload'; readonly digest: Digest; readonly signatures: readonly LayerSignature[] }
  /** Nothing has to be read. */
  | { readonly kind: 'known'; readonly found: FoundSignature };

type LayerSignature = { readonly signature: string; readonly isKeyless: boolean };

/** The artifact types of signatures: of cosign 3, and of cosign 2 in its mode for referrers. */
export const signatureArtifacts = [bundleType, 'application/vnd.dev.cosign.artifact.sig.v1+json'] as const;

/** Some thousand referrers or signatures. */
const maxParts = 100_000;

/** The entries of an index of referrers. Undefined: it is none. */
export function referrersIn(body: Buffer): readonly Referrer[] | 'too many' | undefined {
  if (!hasAtMost(maxParts, body)) return 'too many';
  const entries = parseJsonObject(body)?.['manifests'];
  if (!Array.isArray(entries)) return undefined;
  return entries.map((entry) => {
    const { artifactType, digest, annotations } = { ...objectOf(entry) };
    const type = stringOf(artifactType) ?? '';
    return { type, digest: stringOf(digest) ?? '', predicateType: predicateIn(objectOf(annotations)) };
  });
}

export type Referrer = {
  readonly type: string;
  readonly digest: string;
  /** Of a bundle; a registry need not repeat it here. */
  readonly predicateType: string | undefined;
};

/**
 * The part of a referrer to read. An attestation says its kind, so it is not read: some have megabytes. Undefined: it
 * is no signature.
 */
export function referrerToRead({ type, digest, predicateType }: Referrer): ToRead | undefined {
  const isKnown: boolean = signatureArtifacts.some((known) => known === type);
  if (!isKnown && (type.startsWith(bundleTypes) || foreignSignatures.has(type)))
    return unreadable(`it is of the unknown type ${quoted(type, 100)}`);
  if (!isKnown) return undefined;
  if (isOther(predicateType)) return attestation(predicateType);
  return isDigest(digest) ? { kind: 'manifest', digest } : unreadable('the registry lists it with an invalid digest');
}

/** https://github.com/notaryproject/specifications/blob/main/specs/signature-specification.md#storage */
const foreignSignatures: ReadonlySet<string> = new Set(['application/vnd.cncf.notary.signature']);

/**
 * The part of a manifest with signatures to read. A bundle is its only layer
 * (https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md). cosign 2 has a layer for each signature
 * (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#storage).
 */
export function manifestToRead(body: Buffer): readonly ToRead[] {
  if (!hasAtMost(maxParts, body)) return [unreadable('its manifest has very many fields')];
  const manifest = parseJsonObject(body);
  if (manifest === undefined) return [unreadable('its manifest is not JSON')];
  const layers = arrayOf(manifest['layers']).map((layer): JsonObject => objectOf(layer) ?? {});
  const signed = layers.filter((layer) => layer['mediaType'] === payloadType);
  if (signed.length > 0) return payloadsIn(signed);
  const predicateType = predicateIn(objectOf(manifest['annotations']));
  const [layer] = layers;
  const digest = stringOf(layer?.['digest']) ?? '';
  const isBundle = layers.length === 1 && stringOf(layer?.['mediaType'])?.startsWith(bundleTypes) === true;
  if (!isBundle || !isDigest(digest)) return [unreadable('its manifest has no layer with a signature')];
  return [isOther(predicateType) ? attestation(predicateType) : { kind: 'bundle', digest }];
}

/** Signatures over the same payload are together, because the payload is read once. */
function payloadsIn(layers: readonly JsonObject[]): readonly ToRead[] {
  const byDigest = new Map<Digest, LayerSignature[]>();
  let isBroken = false;
  for (const { digest, annotations: given } of layers) {
    const annotations = objectOf(given) ?? {};
    const signature = stringOf(annotations[signatureAnnotation]) ?? '';
    const isKeyless = (stringOf(annotations[certificateAnnotation]) ?? '') !== '';
    const payload = stringOf(digest) ?? '';
    if (!isDigest(payload) || signature === '' || signature.length > maxSignature) isBroken = true;
    else if (byDigest.get(payload)?.push({ signature, isKeyless }) === undefined)
      byDigest.set(payload, [{ signature, isKeyless }]);
  }
  const payloads = [...byDigest].map(([digest, signatures]): ToRead => ({ kind: 'payload', digest, signatures }));
  return isBroken ? [...payloads, unreadable('its layer has no signature')] : payloads;
}

const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';

const signatureAnnotation = 'dev.cosignproject.cosign/signature';

const certificateAnnotation = 'dev.sigstore.cosign/certificate';

/** RSA with 8192 bits takes 1368 characters. */
const maxSignature = 2048;

function predicateIn(annotations: JsonObject | undefined): string | undefined {
  return stringOf(annotations?.['dev.sigstore.bundle.predicateType']);
}

function isOther(predicateType: string | undefined): predicateType is string {
  return predicateType !== undefined && predicateType !== signPredicate;
}

function attestation(predicateType: string): ToRead {
  return { kind: 'known', found: { kind: 'attestation', predicateType } };
}

function unreadable(why: string): ToRead {
  return { kind: 'known', found: { kind: 'unreadable', why } };
}
