import type { ServiceSettings } from '../../settings/settings.ts';

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
