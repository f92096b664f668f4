import { type ForeignPlatform, formatPlatform, normalisePlatform, samePlatform, type Platform } from './platform.ts';

/** One entry of an OCI index or a Docker manifest list, with the fields that the choice needs. */
export type IndexEntry = { readonly platform?: ForeignPlatform | undefined; readonly isIndex?: boolean };

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
  return fittingPlatforms(manifests, wanted)[0];
}

/** All entries that may fit, best first. Those without a platform are last, in their order. */
export function fittingPlatforms<Entry extends IndexEntry>(
  manifests: readonly Entry[],
  wanted: ForeignPlatform,
): readonly Entry[] {
  const order = runnablePlatforms(normalisePlatform(wanted)).map(formatPlatform);
  const ranked = manifests.map((entry) => ({
    entry,
    rank:
      entry.platform === undefined ? order.length : order.indexOf(formatPlatform(normalisePlatform(entry.platform))),
  }));
  return ranked
    .filter(({ rank }) => rank >= 0)
    .sort((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry);
}

/**
 * The entries that an engine of the wanted platform may choose in place of `chosen`. An engine knows the variant of its
 * processor, which its info does not show, and takes a missing system for its own: see `Normalize` in
 * https://pkg.go.dev/github.com/containerd/platforms. Entries with the same digest are no alternatives.
 */
export function alternativesTo<Entry extends IndexEntry & { readonly digest: string }>(
  chosen: Entry,
  manifests: readonly Entry[],
  wanted: ForeignPlatform,
): readonly Entry[] {
  const own = normalisePlatform(wanted);
  const order = runnablePlatforms(own).map(formatPlatform);
  const rankOf = ({ platform }: Entry) => order.indexOf(formatPlatform(normalisePlatform(platform ?? {})));
  const chosenRank = rankOf(chosen);

  function mayBeChosen(entry: Entry): boolean {
    const { os, architecture } = normalisePlatform(entry.platform ?? {});
    if (os === '' && architecture === '') return chosenRank < 0 || entry.isIndex === true;
    if (os !== '' && os !== own.os) return false;
    if (os === '' || architecture === '') return architecture === '' || architecture === own.architecture;
    const rank = rankOf(entry);
    if (rank >= 0) return chosenRank < 0 || rank <= chosenRank;
    return architecture === own.architecture && own.variant === '';
  }

  const others = manifests.filter((entry) => entry.digest !== chosen.digest && mayBeChosen(entry));
  return [...new Map(others.map((entry) => [entry.digest, entry])).values()];
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

/**
 * Platforms that a machine runs without emulation, best first: its own, lesser variants, then its 32-bit relative.
 * Engines choose in this order: see `Only` in https://pkg.go.dev/github.com/containerd/platforms. Takes and returns
 * normalised platforms.
 */
function runnablePlatforms(platform: Platform): readonly Platform[] {
  const { os, architecture } = platform;
  const lesser = lesserVariants(platform).map((variant) => ({ os, architecture, variant }));
  if (architecture === 'amd64') return [platform, ...lesser, { os, architecture: '386', variant: '' }];
  if (architecture !== 'arm64') return [platform, ...lesser];
  return [platform, ...lesser, ...runnablePlatforms({ os, architecture: 'arm', variant: 'v8' })];
}

function lesserVariants({ architecture, variant }: Platform): readonly string[] {
  const [, major = '0', minor = '0'] = /^v(\d)(?:\.(\d))?$/.exec(variant) ?? [];
  if (architecture === 'amd64')
    return down(Number(major) - 1, 1).map((version) => (version === 1 ? '' : `v${version}`));
  if (architecture === 'arm') return down(Number(major) - 1, 5).map((version) => `v${version}`);
  return architecture === 'arm64' ? lesserArm64(Number(major), Number(minor)) : [];
}

/** v9.0 contains v8.5, v9.1 contains v8.6, and so on: https://developer.arm.com/documentation/102378 */
function lesserArm64(major: number, minor: number): readonly string[] {
  if (major === 9)
    return [...down(minor - 1, 0).map((lower) => (lower === 0 ? 'v9' : `v9.${lower}`)), ...arm64v8(minor + 5)];
  return major === 8 ? arm64v8(minor - 1) : [];
}

function arm64v8(highest: number): readonly string[] {
  return down(highest, 0).map((minor) => (minor === 0 ? '' : `v8.${minor}`));
}

function down(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, from - to + 1) }, (_, index) => from - index);
}
