import { sourceAnnotations } from '../../../domain/image/image-source.ts';
import type { Labels } from '../../../domain/image/image-labels.ts';
import { parseDigest, type Digest } from '../../../domain/image/image-reference.ts';
import type { ForeignPlatform } from '../../../domain/image/platform.ts';
import { HttpFailure } from '../../http/failure.ts';
import { type JsonObject, arrayOf, objectOf, stringOf } from '../../../domain/text/json.ts';
import { parseOneReading } from './one-reading.ts';

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
 * Parses the body of a manifest. Throws `registry-invalid` for any other body. The body's `mediaType` takes precedence
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
export function outdated(): HttpFailure {
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
export const outdatedTypes: ReadonlySet<string> = new Set([
  'application/vnd.docker.distribution.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v1+prettyjws',
]);

/** A `Content-Type` without parameters. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}
