import type { Platform } from './platform.ts';

/**
 * Platforms that a machine runs without emulation, best first: its own, lesser variants, then its 32-bit relative.
 * Engines choose in this order: see `Only` in https://pkg.go.dev/github.com/containerd/platforms. Takes and returns
 * normalised platforms.
 */
export function runnablePlatforms(platform: Platform): readonly Platform[] {
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
