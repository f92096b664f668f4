import { supportsApi } from '../api-version.ts';
import { type Container, restartPolicyOf } from '../container.ts';
import type { HostConfig } from '../container-settings.ts';
import { splitSysctls } from './network/interface-sysctls.ts';
import { bindsFor, bindsWithFreshVolumes, mountsFor, mountsWithFreshVolumes } from './volumes/mounts.ts';
import { sharesNetwork } from './network/network-mode.ts';
import { linksFor, sharedNamespace, volumesFromFor } from './other-containers.ts';
import { applyRules, type FieldRule, type KnownRequest } from './request/request.ts';
import type { ServiceSettings } from '../../settings/service-settings.ts';

/**
 * The container's `HostConfig`. No field comes from an image, so it is copied, except fields that an engine does not
 * accept back.
 */
export function hostConfigFor(request: KnownRequest): Readonly<Record<string, unknown>> {
  const { HostConfig } = request.container.settings;
  const fields = Object.entries({ RestartPolicy: null, Mounts: null, ...HostConfig });
  const kept = fields.filter(([field]) => !request.leftOut?.has(field));
  return applyRules(kept, rules, request);
}

const rules: ReadonlyMap<string, FieldRule> = new Map<string, FieldRule>([
  [
    'RestartPolicy',
    ({ container, policyFromStart }) =>
      policyFromStart ? restartPolicyOf(container) : { Name: 'no', MaximumRetryCount: 0 },
  ],
  ['NetworkMode', sharedNamespace('NetworkMode')],
  ['IpcMode', sharedNamespace('IpcMode')],
  ['PidMode', sharedNamespace('PidMode')],
  ['UTSMode', sharedNamespace('UTSMode')],
  ['VolumesFrom', volumesFromFor],
  ['Binds', ({ container, freshVolumes }) => (freshVolumes ? bindsWithFreshVolumes(container) : bindsFor(container))],
  [
    'Mounts',
    ({ container, freshVolumes }) => (freshVolumes ? mountsWithFreshVolumes(container) : mountsFor(container)),
  ],
  ['Links', unlessNetworkIsShared(linksFor)],
  ['Dns', unlessNetworkIsShared(copied('Dns'))],
  ['ExtraHosts', unlessNetworkIsShared(copied('ExtraHosts'))],
  ['PortBindings', unlessNetworkIsShared(copied('PortBindings'))],
  ['PublishAllPorts', unlessNetworkIsShared(copied('PublishAllPorts'))],
  ['Sysctls', (request) => splitSysctls(request).kept],
  ['MaskedPaths', ({ container }) => confinedPaths(container, 'MaskedPaths')],
  ['ReadonlyPaths', ({ container }) => confinedPaths(container, 'ReadonlyPaths')],
  ['ConsoleSize', ({ container }) => consoleSize(container)],
  ['KernelMemory', untilApi('1.42', 'KernelMemory')],
  ['KernelMemoryTCP', untilApi('1.52', 'KernelMemoryTCP')],
  ['CpuPeriod', unlessNanoCpus('CpuPeriod')],
  ['CpuQuota', unlessNanoCpus('CpuQuota')],
]);

function copied(field: string): FieldRule {
  return ({ container }) => container.settings.HostConfig[field];
}

/**
 * These belong to the owner of the network. The engine refuses them together with `container:`, even if it wrote them
 * itself.
 */
function unlessNetworkIsShared(rule: FieldRule): FieldRule {
  return (request) => (sharesNetwork(request.container) ? undefined : rule(request));
}

/** The engine shows a missing size as zero. */
function consoleSize({ settings }: Container): unknown {
  const size = settings.HostConfig['ConsoleSize'];
  return Array.isArray(size) && size.every((side) => side === 0) ? undefined : size;
}

/**
 * Drops a limit that later versions of the API do not have:
 * https://docs.docker.com/reference/api/engine/version-history/
 */
function untilApi(version: `1.${number}`, field: string): FieldRule {
  return ({ container, apiVersion }) =>
    supportsApi(apiVersion, version) ? undefined : container.settings.HostConfig[field];
}

/** The engine refuses both forms at once, though some engines show both. */
function unlessNanoCpus(field: keyof HostConfig): FieldRule {
  return ({ container }) => {
    const { HostConfig } = container.settings;
    return Number(HostConfig['NanoCpus'] ?? 0) > 0 ? undefined : HostConfig[field];
  };
}

/** The fields of `HostConfig` that the settings exclude, because an engine does not accept them back. */
export function leftOutFields({
  cpuCopyMode,
  disableMemorySwappiness,
}: Pick<ServiceSettings, 'cpuCopyMode' | 'disableMemorySwappiness'>): ReadonlySet<string> {
  return new Set([
    ...(cpuCopyMode === 'none' ? cpuFields : []),
    ...(disableMemorySwappiness ? ['MemorySwappiness'] : []),
  ]);
}

const cpuFields = [
  'CpuShares',
  'CpuPeriod',
  'CpuQuota',
  'CpuRealtimePeriod',
  'CpuRealtimeRuntime',
  'CpusetCpus',
  'CpusetMems',
  'NanoCpus',
];

/** Paths of the kernel that a container may not see, or not change. */
export type ConfinedPaths = 'MaskedPaths' | 'ReadonlyPaths';

/**
 * Omits a default list, so that a newer engine applies its own. Any other list is the user's, even an empty one
 * (`systempaths=unconfined`). For a privileged container the engine shows null.
 */
function confinedPaths({ settings }: Container, field: ConfinedPaths): unknown {
  const paths = settings.HostConfig[field];
  return isEngineDefault(paths, field) ? undefined : paths;
}

/** Whether the list is a default of any engine version. */
export function isEngineDefault(paths: unknown, field: ConfinedPaths): boolean {
  if (!Array.isArray(paths)) return paths === null || paths === undefined;
  const { always, sometimes } = defaults[field];
  return (
    always.every((path) => paths.includes(path)) &&
    paths.every((path) => always.includes(String(path)) || sometimes.test(String(path)))
  );
}

/** `always` is the list of 20.10; newer engines add to it: https://github.com/moby/moby/blob/v28.3.0/oci/defaults.go */
const defaults: Readonly<Record<ConfinedPaths, { readonly always: readonly string[]; readonly sometimes: RegExp }>> = {
  MaskedPaths: {
    always: [
      '/proc/asound',
      '/proc/acpi',
      '/proc/kcore',
      '/proc/keys',
      '/proc/latency_stats',
      '/proc/timer_list',
      '/proc/timer_stats',
      '/proc/sched_debug',
      '/proc/scsi',
      '/sys/firmware',
    ],
    sometimes:
      /^(?:\/proc\/interrupts|\/sys\/devices\/virtual\/powercap|\/sys\/devices\/system\/cpu\/cpu\d+\/thermal_throttle)$/,
  },
  ReadonlyPaths: {
    always: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    sometimes: /^$/,
  },
};
