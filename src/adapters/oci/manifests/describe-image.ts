import type { RemoteImage } from '../../../domain/outside/registry.ts';
import { choosePlatform } from '../../../domain/reference/choose-platform.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import { formatPlatform, normalisePlatform, type Platform } from '../../../domain/reference/platform.ts';
import type { Client } from '../client/client.ts';
import { RegistryFailure, cut } from '../transport/failure.ts';
import { parseImageConfig } from './image-config.ts';
import type { Entry, Manifest } from './manifest.ts';
import { fetchBlob, fetchManifest, type Place } from './manifests.ts';
import { configTypes } from './media-types.ts';

export type DescribeOrder = {
  readonly digest: Digest;
  readonly platform: Platform;
  /** Texts of a registry that are safe to show. */
  readonly showable: (words: string) => string;
};

/** Follows a digest to the config of the image for a platform: one to three requests. */
export async function describeImage(
  client: Client,
  place: Place,
  { digest, platform, showable }: DescribeOrder,
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
    ...(await readConfig(client, place, manifest, signal)),
  };
}

function chooseFrom(entries: readonly Entry[], platform: Platform, showable: DescribeOrder['showable']): Digest {
  const chosen = choosePlatform(entries, platform);
  if (chosen !== undefined) return chosen.digest;
  const offered = new Set(
    entries.flatMap((entry) => (entry.platform ? [formatPlatform(normalisePlatform(entry.platform))] : [])),
  );
  offered.delete('unknown/unknown');
  const list = offered.size === 0 ? 'nothing' : showable(cut([...offered].sort().join(', ')));
  throw new RegistryFailure('registry-not-found', `it has no image for ${formatPlatform(platform)}, only for ${list}`);
}

/** Reads an image's config. Charts and signatures are not images, so their config is not read. */
async function readConfig(
  client: Client,
  place: Place,
  { configDigest, configType }: Extract<Manifest, { kind: 'image' }>,
  signal: AbortSignal | undefined,
): Promise<Pick<RemoteImage, 'platform' | 'createdAtMs' | 'version' | 'sourceUrl'>> {
  if (!configTypes.has(configType)) return { platform: undefined, createdAtMs: undefined };
  return parseImageConfig(await fetchBlob(client, place, configDigest, signal));
}
