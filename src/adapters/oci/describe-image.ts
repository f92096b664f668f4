import { labelOf, versionLabels, type Labels } from '../../domain/image/labels.ts';
import { defined } from '../../domain/text/plain-data.ts';
import type { RemoteImage, RemoteConfig } from '../../domain/outside/registry.ts';
import {
  alternativesTo,
  fittingPlatforms,
  runsOn,
  formatPlatform,
  normalisePlatform,
  type ForeignPlatform,
  type Platform,
} from '../../domain/image/platform.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { Client } from './client.ts';
import { HttpFailure, cut } from '../http/exchange.ts';
import {
  configTypes,
  fetchBlob,
  fetchManifest,
  textsOf,
  parseOneReading,
  type Entry,
  type Manifest,
  type RepositoryEndpoint,
} from './manifest.ts';
import { sourceAnnotations } from '../../domain/image/image-source.ts';
import { arrayOf, isJsonObject, isWholeNumber, objectOf, stringOf, type JsonObject } from '../../domain/text/json.ts';
import { printable } from '../../domain/text/printable.ts';

type DescribeOptions = {
  readonly digest: Digest;
  readonly platform: Platform;
  /** Texts of a registry that are safe to show. */
  readonly showable: (words: string) => string;
};

/**
 * Follows a digest to the config of the image for a platform: one to three requests, and more where an index contains
 * indexes, images without a platform, or other images that an engine may choose instead.
 */
export async function describeImage(
  client: Client,
  place: RepositoryEndpoint,
  { digest, platform, showable }: DescribeOptions,
  signal?: AbortSignal,
): Promise<RemoteImage> {
  const offered = new Set<string>();
  const alternatives = new Map<Digest, Entry>();
  let others: OneImage | undefined;
  let fetches = 0;

  /** The first image that the machine runs, as containerd looks for it: https://pkg.go.dev/github.com/containerd/containerd/images#Manifest */
  async function find(at: Digest, isSure: boolean, outer?: Labels): Promise<OneImage | undefined> {
    if ((fetches += 1) > maxManifests) throw new HttpFailure('invalid', 'its index leads to too many other manifests');
    const manifest = await fetchManifest(client, place, at, signal);
    if (manifest.kind === 'image') {
      const image = await describeManifest(client, place, { at, manifest, outer }, signal);
      if (isSure || image.platform === undefined || runsOn(image.platform, platform)) return image;
      others ??= image;
      return undefined;
    }
    for (const entry of manifest.entries)
      if (entry.platform !== undefined) offered.add(formatPlatform(normalisePlatform(entry.platform)));
    const fitting = fittingPlatforms(manifest.entries, platform);
    for (const entry of fitting) {
      const annotations = merged(merged(outer, manifest.annotations), entry.annotations);
      const found = await find(entry.digest, entry.platform !== undefined || fitting.length === 1, annotations);
      if (found === undefined) continue;
      for (const other of alternativesTo(entry, manifest.entries, platform)) alternatives.set(other.digest, other);
      return found;
    }
    return undefined;
  }

  const image = (await find(digest, true)) ?? others;
  if (image !== undefined)
    return {
      digest,
      ...(await withAlternatives(client, place, { image, platform, entries: [...alternatives.values()] }, signal)),
    };
  offered.delete('unknown/unknown');
  const list = offered.size === 0 ? 'nothing' : showable(cut([...offered].sort().join(', ')));
  throw new HttpFailure('not-found', `it has no image for ${formatPlatform(platform)}, only for ${list}`);
}

type OneImage = Omit<RemoteImage, 'digest' | 'alternatives'>;

async function describeManifest(
  client: Client,
  place: RepositoryEndpoint,
  {
    at,
    manifest,
    outer,
  }: {
    readonly at: Digest;
    readonly manifest: Extract<Manifest, { kind: 'image' }>;
    readonly outer?: Labels | undefined;
  },
  signal: AbortSignal | undefined,
): Promise<OneImage> {
  const { configDigest, layerBytes } = manifest;
  const annotations = merged(outer, manifest.annotations);
  const facts = { ...(layerBytes !== undefined && { layerBytes }), ...(annotations !== undefined && { annotations }) };
  return { manifestDigest: at, configDigest, ...facts, ...(await fetchConfig(client, place, manifest, signal)) };
}

