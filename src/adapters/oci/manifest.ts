import { sourceAnnotations } from '../../domain/image/image-source.ts';
import type { Labels } from '../../domain/image/labels.ts';
import { parseDigest, type Digest } from '../../domain/image/image-reference.ts';
import type { ForeignPlatform } from '../../domain/image/platform.ts';
import { HttpFailure, type WireAnswer } from '../http/exchange.ts';
import { arrayOf, objectOf, stringOf, parseJson, doubtIn, namesOf, type JsonObject } from '../../domain/text/json.ts';
import type { Client } from './client.ts';
import { hasAtMost, digestOf, requireFound, verify } from './answer.ts';
import type { Endpoint } from './hosts.ts';
import { noRetries } from './throttle.ts';

/** One line of an index. */
export type Entry = {
  readonly digest: Digest;
  /** Undefined also where it names neither a system nor an architecture. */
  readonly platform: ForeignPlatform | undefined;
  /** It leads to another index. */
  readonly isIndex: boolean;
} & Annotated;

/** Annotations about the source; absent without any. */
type Annotated = { readonly annotations?: Labels };

/** The fields of a manifest that are used here. */
export type Manifest =
  | ({ readonly kind: 'index'; readonly entries: readonly Entry[] } & Annotated)
  | ({
      readonly kind: 'image';
      readonly configDigest: Digest;
      readonly configType: string;
      /** The compressed size of all layers; undefined if the manifest does not contain it. */
      readonly layerBytes: number | undefined;
    } & Annotated);

/**
 * Parses the body of a manifest. Throws `invalid` for any other body. The body's `mediaType` takes precedence
 * over the header, because stores and proxies change headers. A body that could be both an index and an image, or that
 * other parsers read differently, is refused: https://github.com/advisories/GHSA-mc8v-mgrf-8f4m
 */
export function parseManifest(body: Buffer, contentType: string | undefined): Manifest {
  const fields = parseOneReading(body, 'manifest');
  if (fields === undefined) throw invalid('its answer is not a manifest');
  const type = stringOf(fields['mediaType']) ?? mediaTypeOf(contentType);
  if (outdatedTypes.has(type) || fields['schemaVersion'] === 1) throw outdated();
  const looksLikeIndex = Array.isArray(fields['manifests']);
  const looksLikeImage = objectOf(fields['config']) !== undefined || Array.isArray(fields['layers']);
  if (looksLikeIndex === looksLikeImage || (looksLikeIndex ? manifestTypes : indexTypes).has(type))
    throw invalid('its manifest contradicts itself');
  return looksLikeIndex ? readIndex(fields) : readImage(fields);
}

/** The failure for an image in Docker's first format only. */
function outdated(): HttpFailure {
  return invalid('it offers the image only in the outdated manifest format of Docker, schema 1');
}

function readIndex(fields: JsonObject): Manifest {
  const entries = arrayOf(fields['manifests']).map((entry): Entry => {
    const { digest, platform, mediaType, annotations } = { ...objectOf(entry) };
    const isIndex = indexTypes.has(stringOf(mediaType) ?? '');
    const described = annotated(annotations);
    return { digest: readDigest(digest), platform: readPlatform(objectOf(platform)), isIndex, ...described };
  });
  return { kind: 'index', entries, ...annotated(fields['annotations']) };
}

function annotated(value: unknown): Annotated {
  const annotations = textsOf(objectOf(value) ?? {}, sourceAnnotations);
  return annotations === undefined ? {} : { annotations };
}

/** The texts of those names, each of at most 1,000 characters. Undefined without any. */
export function textsOf(fields: JsonObject, names: readonly string[]): Labels | undefined {
  const found = names.flatMap((name) => {
    const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return typeof text === 'string' && text.length <= maxText ? [[name, text] as const] : [];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

const maxText = 1000;

function readPlatform(platform: JsonObject | undefined): ForeignPlatform | undefined {
  const [os, architecture, variant] = ['os', 'architecture', 'variant'].map((name) => stringOf(platform?.[name]));
  if (os !== undefined && os !== 'linux' && os.toLowerCase() === 'linux') throw invalid(fatalSystem);
  return os || architecture ? { os, architecture, variant } : undefined;
}

/** https://github.com/moby/moby/blob/v20.10.24/distribution/xfer/download.go#L139 */
const fatalSystem = 'it names the system "linux" in capitals, which stops an engine of Docker 20.10';

function readImage(fields: JsonObject): Manifest {
  const config = objectOf(fields['config']);
  return {
    kind: 'image',
    configDigest: readDigest(config?.['digest']),
    configType: stringOf(config?.['mediaType']) ?? '',
    layerBytes: bytesOf(arrayOf(fields['layers'])),
    ...annotated(fields['annotations']),
  };
}

function bytesOf(layers: readonly unknown[]): number | undefined {
  const sizes = layers.map((layer) => objectOf(layer)?.['size']);
  const bytes = sizes.reduce<number>((sum, size) => sum + (typeof size === 'number' && size >= 0 ? size : NaN), 0);
  return sizes.length > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

function readDigest(value: unknown): Digest {
  const digest = parseDigest(stringOf(value) ?? '');
  if (digest === undefined) throw invalid('its manifest contains an invalid digest');
  return digest;
}

function invalid(why: string): HttpFailure {
  return new HttpFailure('invalid', why);
}

/** Media types of indexes and manifests: https://github.com/opencontainers/image-spec/blob/main/media-types.md */
const indexTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]);

const manifestTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);

/** Every request accepts all four. With fewer, a registry converts the manifest, and the digest changes. */
export const acceptedTypes = [...indexTypes, ...manifestTypes].join(', ');

/** The last four come from old registries: https://github.com/distribution/distribution/issues/1621 */
export const configTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
  'application/octet-stream',
  'application/json',
  'text/html',
  '',
]);

