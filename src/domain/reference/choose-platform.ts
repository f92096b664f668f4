import { type ForeignPlatform, formatPlatform, normalisePlatform, samePlatform } from './platform.ts';
import { runnablePlatforms } from './runnable-platforms.ts';

/** One entry of an OCI index or a Docker manifest list, with the field that the choice needs. */
export type IndexEntry = { readonly platform?: ForeignPlatform | undefined };

/**
 * The manifest that an engine of the wanted platform would choose from an index. Undefined when none fits. An entry
 * without a platform comes last, as in the engine's own choice:
 * https://github.com/moby/moby/blob/v28.0.0/distribution/pull_v2_unix.go Attestations have the platform
 * `unknown/unknown`, which never matches.
 */
export function choosePlatform<Entry extends IndexEntry>(
  manifests: readonly Entry[],
  wanted: ForeignPlatform,
): Entry | undefined {
  const order = runnablePlatforms(normalisePlatform(wanted)).map(formatPlatform);
  let best: Entry | undefined;
  let bestRank = Infinity;
  for (const entry of manifests) {
    const rank =
      entry.platform === undefined ? order.length : order.indexOf(formatPlatform(normalisePlatform(entry.platform)));
    if (rank >= 0 && rank < bestRank) [best, bestRank] = [entry, rank];
  }
  return best;
}

/** Whether an engine runs the image without emulation. A field that the image does not declare matches any engine. */
export function runsOn(image: ForeignPlatform, engine: ForeignPlatform): boolean {
  const own = normalisePlatform(engine);
  const asked = normalisePlatform({
    os: image.os || own.os,
    architecture: image.architecture || own.architecture,
    variant: image.architecture ? image.variant : own.variant,
  });
  return runnablePlatforms(own).some((platform) => samePlatform(platform, asked));
}