/** The inner annotations count before the outer ones. */
function merged(outer: Labels | undefined, inner: Labels | undefined): Labels | undefined {
  return outer && inner ? { ...outer, ...inner } : (inner ?? outer);
}

/** The image with only those facts that hold for the other entries too. At most four are read. */
async function withAlternatives(
  client: Client,
  place: RepositoryEndpoint,
  {
    image,
    platform,
    entries,
  }: { readonly image: OneImage; readonly platform: Platform; readonly entries: readonly Entry[] },
  signal: AbortSignal | undefined,
): Promise<Omit<RemoteImage, 'digest'>> {
  async function read({ digest }: Entry): Promise<OneImage | undefined> {
    const manifest = await fetchManifest(client, place, digest, signal);
    return manifest.kind === 'index' ? undefined : describeManifest(client, place, { at: digest, manifest }, signal);
  }

  const isMany = entries.length > maxAlternatives;
  const answers = await Promise.all(
    entries.map(async (entry) => ({ entry, other: isMany ? undefined : await read(entry).catch(undefinedIfBroken) })),
  );
  // Engines read the config of an image without a platform.
  const found = answers.filter(
    ({ entry, other }) =>
      entry.platform !== undefined || other?.platform === undefined || runsOn(other.platform, platform),
  );
  if (found.length === 0) return image;
  const alternatives = found.map(({ entry, other }) => ({
    manifestDigest: entry.digest,
    configDigest: other?.configDigest,
  }));
  return {
    ...withCommonFacts(
      image,
      found.map(({ other }) => other),
    ),
    alternatives,
  };
}

/** Indexes name two or three variants of an architecture. */
const maxAlternatives = 4;

/** An entry that no engine can use either. Other failures may pass, so they are failures of the whole. */
function undefinedIfBroken(error: unknown): undefined {
  if (error instanceof HttpFailure && (error.code === 'not-found' || error.code === 'invalid')) return undefined;
  throw error;
}

function withCommonFacts(image: OneImage, others: readonly (OneImage | undefined)[]): OneImage {
  const { labels: _labels, annotations: _annotations, layerBytes, ...rest } = image;
  const texts = {
    labels: commonTexts(image, others, 'labels'),
    annotations: commonTexts(image, others, 'annotations'),
  };
  const isOneSize = layerBytes !== undefined && others.every((other) => other?.layerBytes === layerBytes);
  const times = [image, ...others].map((one) => one?.createdAtMs);
  return {
    ...rest,
    createdAtMs: times.every((ms) => ms !== undefined) ? Math.max(...times) : undefined,
    ...defined(texts),
    ...(isOneSize && { layerBytes }),
  };
}

function commonTexts(
  image: OneImage,
  others: readonly (OneImage | undefined)[],
  field: 'labels' | 'annotations',
): Labels | undefined {
  const common = Object.entries(image[field] ?? {}).filter(([name, text]) =>
    others.every((other) => labelOf(other?.[field], name) === text),
  );
  return common.length === 0 ? undefined : Object.fromEntries(common);
}

/** An index of one image for each of a few platforms needs two. */
const maxManifests = 8;

/**
 * The platforms that a digest has images for, in one or two requests, and one more for each index in an index.
 * Attestations are ignored.
 */
