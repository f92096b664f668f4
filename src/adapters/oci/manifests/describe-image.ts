import { labelledVersion, sourceOf } from '../../../domain/container/image-labels.ts';
import type { RemoteImage } from '../../../domain/outside/registry.ts';
import { choosePlatform } from '../../../domain/reference/choose-platform.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import { formatPlatform, normalisePlatform, type Platform } from '../../../domain/reference/platform.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Client } from '../client/client.ts';
import { RegistryFailure, cut } from '../transport/failure.ts';
import { type JsonObject, objectOf, parseJsonObject, stringOf } from '../../../domain/text/json-value.ts';
import { configTypes, type Entry, type Manifest } from './manifest.ts';
import { fetchBlob, fetchManifest, type RepositoryEndpoint } from './manifests.ts';

export type DescribeOptions = {
  readonly digest: Digest;
  readonly platform: Platform;
  /** Texts of a registry that are safe to show. */
  readonly showable: (words: string) => string;
};

/** Follows a digest to the config of the image for a platform: one to three requests. */
export async function describeImage(
  client: Client,
  place: RepositoryEndpoint,
  { digest, platform, showable }: DescribeOptions,
  signal?: AbortSignal,
): Promise<RemoteImage> {
  const top = await fetchManifest(client, place, digest, signal);
  const manifestDigest = top.kind === 'index' ? chooseFrom(top.entries, platform, showable) : digest;
  const manifest = top.kind === 'index' ? await fetchManifest(client, place, manifestDigest, signal) : top;
  if (manifest.kind === 'index') throw new RegistryFailure('registry-invalid', 'its index leads to another index');
  return {
    digest,
    manifestDigest,
    configDigest: manifest.configDigest,
    ...(manifest.layerBytes !== undefined && { layerBytes: manifest.layerBytes }),
    ...(await fetchConfig(client, place, manifest, signal)),
  };
}

/** The platforms that a digest has images for, in one or two requests. Attestations are ignored. */
export async function fetchPlatforms(
  client: Client,
  place: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly Platform[]> {
  const top = await fetchManifest(client, place, digest, signal);
  if (top.kind === 'index') {
    const named = top.entries.flatMap(({ platform }) => (platform ? [normalisePlatform(platform)] : []));
    const known = named.filter(({ os, architecture }) => isNamed(os) && isNamed(architecture));
    return [...new Map(known.map((platform) => [formatPlatform(platform), platform])).values()];
  }
  const { platform } = await fetchConfig(client, place, top, signal);
  return platform === undefined ? [] : [normalisePlatform(platform)];
}

/** https://docs.docker.com/build/metadata/attestations/attestation-storage/ */
function isNamed(part: string): boolean {
  return part !== '' && part !== 'unknown';
}

function chooseFrom(entries: readonly Entry[], platform: Platform, showable: DescribeOptions['showable']): Digest {
  const chosen = choosePlatform(entries, platform);
  if (chosen !== undefined) return chosen.digest;
  const offered = new Set(
    entries.flatMap((entry) => (entry.platform ? [formatPlatform(normalisePlatform(entry.platform))] : [])),
  );
  offered.delete('unknown/unknown');
  const list = offered.size === 0 ? 'nothing' : showable(cut([...offered].sort().join(', ')));
  throw new RegistryFailure('registry-not-found', `it has no image for ${formatPlatform(platform)}, only for ${list}`);
}

/** Platform, build time and version texts from an image config. */
type ImageConfig = Pick<RemoteImage, 'platform' | 'createdAtMs' | 'version' | 'sourceUrl'>;

/** Reads an image's config. Charts and signatures are not images, so their config is not read. */
async function fetchConfig(
  client: Client,
  place: RepositoryEndpoint,
  { configDigest, configType }: Extract<Manifest, { kind: 'image' }>,
  signal: AbortSignal | undefined,
): Promise<ImageConfig> {
  if (!configTypes.has(configType)) return { platform: undefined, createdAtMs: undefined };
  return parseImageConfig(await fetchBlob(client, place, configDigest, signal));
}

/** Missing fields are undefined: https://github.com/opencontainers/image-spec/blob/main/config.md */
export function parseImageConfig(body: Buffer): ImageConfig {
  const fields = parseJsonObject(body);
  const text = (name: string): string => printable(stringOf(fields?.[name]) ?? '', maxNameLength);
  const platform = { os: text('os'), architecture: text('architecture'), variant: text('variant') };
  return {
    platform: platform.os === '' || platform.architecture === '' ? undefined : platform,
    createdAtMs: readTime(stringOf(fields?.['created']) ?? ''),
    ...readLabels(objectOf(objectOf(fields?.['config'])?.['Labels']) ?? {}),
  };
}

function readLabels(values: JsonObject): Pick<ImageConfig, 'version' | 'sourceUrl'> {
  const labels = Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])),
  );
  const [version, sourceUrl] = [labelledVersion(labels), sourceOf(labels)];
  return { ...(version !== undefined && { version }), ...(sourceUrl !== undefined && { sourceUrl }) };
}

const maxNameLength = 64;

/** Reproducible builds write placeholder dates: 1970, or a second after the start of 1980 with buildpacks. */
const earliestMs = Date.UTC(1980, 0, 2);

/** Undefined for a time without a zone, which an engine cannot read either. */
function readTime(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\dT.+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return ms >= earliestMs ? ms : undefined;
}
