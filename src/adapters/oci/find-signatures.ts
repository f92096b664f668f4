import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isDigest, type Digest } from '../../domain/image/image-reference.ts';
import { signPredicate, type FoundSignature, type FoundSignatures } from '../../domain/image/signature.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Client } from './client.ts';
import { nextQuery, requireFound, verify, hasAtMost } from './answer.ts';
import { acceptedTypes, type RepositoryEndpoint } from './manifest.ts';
import { HttpFailure, type WireAnswer } from '../http/exchange.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf, doubtIn, type JsonObject } from '../../domain/text/json.ts';
import { addTo } from '../../domain/text/plain-data.ts';
import { quoted } from '../../domain/text/printable.ts';

/**
 * Reads the signatures of an image part by part, so that a caller can stop at a valid one. First comes the tag of
 * cosign 2, `sha256-….sig`. Then come the image's referrers
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers): of each type of signature,
 * then without a type, or from the tag `sha256-…` at registries without this list. Ends with `cut` at a limit of bytes,
 * pages or time. Throws a `HttpFailure` if the registry does not answer; a broken signature is `unreadable`.
 */
export async function findSignatures(
  search: {
    readonly client: Client;
    readonly place: RepositoryEndpoint;
    readonly digest: Digest;
    readonly monotonicMs: () => number;
  },
  signal?: AbortSignal,
): Promise<FoundSignatures> {
  const { client, place, digest, monotonicMs } = search;
  const tag = digest.replace(':', '-');
  const startedMs = monotonicMs();
  let bytes = 0;
  let count = 0;
  /** Digests of the referrers that are signatures. */
  const listed = new Set<string>();
  /** A list came without the content type that the specification requires. */
  let isTagDue = false;
  /** The image's own manifest, once it was needed. */
  let manifest: Buffer | undefined;

  const tagged = await bodyOf({ path: `manifests/${tag}.sig` }, signal);
  const first = Buffer.isBuffer(tagged) ? manifestToRead(tagged) : tagged === undefined ? [] : [known(tagged)];
  return readAll(first, (later) => readReferrers([...signatureArtifacts, anyType], later), signal);

  /** Reads what is due, some at a time, and then the rest. */
  async function readAll(
    due: readonly ToRead[],
    rest: ReadOn | undefined,
    signal: AbortSignal | undefined,
  ): Promise<FoundSignatures> {
    if (due.length === 0) return rest === undefined ? { found: [] } : rest(signal);
    const limit = limitMet();
    if (limit !== undefined) return cut(limit);
    const left = due.slice(maxTogether);
    const found = await Promise.all(due.slice(0, maxTogether).map((each) => read(each, signal)));
    return inParts(found.flat(), left.length > 0 ? (later) => readAll(left, rest, later) : rest);
  }

  function limitMet(): string | undefined {
    if (bytes > maxBytes) return `the first ${count} have more than ${maxBytes / 1024 / 1024} MiB`;
    return monotonicMs() - startedMs > maxMs ? `the first ${count} took more than ${formatDuration(maxMs)}` : undefined;
  }

  function inParts(found: readonly FoundSignature[], next: ReadOn | undefined): FoundSignatures {
    count += Math.min(found.length, maxInPart);
    if (found.length <= maxInPart) return { found, ...(next && { next }) };
    const others = async (): Promise<FoundSignatures> => {
      await setImmediate();
      const limit = limitMet();
      return limit === undefined ? inParts(found.slice(maxInPart), next) : cut(limit);
    };
    return { found: found.slice(0, maxInPart), next: others };
  }

  async function read(due: ToRead, signal: AbortSignal | undefined): Promise<readonly FoundSignature[]> {
    if (due.kind === 'known') return [due.found];
    const path = `${due.kind === 'manifest' ? 'manifests' : 'blobs'}/${due.digest}`;
    const body = await contentOf({ path, digest: due.digest, limit: maxSignatureBytes }, signal);
    if (!Buffer.isBuffer(body)) return [body];
    if (due.kind === 'payload')
      return due.signatures.map((signature) => ({ kind: 'simple-signing', payload: body, ...signature }));
    if (due.kind === 'bundle') return [await completed(readBundle(body), signal)];
    return (await Promise.all(manifestToRead(body, due.isUntyped).map((each) => read(each, signal)))).flat();
  }

  /** A signature over the manifest needs its bytes, because the hash in a signature depends on the key. */
  async function completed(content: BundleContent, signal: AbortSignal | undefined): Promise<FoundSignature> {
    if (content.kind !== 'manifest') return content;
    const { hash, ...signature } = content;
    const payload = manifest ?? (await contentOf({ path: `manifests/${digest}`, digest }, signal));
    if (!Buffer.isBuffer(payload)) return payload;
    manifest = payload;
    if (hash !== undefined && createHash(hash.algorithm).update(payload).digest('hex') !== hash.hex)
      return unreadable(`its bundle is of another digest, ${hash.algorithm}:${hash.hex}`);
    return { ...signature, payload, digest };
  }

  /** One page of the list of referrers with the first of the types. */
  async function readReferrers(
    types: readonly string[],
    signal: AbortSignal | undefined,
    query?: string,
    pages = 0,
  ): Promise<FoundSignatures> {
    const [type = anyType, ...others] = types;
    const limit = pages === maxPages ? `there are more than ${maxPages} pages of them` : limitMet();
    if (limit !== undefined) return cut(limit);
    const list = `referrers/${digest}`;
    const filter = type === anyType ? '' : `?artifactType=${encodeURIComponent(type)}`;
    // A fault of one list says nothing about the other lists.
    const without = (why: string) => readAll([unlisted(why)], afterList(others), signal);
    const answer = await ask({ path: list + (query ?? filter), isTentative: true }, signal).catch(whyInvalid);
    if (typeof answer === 'string') return without(`the list of referrers cannot be read: ${answer}`);
    // An answer of 500 and above does not mean an empty list. A registry without the list answers 404, 501 or refuses.
    if (answer.status >= 500 && answer.status !== 501) requireFound(answer, '');
    const entries = answer.status === 200 ? referrersIn(answer.body) : undefined;
    if (entries === 'too many') return without(tooMany);
    if (entries === undefined && query !== undefined) return without('the list of referrers ended with an error');
    if (entries === undefined) return readAll(await behindTag(signal), undefined, signal);
    if (answer.headers['content-type']?.startsWith(indexType) !== true) isTagDue = true;
    const { query: more, why } = nextPage(answer, list);
    const due = toReadOf(entries);
    const isFiltered = entries.every((entry) => entry.type === type);
    const rest: ReadOn | undefined =
      more === undefined
        ? afterList(isFiltered ? others : [])
        : (later) => readReferrers(types, later, more, pages + 1);
    return readAll(why === undefined ? due : [...due, unlisted(why)], rest, signal);
  }

  /** The lists of these types, and then the tag if a list may come from a program that does not know referrers. */
  function afterList(types: readonly string[]): ReadOn | undefined {
    if (types.length > 0) return (later) => readReferrers(types, later);
    return isTagDue ? async (later) => readAll(await behindTag(later), undefined, later) : undefined;
  }

  function nextPage(answer: WireAnswer, list: string): { readonly query?: string | undefined; readonly why?: string } {
    try {
      return { query: nextQuery(answer, place, list) };
    } catch (error) {
      return { why: whyInvalid(error) };
    }
  }

  /** https://github.com/opencontainers/distribution-spec/blob/main/spec.md#referrers-tag-schema */
  async function behindTag(signal: AbortSignal | undefined): Promise<readonly ToRead[]> {
    const body = await bodyOf({ path: `manifests/${tag}` }, signal);
    if (body === undefined) return [];
    if (!Buffer.isBuffer(body)) return [known(body)];
    const entries = referrersIn(body);
    if (entries === 'too many') return [unlisted(tooMany)];
    return entries === undefined ? [known(unreadable('the list of referrers is not an index'))] : toReadOf(entries);
  }

  /** Referrers that are said to be signatures are read first, those without a type last. */
  function toReadOf(entries: readonly Referrer[]): readonly ToRead[] {
    const fresh = entries.filter(({ digest, type }) => {
      if (listed.has(digest)) return false;
      if (referrerToRead({ digest, type, predicateType: undefined }) !== undefined) listed.add(digest);
      return true;
    });
    const rankOf = ({ type, predicateType }: Referrer) =>
      (predicateType === undefined ? 1 : 0) + (isUntyped(type) ? 2 : 0);
    return fresh.toSorted((one, other) => rankOf(one) - rankOf(other)).flatMap((entry) => referrerToRead(entry) ?? []);
  }

  async function contentOf(question: Question & { readonly digest: Digest }, signal: AbortSignal | undefined) {
    return (await bodyOf(question, signal)) ?? unreadable(`the registry does not have ${question.digest}`);
  }

  /** Undefined: the registry does not have it. Content that is too long, or has another digest, is unreadable. */
  async function bodyOf(question: Question, signal: AbortSignal | undefined) {
    try {
      const answer = await ask(question, signal);
      if (answer.status === 404) return undefined;
      requireFound(answer, '');
      if (question.digest !== undefined) verify(answer, question.digest);
      return answer.body;
    } catch (error) {
      return unreadable(whyInvalid(error));
    }
  }

  async function ask(
    { path, limit = maxManifestBytes, isTentative = false }: Question,
    signal: AbortSignal | undefined,
  ): Promise<WireAnswer> {
    const { repository } = place;
    const headers = { accept: acceptedTypes };
    const request = { method: 'GET', repository, path, headers, maxBytes: limit, isTentative } as const;
    try {
      const answer = await client(place.endpoint, request, signal);
      bytes += answer.body.length;
      return answer;
    } catch (error) {
      // It may have been read up to the limit.
      bytes += limit;
      throw error;
    }
  }
}