export async function fetchPlatforms(
  client: Client,
  place: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly Platform[]> {
  const known = new Map<string, Platform>();
  const pending = [digest];
  for (const [fetches, at] of pending.entries()) {
    if (fetches === maxManifests) break;
    const manifest = await fetchManifest(client, place, at, signal);
    if (manifest.kind === 'index') {
      pending.push(...manifest.entries.flatMap((entry) => (entry.isIndex ? [entry.digest] : [])));
      for (const { platform, isIndex } of manifest.entries) if (!isIndex) note(platform);
    } else note((await fetchConfig(client, place, manifest, signal)).platform);
  }
  return [...known.values()];

  function note(platform: ForeignPlatform | undefined): void {
    const normal = platform && normalisePlatform(platform);
    if (normal && isNamed(normal.os) && isNamed(normal.architecture)) known.set(formatPlatform(normal), normal);
  }
}

/** https://docs.docker.com/build/metadata/attestations/attestation-storage/ */
function isNamed(part: string): boolean {
  return part !== '' && part !== 'unknown';
}

/** Reads an image's config. Charts and signatures are not images, so their config is not read. */
async function fetchConfig(
  client: Client,
  place: RepositoryEndpoint,
  { configDigest, configType }: Extract<Manifest, { kind: 'image' }>,
  signal: AbortSignal | undefined,
): Promise<ReturnType<typeof parseImageConfig>> {
  if (!configTypes.has(configType)) return { platform: undefined, createdAtMs: undefined };
  return parseImageConfig(await fetchBlob(client, place, configDigest, signal));
}

/**
 * Platform, build time and the labels about version and source. Missing fields are undefined:
 * https://github.com/opencontainers/image-spec/blob/main/config.md The platform of an image that names no system or
 * architecture has empty parts: engines run it on any machine.
 */
export function parseImageConfig(body: Buffer): Pick<RemoteImage, 'platform' | 'createdAtMs' | 'labels'> {
  const fields = parseOneReading(body, 'image config');
  const text = (name: string): string => printable(stringOf(fields?.[name]) ?? '', maxNameLength);
  const platform = { os: text('os'), architecture: text('architecture'), variant: text('variant') };
  const isNamed = platform.os !== '' && platform.architecture !== '';
  const labels = textsOf(objectOf(objectOf(fields?.['config'])?.['Labels']) ?? {}, shownLabels);
  return {
    platform: isNamed || hasLayers(fields) ? platform : undefined,
    createdAtMs: readTime(stringOf(fields?.['created']) ?? ''),
    ...(labels !== undefined && { labels }),
  };
}

function hasLayers(config: JsonObject | undefined): boolean {
  return arrayOf(objectOf(config?.['rootfs'])?.['diff_ids']).length > 0;
}

const shownLabels = [...versionLabels, ...sourceAnnotations];

const maxNameLength = 64;

/** Reproducible builds write placeholder dates: 1970, or a second after the start of 1980 with buildpacks. */
const earliestMs = Date.UTC(1980, 0, 2);

/** Undefined for a time without a zone, which an engine cannot read either. */
function readTime(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\dT.+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return ms >= earliestMs ? ms : undefined;
}

/**
 * The whole config, as Docker takes it from a registry. Throws `invalid` for a field of another type, which no
 * engine could read: https://github.com/moby/docker-image-spec/blob/main/specs-go/v1/image.go
 */
export function parseWholeConfig(body: Buffer): RemoteConfig {
  const fields = parseOneReading(body, 'image config');
  if (fields === undefined) throw new HttpFailure('invalid', 'its image config is no JSON object');
  const config: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(objectOf(fields['config']) ?? {})) {
    const fits = inherited.get(name);
    if (fits === undefined || value === null) continue;
    if (!fits(value)) throw new HttpFailure('invalid', `its image config has an unreadable field, "${name}"`);
    config[name] = value;
  }
  return {
    os: stringOf(fields['os']) ?? '',
    architecture: stringOf(fields['architecture']) ?? '',
    variant: stringOf(fields['variant']) ?? '',
    createdAtMs: readTime(stringOf(fields['created']) ?? '') ?? 0,
    config,
  };
}

type TypeCheck = (value: unknown) => boolean;

const isText: TypeCheck = (value) => typeof value === 'string';
const isTexts: TypeCheck = (value) => Array.isArray(value) && value.every(isText);
const isMapOf = (fits: TypeCheck): TypeCheck => {
  return (value) => isJsonObject(value) && Object.values(value).every(fits);
};

/** The fields that containers inherit in Docker's containerd image store. */
const inherited: ReadonlyMap<string, TypeCheck> = new Map<string, TypeCheck>([
  ['User', isText],
  ['WorkingDir', isText],
  ['StopSignal', isText],
  ['Env', isTexts],
  ['Cmd', isTexts],
  ['Entrypoint', isTexts],
  ['Labels', isMapOf(isText)],
  ['ExposedPorts', isMapOf(isJsonObject)],
  ['Volumes', isMapOf(isJsonObject)],
  ['Healthcheck', isHealthcheck],
]);

/** Durations in nanoseconds. */
function isHealthcheck(value: unknown): boolean {
  const { Test = [], ...numbers } = { ...objectOf(value) };
  return isJsonObject(value) && (Test === null || isTexts(Test)) && Object.values(numbers).every(isWholeNumber);
}
