import { endpointsFor, supportsApi, sharesNetwork, mainNetwork, networkDifferences, sysctlsField } from './networks.ts';
import { ownConfig, configDifferences } from './config.ts';
import {
  refusal,
  applyRules,
  noRestart,
  restartPolicyOf,
  type KnownRequest,
  type RecipeRequest,
  type ContainerRecipe,
  type HostConfig,
  type FieldRule,
  type Container,
} from '../container.ts';
import { normalisePlatform, type Platform } from '../../image/platform.ts';
import { compare, ownValue, allKeys, compareExactly, type Difference, type Pair } from './difference.ts';
import { bindsField, mountDifferences, mountsField } from './volumes.ts';
import type { ServiceSettings } from '../../settings/effective-settings.ts';

/**
 * The container's settings without the values inherited from its old image, so that it inherits the new image's:
 * https://docs.docker.com/reference/api/engine/#tag/Container/operation/ContainerCreate. Unknown fields are copied. The
 * restart policy is `no`, and the commit sets the real one if the engine can change it. Throws `invalid-input` for a
 * container that cannot be reproduced.
 */
export function recipeFor(request: RecipeRequest): ContainerRecipe {
  const { obstacle } = request.container.settings;
  if (obstacle !== undefined) throw refusal(request.container, `it ${obstacle}`);
  const known = withOldImage(request);
  const endpoints = endpointsFor(known);
  const body = {
    ...ownConfig(known),
    HostConfig: hostConfigFor(known),
    NetworkingConfig: { EndpointsConfig: endpoints.atCreate },
  };
  return { body, laterEndpoints: endpoints.later, ...platformFor(known) };
}

/** Without the old image's defaults every setting would count as the user's and stay fixed for ever. */
function withOldImage(request: RecipeRequest): KnownRequest {
  const { container, oldImage } = request;
  if (oldImage === undefined) {
    throw refusal(
      container,
      'the image it was created from is gone from the engine, so its own settings cannot be distinguished from the image’s',
      'pull that image again, or recreate the container from its compose file or command',
    );
  }
  if (oldImage.isConfigUnknown) {
    throw refusal(
      container,
      'the engine does not know the configuration of the image it was created from, so its own settings cannot be distinguished from the image’s',
      'recreate the container from its compose file or command',
    );
  }
  return { ...request, oldImage };
}

/** If the container runs under emulation or on a related platform, the successor must keep that platform. */
function platformFor({ container, oldImage, enginePlatform }: KnownRequest): { readonly platform?: Platform } {
  const { os, architecture, variant } = container.platform ?? oldImage;
  if (os === '' || architecture === '') return {};
  const platform = { os, architecture, variant };
  const [image, engine] = [normalisePlatform(platform), normalisePlatform(enginePlatform)];
  const sameMachine = image.os === engine.os && image.architecture === engine.architecture;
  return sameMachine ? {} : { platform };
}

/**
 * Differences between a container and its successor, except values inherited from the new image. Empty for a faithful
 * successor. The successor must be created and connected, but need not run, so an update can be cancelled while the old
 * container runs. Both are read from the engine; the recipe is not used. The name, the state, run-time values of
 * networks, and a restart policy of `no` are not compared.
 */
export function differences(
  before: Container,
  after: Container,
  context: Omit<Pair, 'before' | 'after'>,
): readonly Difference[] {
  const pair = { before, after, ...context };
  return [
    ...configDifferences(pair),
    ...hostConfigDifferences(pair),
    ...mountDifferences(pair),
    ...networkDifferences(pair),
  ].slice(0, maxDifferences);
}

/** Each difference is a line of a log, and more lines are of no use. */
const maxDifferences = 50;

/**
 * The container's `HostConfig`. No field comes from an image, so it is copied, except fields that an engine does not
 * accept back.
 */
function hostConfigFor(request: KnownRequest): Readonly<Record<string, unknown>> {
  const { HostConfig } = request.container.settings;
  const fields = Object.entries({ RestartPolicy: null, Mounts: null, ...HostConfig });
  const kept = fields.filter(([field]) => !request.leftOut?.has(field));
  const rules = new Map([...hostFields].flatMap(([field, { make }]) => (make === undefined ? [] : [[field, make]])));
  return applyRules(kept, rules, request);
}

/**
 * A field without `make` is copied, and one without `compare` must mean the same to the engine. So a field that an engine
 * adds needs no row; the API version that has it must be within `newestVersion` of the client.
 */
type HostField = { readonly make?: FieldRule; readonly compare?: Comparison };