type ReadOn = (signal?: AbortSignal) => Promise<FoundSignatures>;

type Question = {
  readonly path: string;
  readonly digest?: Digest;
  readonly limit?: number;
  readonly isTentative?: boolean;
};

/** Many signatures, and some lists of thousands of referrers. */
const maxBytes = 8 * 1024 * 1024;
const maxPages = 50;
const maxMs = 30_000;

/** Requests at a time. */
const maxTogether = 8;

/** Signatures before the event loop continues: a verification takes up to some milliseconds for each key. */
const maxInPart = 8;

/** The minimum of a registry's limit for manifests. */
const maxManifestBytes = 4 * 1024 * 1024;

/** A payload and a manifest have some hundred bytes, a bundle with certificates and proofs some ten thousand. */
const maxSignatureBytes = 256 * 1024;

/** Referrers of all types. The last list, because only those without a type may still be signatures. */
const anyType = '';

const indexType = 'application/vnd.oci.image.index.v1+json';
const tooMany = 'the list of referrers has very many entries';

/** The reason for which an answer cannot be read. Throws any other error. */
function whyInvalid(error: unknown): string {
  if (error instanceof HttpFailure && error.code === 'invalid') return error.message;
  throw error;
}

function cut(why: string): FoundSignatures {
  return { found: [{ kind: 'cut', why }] };
}

