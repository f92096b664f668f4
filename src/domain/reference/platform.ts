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
