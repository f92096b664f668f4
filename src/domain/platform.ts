import { runnablePlatforms } from './runnable-platforms.ts';

/** As in an OCI index; `variant` is empty where there is none. */
export type Platform = { readonly os: string; readonly architecture: string; readonly variant: string };

/** A platform as someone else wrote it: spelled in several ways, with parts missing. */
export type ForeignPlatform = {
  readonly os?: string | undefined;
  readonly architecture?: string | undefined;
  readonly variant?: string | undefined;
};

/** One line of an OCI index or a Docker manifest list, as far as the choice goes. */
export type IndexEntry = { readonly platform?: ForeignPlatform | undefined };

/** `linux/arm64/v8`; without a variant `linux/amd64`. */
export function formatPlatform({ os, architecture, variant }: Platform): string {
  return variant === '' ? `${os}/${architecture}` : `${os}/${architecture}/${variant}`;
}

/**
 * One spelling for each platform, the one of https://pkg.go.dev/github.com/containerd/platforms:
 * the commonest variant of arm64 (v8) and amd64 (v1) is left out, that of arm (v7) is written.
 * Also reads the machine names of `uname`, which an engine's info shows.
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

/** True if the engine runs the image without emulation. A field that the image leaves empty matches. */
export function runsOn(image: ForeignPlatform, engine: ForeignPlatform): boolean {
  const own = normalisePlatform(engine);
  const asked = normalisePlatform({
    os: image.os || own.os,
    architecture: image.architecture || own.architecture,
    variant: image.architecture ? image.variant : own.variant,
  });
  return runnablePlatforms(own).some((platform) => samePlatform(platform, asked));
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