/** A part of a registry's content that is to be read next. */
type ToRead =
  /** A manifest of a referrer. `isUntyped`: it may be anything. */
  | { readonly kind: 'manifest'; readonly digest: Digest; readonly isUntyped?: boolean }
  | { readonly kind: 'bundle'; readonly digest: Digest }
  /** The content that cosign 2 has signed, with its signatures. */
  | { readonly kind: 'payload'; readonly digest: Digest; readonly signatures: readonly LayerSignature[] }
  /** Nothing has to be read. */
  | { readonly kind: 'known'; readonly found: FoundSignature };

type LayerSignature = { readonly signature: string; readonly isKeyless: boolean };

function known(found: FoundSignature): ToRead {
  return { kind: 'known', found };
}

function unlisted(why: string): ToRead {
  return known({ kind: 'cut', why });
}

function unreadable(why: string) {
  return { kind: 'unreadable', why } as const;
}

/** `manifest`: the signature is over the image's manifest, which the bundle does not contain. */
type BundleContent =
  | Extract<FoundSignature, { kind: 'statement' | 'unreadable' }>
  | (Omit<Extract<FoundSignature, { kind: 'manifest' }>, 'payload' | 'digest'> & {
      /** Of the manifest, as the bundle says. */
      readonly hash?: { readonly algorithm: string; readonly hex: string };
    });

/** The media types of bundles begin with this. */
const bundleTypes = 'application/vnd.dev.sigstore.bundle';

/** The type that cosign 3 writes. */
const bundleType = `${bundleTypes}.v0.3+json`;

/**
 * Reads a Sigstore bundle: https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto. Timestamps,
 * transparency logs and the hint of the key are not used: the signature itself tells the key.
 */
function readBundle(body: Buffer): BundleContent {
  const text = body.toString();
  const fields = parseJsonObject(text);
  if (fields === undefined) return unreadable('its bundle is not JSON');
  const doubt = doubtIn(text);
  if (doubt !== undefined) return unreadable(`its bundle can be read in two ways: ${doubt}`);
  const type = stringOf(fields['mediaType']) ?? '';
  if (!knownTypes.has(type)) return unreadable(`its bundle has the unknown type ${quoted(type, 100)}`);
  const material = objectOf(fields['verificationMaterial']);
  const isKeyless = objectOf(material?.['publicKey']) === undefined;
  if (isKeyless && !['certificate', 'x509CertificateChain'].some((name) => objectOf(material?.[name]) !== undefined))
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
  if (hash === undefined) return { kind: 'manifest', signature, isKeyless };
  const bytes = base64In(hash['digest']);
  const algorithm = hashes.get(stringOf(hash['algorithm']) ?? '');
  if (algorithm === undefined || bytes === undefined)
    return unreadable('its bundle is over a digest of an unknown kind');
  const hex = Buffer.from(bytes, 'base64').toString('hex');
  return { kind: 'manifest', signature, isKeyless, hash: { algorithm, hex } };
}

/** By the names of https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_common.proto. */
const hashes: ReadonlyMap<string, string> = new Map([
  ['SHA2_256', 'sha256'],
  ['SHA2_384', 'sha384'],
  ['SHA2_512', 'sha512'],
]);

