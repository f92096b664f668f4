import type { Container } from '../container.ts';
import type { HostConfig } from '../container-settings.ts';
import { type ConfinedPaths, isEngineDefault } from '../recipe/host-config.ts';
import { endpointSysctls, interfaceSysctl } from '../recipe/network/interface-sysctls.ts';
import { mainNetwork } from '../recipe/network/network-mode.ts';
import { parseLink, sharedNamespace, volumesFromFor } from '../recipe/other-containers.ts';
import { allKeys, compare, compareExactly, type Difference, ownValue, type Pair } from './difference.ts';
import { bindsDifference, configuredMountDifferences } from './mounts.ts';

/** No field comes from an image: every field must be unchanged, except ids of replaced containers. */
export function hostConfigDifferences(pair: Pair): readonly Difference[] {
  const [before, after] = hostConfigsOf(pair);
  const fields = allKeys(before, after).filter((field) => !pair.leftOut?.has(field));
  return fields.flatMap((field) => {
    const comparison = comparisons.get(field);
    return comparison ? comparison(pair) : compare(`HostConfig.${field}`, before[field], after[field]);
  });
}

type Comparison = (pair: Pair) => readonly Difference[];

const comparisons: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ['RestartPolicy', restartPolicyDifference],
  ['NetworkMode', networkModeDifference],
  ['IpcMode', unlessUnset('IpcMode', namespaceDifference('IpcMode'))],
  ['PidMode', namespaceDifference('PidMode')],
  ['UTSMode', namespaceDifference('UTSMode')],
  ['VolumesFrom', volumesFromDifference],
  ['Links', linksDifference],
  ['Binds', bindsDifference],
  ['Mounts', configuredMountDifferences],
  ['PortBindings', portBindingDifferences],
  ['Sysctls', sysctlDifferences],
  ['MaskedPaths', confinedPathsDifference('MaskedPaths')],
  ['ReadonlyPaths', confinedPathsDifference('ReadonlyPaths')],
  ['ConsoleSize', normalised('ConsoleSize', (size) => (String(size) === '0,0' ? null : size))],
  ['PidsLimit', normalised('PidsLimit', (limit) => (Number(limit) <= 0 ? null : limit))],
  ['Runtime', unlessUnset('Runtime')],
  ['CgroupnsMode', unlessUnset('CgroupnsMode')],
  // Engines from API 1.42 on show the limit of an older container, and take none.
  ['KernelMemory', () => []],
  ['Init', exactly('Init')],
  ['MemorySwappiness', exactly('MemorySwappiness')],
]);

/** Until the commit the policy is `no`; 20.10 stores it as an empty name. */
function restartPolicyDifference(pair: Pair): readonly Difference[] {
  const [before, after] = hostConfigsOf(pair).map(({ RestartPolicy }) => ({
    ...RestartPolicy,
    Name: RestartPolicy?.Name === 'no' ? '' : (RestartPolicy?.Name ?? ''),
  }));
  return after?.Name === '' ? [] : compare('HostConfig.RestartPolicy', before, after);
}

/** Newer engines write `bridge` for `default`. */
function networkModeDifference(pair: Pair): readonly Difference[] {
  const before = sharedNamespace('NetworkMode')(successorsOf(pair));
  const old = before?.startsWith('container:') ? before : mainNetwork(pair.before);
  return compare('HostConfig.NetworkMode', old, mainNetwork(pair.after));
}

function namespaceDifference(field: 'IpcMode' | 'PidMode' | 'UTSMode'): Comparison {
  return (pair) =>
    compare(`HostConfig.${field}`, sharedNamespace(field)(successorsOf(pair)), pair.after.settings.HostConfig[field]);
}

function volumesFromDifference(pair: Pair): readonly Difference[] {
  return compare(
    'HostConfig.VolumesFrom',
    volumesFromFor(successorsOf(pair)),
    pair.after.settings.HostConfig.VolumesFrom,
  );
}

/** Links are in random order, and a replaced container has another name until the commit. */
function linksDifference(pair: Pair): readonly Difference[] {
  const [before, after] = hostConfigsOf(pair).map(({ Links }) => (Links ?? []).map(parseLink));
  const replaced = new Set(before?.filter(({ target }) => pair.replacedIds.has(target)).map(({ alias }) => alias));
  const texts = (links: typeof before) =>
    (links ?? []).map(({ target, alias }) => (replaced.has(alias) ? alias : `${target}:${alias}`)).sort();
  return compare('HostConfig.Links', texts(before), texts(after));
}

/** For a port without bindings the engine chooses one. */
function portBindingDifferences(pair: Pair): readonly Difference[] {
  const [before, after] = hostConfigsOf(pair).map(({ PortBindings }) => PortBindings);
  const texts = (ports: typeof before, port: string) => {
    const bindings = ownValue(ports, port);
    if (bindings === undefined) return undefined;
    const all = bindings === null || bindings.length === 0 ? [{}] : bindings;
    return all.map(({ HostIp = '', HostPort = '' }) => `${HostIp}:${HostPort}`).sort();
  };
  return allKeys(before, after).flatMap((port) =>
    compare(`HostConfig.PortBindings.${port}`, texts(before, port), texts(after, port)),
  );
}

/** Sysctls of an interface may have moved to its endpoint. */
function sysctlDifferences({ before, after }: Pair): readonly Difference[] {
  return compare('HostConfig.Sysctls', sysctlsOf(before), sysctlsOf(after));
}

function sysctlsOf({ settings }: Container): readonly string[] {
  const { Sysctls } = settings.HostConfig as { readonly Sysctls?: Readonly<Record<string, string>> | null };
  const own = Object.entries(Sysctls ?? {}).map(([name, value]) => interfaceSysctl(name, value) ?? `${name}=${value}`);
  const moved = Object.values(settings.Networks).flatMap(
    ({ DriverOpts }) => ownValue(DriverOpts, endpointSysctls)?.split(',') ?? [],
  );
  return [...own, ...moved].sort();
}

function confinedPathsDifference(field: ConfinedPaths): Comparison {
  return (pair) => {
    const [before, after] = hostConfigsOf(pair).map((hostConfig) => {
      const paths = hostConfig[field];
      if (isEngineDefault(paths, field)) return 'the engine’s';
      return Array.isArray(paths) && paths.length === 0 ? 'none' : paths;
    });
    return compare(`HostConfig.${field}`, before, after);
  };
}

/** A container of an engine that did not know the field has none. A newer engine fills in its default. */
function unlessUnset(field: string, comparison?: Comparison): Comparison {
  return (pair) => {
    const [before, after] = hostConfigsOf(pair);
    if (!before[field]) return [];
    return comparison?.(pair) ?? compare(`HostConfig.${field}`, before[field], after[field]);
  };
}

function normalised(field: string, normalise: (value: unknown) => unknown): Comparison {
  return (pair) => {
    const [before, after] = hostConfigsOf(pair).map((hostConfig) => normalise(hostConfig[field]));
    return compare(`HostConfig.${field}`, before, after);
  };
}

function exactly(field: string): Comparison {
  return (pair) => {
    const [before, after] = hostConfigsOf(pair);
    return compareExactly(`HostConfig.${field}`, before[field], after[field]);
  };
}

function hostConfigsOf({ before, after }: Pair): readonly [HostConfig, HostConfig] {
  return [before.settings.HostConfig, after.settings.HostConfig];
}

function successorsOf({ before, replacedIds }: Pair) {
  return { container: before, replacedIds };
}