/** Docker's first format, signed or not. Its digest is not the digest of an image in an engine. */
const outdatedTypes: ReadonlySet<string> = new Set([
  'application/vnd.docker.distribution.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v1+prettyjws',
]);

/** A `Content-Type` without parameters. */
function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}

/**
 * The object in a registry's JSON. Undefined for other content. Throws `invalid` for a text that parsers read
 * differently: engines match the names of fields in any case, and merge or replace a field that is given twice, as Go
 * does (https://pkg.go.dev/encoding/json#Unmarshal). `what` names the document: `manifest`.
 */
export function parseOneReading(body: Buffer, what: keyof typeof fieldNames): JsonObject | undefined {
  if (!hasAtMost(maxParts, body)) throw new HttpFailure('invalid', `its ${what} has very many fields`);
  const text = body.toString();
  const parsed = objectOf(parseJson(text));
  if (parsed === undefined) return undefined;
  const doubt = doubtIn(text, { names: fieldNames[what], maps });
  if (doubt !== undefined) throw new HttpFailure('invalid', `its ${what} can be read in two ways: ${doubt}`);
  return parsed;
}

/**
 * https://github.com/opencontainers/image-spec/blob/main/image-index.md, manifest.md, config.md and, for the other fields
 * of a config, https://docs.docker.com/reference/api/engine/#tag/Image/operation/ImageInspect
 */
const fieldNames = {
  manifest: namesOf(
    'schemaVersion mediaType artifactType manifests config layers subject annotations digest size urls data platform os architecture variant features os.version os.features',
  ),
  'image config': namesOf(
    'os architecture variant os.version os.features created author config rootfs type diff_ids history User ExposedPorts Env Entrypoint Cmd Volumes WorkingDir Labels StopSignal StopTimeout Healthcheck Test Interval Timeout StartPeriod StartInterval Retries Shell OnBuild ArgsEscaped Hostname Domainname MacAddress Image NetworkDisabled',
  ),
};

/** The largest have some thousand. */
const maxParts = 100_000;

/** Fields whose names are free. */
const maps: ReadonlySet<string> = new Set(['annotations', 'Labels', 'ExposedPorts', 'Volumes']);

export type RepositoryEndpoint = { readonly endpoint: Endpoint; readonly repository: string };

/** Digest of a tag, and the ETag for the next request. */
export type TagState = { readonly digest: Digest; readonly etag: string | undefined };

/**
 * Digest of a tag by a HEAD request. Without a digest in the answer, a GET follows, and its body is hashed. Registries
 * without HEAD answer with any status, even 401 or 404.
 */
export async function resolveTag(
  client: Client,
  { endpoint, repository }: RepositoryEndpoint,
  tag: string,
  known: TagState | undefined,
  signal?: AbortSignal,
): Promise<TagState> {
  const ask = { repository, path: `manifests/${tag}`, maxBytes: maxManifestBytes };
  const headers = known?.etag === undefined ? accept : { ...accept, 'if-none-match': known.etag };
  const head = await client(endpoint, { ...ask, method: 'HEAD', headers, isTentative: true }, signal);
  if (head.status === 304 && known !== undefined) return known;
  if (head.status === 200 && outdatedTypes.has(mediaTypeOf(head.headers['content-type']))) throw outdated();
  const reported = head.status === 200 ? digestHeader(head) : undefined;
  if (reported !== undefined) return { digest: reported, etag: etagOf(head) };
  // After a 500 the HEAD request has used the retries.
  const retryBounds = head.status >= 500 ? { retryBounds: noRetries } : {};
  const answer = await client(endpoint, { ...ask, ...retryBounds, method: 'GET', headers: accept }, signal);
  requireFound(answer, 'it has no such tag');
  const digest = digestHeader(answer) ?? digestOf(answer.body);
  readManifest(answer, digest);
  return { digest, etag: etagOf(answer) };
}

/** Fetches a manifest and verifies its digest. */
export async function fetchManifest(
  client: Client,
  { endpoint, repository }: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Manifest> {
  const ask = {
    method: 'GET',
    repository,
    path: `manifests/${digest}`,
    headers: accept,
    maxBytes: maxManifestBytes,
  } as const;
  const answer = await client(endpoint, ask, signal);
  requireFound(answer, `it has no manifest ${digest}`);
  return readManifest(answer, digest);
}

/** Fetches a blob and verifies its digest. Used for configs, which are small, not for layers. */
export async function fetchBlob(
  client: Client,
  { endpoint, repository }: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Buffer> {
  const ask = { method: 'GET', repository, path: `blobs/${digest}`, headers: {}, maxBytes: maxConfigBytes } as const;
  const answer = await client(endpoint, ask, signal);
  requireFound(answer, `it has no blob ${digest}`);
  verify(answer, digest);
  return answer.body;
}

/** The minimum of a registry's limit: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests */
const maxManifestBytes = 4 * 1024 * 1024;

/** The largest known configs have some hundred kilobytes of history and environment. */
const maxConfigBytes = 8 * 1024 * 1024;

const accept: Readonly<Record<string, string>> = { accept: acceptedTypes };

function digestHeader({ headers }: WireAnswer): Digest | undefined {
  const value = headers['docker-content-digest'];
  return typeof value === 'string' ? parseDigest(value) : undefined;
}

/** Stored for every tag, so a long one is dropped. */
export function etagOf({ headers }: WireAnswer): string | undefined {
  return headers.etag !== undefined && headers.etag.length <= 256 ? headers.etag : undefined;
}

function readManifest(answer: WireAnswer, digest: Digest): Manifest {
  verify(answer, digest);
  return parseManifest(answer.body, answer.headers['content-type']);
}