/** Base64 in its usual alphabet, with its padding. Undefined for any other text. */
function base64In(value: unknown): string | undefined {
  const text = stringOf(value) ?? '';
  return text !== '' && Buffer.from(text, 'base64').toString('base64') === text ? text : undefined;
}

/** The artifact types of signatures: of cosign 3, and of cosign 2 in its mode for referrers. */
const signatureArtifacts = [bundleType, 'application/vnd.dev.cosign.artifact.sig.v1+json'] as const;

/** Some thousand referrers or signatures. */
const maxParts = 100_000;

/** The entries of an index of referrers. Undefined: it is none. */
function referrersIn(body: Buffer): readonly Referrer[] | 'too many' | undefined {
  if (!hasAtMost(maxParts, body)) return 'too many';
  const entries = parseJsonObject(body)?.['manifests'];
  if (!Array.isArray(entries)) return undefined;
  return entries.map((entry) => {
    const { artifactType, digest, annotations } = { ...objectOf(entry) };
    const type = stringOf(artifactType) ?? '';
    return { type, digest: stringOf(digest) ?? '', predicateType: predicateIn(objectOf(annotations)) };
  });
}

type Referrer = {
  readonly type: string;
  readonly digest: string;
  /** Of a bundle; a registry need not repeat it here. */
  readonly predicateType: string | undefined;
};

/**
 * The part of a referrer to read. An attestation says its kind, so it is not read: some have megabytes. Undefined: it
 * is no signature.
 */
function referrerToRead({ type, digest, predicateType }: Referrer): ToRead | undefined {
  const isKnown = isUntyped(type) || signatureArtifacts.some((each) => each === type);
  if (!isKnown && (type.startsWith(bundleTypes) || foreignSignatures.has(type)))
    return known(unreadable(`it is of the unknown type ${quoted(type, 100)}`));
  if (!isKnown) return undefined;
  const attestation = attestationOf(predicateType);
  if (attestation !== undefined) return attestation;
  if (!isDigest(digest)) return known(unreadable('the registry lists it with an invalid digest'));
  return { kind: 'manifest', digest, isUntyped: isUntyped(type) };
}

/** A registry need not repeat the type in the list, and a tool may push a manifest without one. */
function isUntyped(type: string): boolean {
  return type === '' || type === 'application/vnd.oci.empty.v1+json';
}

/** https://github.com/notaryproject/specifications/blob/main/specs/signature-specification.md#storage */
const foreignSignatures: ReadonlySet<string> = new Set(['application/vnd.cncf.notary.signature']);

/**
 * The part of a manifest with signatures to read. A bundle is its only layer
 * (https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md). cosign 2 has a layer for each signature
 * (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#storage).
 */
function manifestToRead(body: Buffer, mayBeOther = false): readonly ToRead[] {
  if (!hasAtMost(maxParts, body)) return [known(unreadable('its manifest has very many fields'))];
  const manifest = parseJsonObject(body);
  if (manifest === undefined) return [known(unreadable('its manifest is not JSON'))];
  const layers = arrayOf(manifest['layers']).map((layer): JsonObject => objectOf(layer) ?? {});
  const signed = layers.filter((layer) => layer['mediaType'] === payloadType);
  if (signed.length > 0) return payloadsIn(signed);
  const predicateType = predicateIn(objectOf(manifest['annotations']));
  const [layer] = layers;
  const digest = stringOf(layer?.['digest']) ?? '';
  const isBundle = layers.length === 1 && stringOf(layer?.['mediaType'])?.startsWith(bundleTypes) === true;
  if (!isBundle && mayBeOther) return [];
  if (!isBundle || !isDigest(digest)) return [known(unreadable('its manifest has no layer with a signature'))];
  return [attestationOf(predicateType) ?? { kind: 'bundle', digest }];
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
    else addTo(byDigest, payload, { signature, isKeyless });
  }
  const payloads = [...byDigest].map(([digest, signatures]): ToRead => ({ kind: 'payload', digest, signatures }));
  return isBroken ? [...payloads, known(unreadable('its layer has no signature'))] : payloads;
}

const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';
const signatureAnnotation = 'dev.cosignproject.cosign/signature';
const certificateAnnotation = 'dev.sigstore.cosign/certificate';

/** RSA with 8192 bits takes 1368 characters. */
const maxSignature = 2048;

function predicateIn(annotations: JsonObject | undefined): string | undefined {
  return stringOf(annotations?.['dev.sigstore.bundle.predicateType']);
}

/** Undefined for the statement of a signature, and if the kind is not known. */
function attestationOf(predicateType: string | undefined): ToRead | undefined {
  const isOther = predicateType !== undefined && predicateType !== signPredicate;
  return isOther ? known({ kind: 'attestation', predicateType }) : undefined;
}