const hostFields: ReadonlyMap<string, HostField> = new Map<string, HostField>([
  ['RestartPolicy', { make: policyAtFirst, compare: restartPolicyDifference }],
  ['NetworkMode', { make: sharedNamespace('NetworkMode'), compare: networkModeDifference }],
  ['IpcMode', { make: sharedNamespace('IpcMode'), compare: unlessUnset('IpcMode', namespaceDifference('IpcMode')) }],
  ['PidMode', { make: sharedNamespace('PidMode'), compare: namespaceDifference('PidMode') }],
  ['UTSMode', { make: sharedNamespace('UTSMode'), compare: namespaceDifference('UTSMode') }],
  ['VolumesFrom', { make: volumesFromFor, compare: volumesFromDifference }],
  ['Binds', bindsField],
  ['Mounts', mountsField],
  ['Links', { make: unlessNetworkIsShared(linksFor), compare: linksDifference }],
  ['Dns', { make: unlessNetworkIsShared(copied('Dns')) }],
  ['ExtraHosts', { make: unlessNetworkIsShared(copied('ExtraHosts')) }],
  ['PortBindings', { make: unlessNetworkIsShared(copied('PortBindings')), compare: portBindingDifferences }],
  ['PublishAllPorts', { make: unlessNetworkIsShared(copied('PublishAllPorts')) }],
  ['Sysctls', sysctlsField],
  ['MaskedPaths', confinedPaths('MaskedPaths')],
  ['ReadonlyPaths', confinedPaths('ReadonlyPaths')],
  [
    'ConsoleSize',
    { make: consoleSize, compare: normalised('ConsoleSize', (size) => (String(size) === '0,0' ? null : size)) },
  ],
  // Engines from API 1.42 on show the limit of an older container, and take none.
  ['KernelMemory', { make: untilApi('1.42', 'KernelMemory'), compare: () => [] }],
  ['KernelMemoryTCP', { make: untilApi('1.52', 'KernelMemoryTCP') }],
  ['CpuPeriod', { make: unlessNanoCpus('CpuPeriod') }],
  ['CpuQuota', { make: unlessNanoCpus('CpuQuota') }],
  ['PidsLimit', { compare: normalised('PidsLimit', (limit) => (Number(limit) <= 0 ? null : limit)) }],
  ['Runtime', { compare: unlessUnset('Runtime') }],
  ['CgroupnsMode', { compare: unlessUnset('CgroupnsMode') }],
  ['Init', { compare: exactly('Init') }],
  ['MemorySwappiness', { compare: exactly('MemorySwappiness') }],
]);

type Comparison = (pair: Pair) => readonly Difference[];

/** Until the commit the policy is `no`, if the engine can change it then. */
function policyAtFirst({ container, policyFromStart }: KnownRequest): unknown {
  return policyFromStart ? restartPolicyOf(container) : noRestart;
}

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
function consoleSize({ container }: KnownRequest): unknown {
  const size = container.settings.HostConfig['ConsoleSize'];
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

/** With `--cpu-copy-mode none`. A limit of the CPU that an engine adds belongs here too. */
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
type ConfinedPaths = 'MaskedPaths' | 'ReadonlyPaths';

/**
 * Omits a default list, so that a newer engine applies its own. Any other list is the user's, even an empty one
 * (`systempaths=unconfined`). For a privileged container the engine shows null.
 */
function confinedPaths(field: ConfinedPaths): HostField {
  return {
    make({ container }) {
      const paths = container.settings.HostConfig[field];
      return isEngineDefault(paths, field) ? undefined : paths;
    },
    compare(pair) {
      const [before, after] = hostConfigsOf(pair).map((hostConfig) => {
        const paths = hostConfig[field];
        if (isEngineDefault(paths, field)) return 'the engine’s';
        return Array.isArray(paths) && paths.length === 0 ? 'none' : paths;
      });
      return compare(`HostConfig.${field}`, before, after);
    },
  };
}

/** Whether the list is a default of any engine version. */
function isEngineDefault(paths: unknown, field: ConfinedPaths): boolean {
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

/** The containers that are replaced together with this one: see `KnownRequest`. */
type Replaced = Pick<KnownRequest, 'container' | 'replacedIds'>;

type Mode = 'NetworkMode' | 'IpcMode' | 'PidMode' | 'UTSMode';

/** A namespace of another container (`container:<id>`), or of its successor if that container is replaced too. */
function sharedNamespace(field: Mode): (request: Replaced) => string | undefined {
  return ({ container, replacedIds }) => {
    const mode = container.settings.HostConfig[field];
    return mode?.replace(/^container:(.+)$/s, (_, id: string) => `container:${replacedIds.get(id) ?? id}`);
  };
}

/**
 * `id:ro`: ids become the successor's. A name stays: it means the old container during the creation, and its volumes
 * are the same.
 */
function volumesFromFor({ container, replacedIds }: Replaced): readonly string[] | null | undefined {
  return container.settings.HostConfig.VolumesFrom?.map((text) => {
    const [reference = '', ...mode] = text.split(':');
    return [successorOf(reference, replacedIds), ...mode].join(':');
  });
}

/** An inspection shows `/db:/web/alias` in random order. The engine expects `db:alias`. */
function linksFor({ container, replacedIds }: Replaced): readonly string[] | null | undefined {
  return container.settings.HostConfig.Links?.map((text) => {
    const { target, alias } = parseLink(text);
    return `${replacedIds.get(target) ?? target}:${alias}`;
  }).toSorted();
}

export function parseLink(text: string): { readonly target: string; readonly alias: string } {
  const [source = '', path = source] = text.split(':');
  return { target: source.replace(/^\//, ''), alias: path.replace(/^.*\//s, '') };
}

/** The engine stores what the user wrote, which may be the beginning of an id. A name stays. */
function successorOf(reference: string, replacedIds: ReadonlyMap<string, string>): string {
  const isName = replacedIds.has(reference) && !/^[0-9a-f]{64}$/.test(reference);
  if (isName || !/^[0-9a-f]{4,64}$/.test(reference)) return reference;
  for (const [id, successor] of replacedIds) if (id.startsWith(reference)) return successor;
  return reference;
}

/** No field comes from an image: every field must be unchanged, except ids of replaced containers. */
function hostConfigDifferences(pair: Pair): readonly Difference[] {
  const [before, after] = hostConfigsOf(pair);
  const fields = allKeys(before, after).filter((field) => !pair.leftOut?.has(field));
  return fields.flatMap((field) => {
    const comparison = hostFields.get(field)?.compare;
    return comparison ? comparison(pair) : compare(`HostConfig.${field}`, before[field], after[field]);
  });
}

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
