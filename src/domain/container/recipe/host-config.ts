import { speaksApi } from '../api-version.ts';
import { type Container, type HostConfig, restartPolicyOf } from '../container.ts';
import { confinedPaths } from './volumes/confined-paths.ts';
import { splitSysctls } from './network/interface-sysctls.ts';
import { bindsFor, bindsWithFreshVolumes, mountsFor, mountsWithFreshVolumes } from './volumes/mounts.ts';
import { sharesNetwork } from './network/network-mode.ts';
import { linksFor, sharedNamespace, volumesFromFor } from './other-containers.ts';
import type { KnownRequest } from './request/request.ts';

/**
 * The container's `HostConfig`. No field comes from an image, so it is copied, except fields that an engine does not
 * accept back.
 */
export function hostConfigFor(request: KnownRequest): Readonly<Record<string, unknown>> {
  const { HostConfig } = request.container.settings;
  const fields = Object.entries({ RestartPolicy: null, Mounts: null, ...HostConfig })
    .filter(([field]) => !request.leftOut?.has(field))
    .map(([field, value]) => [field, (rules.get(field) ?? (() => value))(request)] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields);
}

/** Undefined leaves the field out. A field without a rule is copied. */
type Rule = (request: KnownRequest) => unknown;

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
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

function copied(field: string): Rule {
  return ({ container }) => container.settings.HostConfig[field];
}

/**
 * These belong to the owner of the network. The engine refuses them together with `container:`, even if it wrote them
 * itself.
 */
function unlessNetworkIsShared(rule: Rule): Rule {
  return (request) => (sharesNetwork(request.container) ? undefined : rule(request));
}

/** The engine shows a missing size as zero. */
function consoleSize({ settings }: Container): unknown {
  const size = settings.HostConfig['ConsoleSize'];
  return Array.isArray(size) && size.every((side) => side === 0) ? undefined : size;
}

/** The API no longer has this limit: https://docs.docker.com/reference/api/engine/version-history/ */
function untilApi(version: `1.${number}`, field: string): Rule {
  return ({ container, apiVersion }) =>
    speaksApi(apiVersion, version) ? undefined : container.settings.HostConfig[field];
}

/** The engine refuses both forms at once, though some engines show both. */
function unlessNanoCpus(field: keyof HostConfig): Rule {
  return ({ container }) => {
    const { HostConfig } = container.settings;
    return Number(HostConfig['NanoCpus'] ?? 0) > 0 ? undefined : HostConfig[field];
  };
}
