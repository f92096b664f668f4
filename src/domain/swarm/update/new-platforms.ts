import type { Platform } from '../../image/platform.ts';

/**
 * The platforms to write into a spec with its new image. Undefined if the spec keeps its own. Docker's client writes an
 * index's platforms when it pins an image, and the swarm then starts tasks only on nodes with these platforms:
 * https://github.com/docker/cli/blob/master/vendor/github.com/moby/moby/client/service_create.go
 */
export function newPlatforms(
  written: readonly Platform[] | undefined,
  offered: readonly Platform[],
): readonly Platform[] | undefined {
  if (written === undefined || written.length === 0 || offered.length === 0) return undefined;
  const [before, after] = [keysOf(written), keysOf(offered)];
  return before.size === after.size && [...after.keys()].every((key) => before.has(key))
    ? undefined
    : [...after.values()];
}

/** A spec has no variants, and no architecture for arm, which nodes report by its variant. */
function keysOf(platforms: readonly Platform[]): ReadonlyMap<string, Platform> {
  return new Map(
    platforms.map((platform) => {
      const { os, architecture } = platform;
      return [`${os}/${architecture === 'arm' ? '' : architecture}`, platform];
    }),
  );
}
