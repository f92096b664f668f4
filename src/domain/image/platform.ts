/** Platform of an OCI index; `variant` is empty if there is none. */
export type Platform = { readonly os: string; readonly architecture: string; readonly variant: string };

/** A platform from outside, in one of several spellings, with parts missing. */
export type ForeignPlatform = {
  readonly os?: string | undefined;
  readonly architecture?: string | undefined;
  readonly variant?: string | undefined;
};

/** `linux/arm64/v8`; without a variant `linux/amd64`. */
export function formatPlatform({ os, architecture, variant }: Platform): string {
  return variant === '' ? `${os}/${architecture}` : `${os}/${architecture}/${variant}`;
}

/**
 * The normal form of a platform, as in https://pkg.go.dev/github.com/containerd/platforms: the default variant of arm64
 * (v8) and amd64 (v1) is omitted, the default of arm (v7) is written. Also reads the machine names of `uname`, which an
 * engine's info shows.
 */
export function normalisePlatform(platform: ForeignPlatform): Platform {
  const os = (platform.os ?? '').toLowerCase();
  const written = (platform.architecture ?? '').toLowerCase();
  const alias = aliases.get(written);
  const architecture = alias?.architecture ?? written;
  const variant = alias?.variant ?? (platform.variant ?? '').toLowerCase();
  return { os: os === 'macos' ? 'darwin' : os, architecture, variant: normaliseVariant(architecture, variant) };
}

/** Whether two spellings mean the same platform: `linux/arm64` and `linux/aarch64/v8` do. */
export function samePlatform(a: ForeignPlatform, b: ForeignPlatform): boolean {
  return formatPlatform(normalisePlatform(a)) === formatPlatform(normalisePlatform(b));
}

/** Whether the system and the architecture are the same, in any variant. A field that is not declared matches any. */
export function sameArchitecture(a: ForeignPlatform, b: ForeignPlatform): boolean {
  if (!a.os || !a.architecture || !b.os || !b.architecture) return true;
  const [one, other] = [normalisePlatform(a), normalisePlatform(b)];
  return one.os === other.os && one.architecture === other.architecture;
}

/**
 * Whether a container runs another image of its index than the one that the engine shows under the index's id.
 * Configurations for arm often lack the variant that the index has. Undefined: the engine does not tell.
 */
export function runsOtherThan(shown: ForeignPlatform, run: ForeignPlatform | undefined): boolean {
  if (run === undefined || !shown.os || !shown.architecture) return false;
  const isVague = !shown.variant && normalisePlatform(shown).architecture === 'arm';
  return isVague ? !sameArchitecture(shown, run) : !samePlatform(shown, run);
}

type Machine = { readonly architecture: string; readonly variant?: string };

const aliases: ReadonlyMap<string, Machine> = new Map<string, Machine>([
  ['x86_64', { architecture: 'amd64' }],
  ['x86-64', { architecture: 'amd64' }],
  ['i386', { architecture: '386', variant: '' }],
  ['i486', { architecture: '386', variant: '' }],
  ['i586', { architecture: '386', variant: '' }],
  ['i686', { architecture: '386', variant: '' }],
  ['x86', { architecture: '386', variant: '' }],
  ['aarch64', { architecture: 'arm64' }],
  ['armhf', { architecture: 'arm', variant: 'v7' }],
  ['armel', { architecture: 'arm', variant: 'v6' }],
  ['armv8l', { architecture: 'arm', variant: 'v8' }],
  ['armv7l', { architecture: 'arm', variant: 'v7' }],
  ['armv6l', { architecture: 'arm', variant: 'v6' }],
  ['armv5tel', { architecture: 'arm', variant: 'v5' }],
  ['loongarch64', { architecture: 'loong64' }],
]);

function normaliseVariant(architecture: string, variant: string): string {
  const versioned = /^\d/.test(variant) ? `v${variant}` : variant;
  if (architecture === 'amd64') return versioned === 'v1' ? '' : versioned;
  if (architecture === 'arm64')
    return versioned === 'v8' || versioned === 'v8.0' ? '' : versioned.replace(/^v9\.0$/, 'v9');
  if (architecture === 'arm') return versioned === '' ? 'v7' : versioned;
  return variant;
}

/** One entry of an OCI index or a Docker manifest list, with the fields that the choice needs. */
type IndexEntry = { readonly platform?: ForeignPlatform | undefined; readonly isIndex?: boolean };

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
