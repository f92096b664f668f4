import type { Digest } from '../../../domain/reference/digest.ts';
import { formatPlatform, normalisePlatform, type Platform } from '../../../domain/reference/platform.ts';
import type { Client } from '../client/client.ts';
import { parseImageConfig } from './image-config.ts';
import { fetchBlob, fetchManifest, type Place } from './manifests.ts';
import { configTypes } from './media-types.ts';

/**
 * The platforms that a digest has images for, in one or two requests. Attestations are left out, because they cannot
 * run.
 */
export async function fetchPlatforms(
  client: Client,
  place: Place,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly Platform[]> {
  const top = await fetchManifest(client, place, digest, signal);
  if (top.kind === 'index') {
    const named = top.entries.flatMap(({ platform }) => (platform ? [normalisePlatform(platform)] : []));
    const known = named.filter(({ os, architecture }) => isNamed(os) && isNamed(architecture));
    return [...new Map(known.map((platform) => [formatPlatform(platform), platform])).values()];
  }
  if (!configTypes.has(top.configType)) return [];
  const { platform } = parseImageConfig(await fetchBlob(client, place, top.configDigest, signal));
  return platform === undefined ? [] : [normalisePlatform(platform)];
}

/** https://docs.docker.com/build/metadata/attestations/attestation-storage/ */
function isNamed(part: string): boolean {
  return part !== '' && part !== 'unknown';
}
