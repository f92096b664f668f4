import { type ForeignPlatform, formatPlatform, normalisePlatform, samePlatform } from './platform.ts';
import { runnablePlatforms } from './runnable-platforms.ts';

/** One line of an OCI index or a Docker manifest list, as far as the choice goes. */
export type IndexEntry = { readonly platform?: ForeignPlatform | undefined };

/**
 * The manifest that an engine of the wanted platform would take from an index; undefined when none
 * runs there. An entry without a platform comes last, as with the engine's own choice:
 * https://github.com/moby/moby/blob/v28.0.0/distribution/pull_v2_unix.go
 * Attestations call themselves `unknown/unknown` and thus never match.
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

/** Whether an engine runs the image without emulation. A field that the image does not name matches any engine. */
export function runsOn(image: ForeignPlatform, engine: ForeignPlatform): boolean {
  const own = normalisePlatform(engine);
  const asked = normalisePlatform({
    os: image.os || own.os,
    architecture: image.architecture || own.architecture,
    variant: image.architecture ? image.variant : own.variant,
  });
  return runnablePlatforms(own).some((platform) => samePlatform(platform, asked));
}
