import type {
  ContainerRecipe,
  ContainerConfig,
  Endpoint,
  HostConfig,
  Healthcheck,
  ImageConfig,
  MountPoint,
} from '../../src/domain/container/container.ts';
import { formatPlatform, samePlatform, type Platform } from '../../src/domain/image/platform.ts';
import { dataOrderLabel } from '../../src/domain/transaction/data-helper.ts';
import { readCreateBody, type CreateBody } from './create-body.ts';
import { findContainer, getImage, claimName, removeOrphanedVolumes, ensureVolume } from '../world/lookup.ts';
import { plannedEndpoints, plannedMacs } from '../world/networks.ts';
import { Refusal } from '../base/simulation.ts';
import type { SandboxImage } from '../registry/registry-store.ts';
import {
  emitContainerEvent,
  engineNowMs,
  type SandboxContainer,
  type SandboxMount,
  type SandboxState,
  type World,
} from '../world/world.ts';

/** `POST /containers/create`, completely or not at all. The name is taken first, and released if the engine refuses. */
export function createContainer(
  world: World,
  name: string,
  { body, platform }: Pick<ContainerRecipe, 'body' | 'platform'>,
): SandboxContainer {
  const asked = readCreateBody(body, world.profile);
  checkEndpoints(world, asked.endpoints);
  const { image } = getImage(world, asked.config.Image);
  checkPlatform(image, asked.config.Image, platform);
  const config = withImageDefaults(asked.config, image.config);
  if (!config.Entrypoint?.length && !config.Cmd?.length) throw new Refusal(400, 'No command specified');
  const id = world.newId('container');
  const hostConfig = withContainerIds(world, asked.hostConfig);
  claimName(world, name, id);
  try {
    const container = assemble(world, { id, name, image, config, hostConfig, endpoints: asked.endpoints });
    world.containers.set(id, container);
    emitContainerEvent(world, 'create', container);
    return container;
  } catch (error) {
    world.names.delete(name);
    throw error;
  }
}

type Parts = {
  readonly id: string;
  readonly name: string;
  readonly image: SandboxImage;
  readonly config: ContainerConfig;
  readonly hostConfig: HostConfig;
  readonly endpoints: CreateBody['endpoints'];
};

function assemble(world: World, { id, name, image, config, hostConfig, endpoints }: Parts): SandboxContainer {
  const mounts = createMounts(world, config, hostConfig);
  const macs = plannedMacs(world, config, hostConfig, endpoints);
  return {
    id,
    name,
    imageId: image.id,
    // A shell as process 1 ignores the signal.
    behaviour: dataOrderLabel in (config.Labels ?? {}) ? { ignoresTerm: true } : image.behaviour,
    createdAtMs: engineNowMs(world),
    config: { ...config, Hostname: hostnameOf(config, hostConfig, id), ...firstMac(macs, hostConfig) },
    hostConfig,
    mounts,
    endpoints: plannedEndpoints(world, hostConfig.NetworkMode ?? 'default', endpoints),
    macs,
    links: linksOf(world, hostConfig, mounts),
    state: neverStarted,
    restartCount: 0,
    failuresInARow: 0,
    manuallyStopped: false,
    process: undefined,
    removing: false,
    logs: [],
    files: new Map(),
    hostPorts: [],
  };
}

const neverStarted: SandboxState = {
  status: 'created',
  exitCode: 0,
  error: '',
  startedAt: undefined,
  finishedAt: undefined,
  health: 'none',
  healthOutput: '',
};

function checkPlatform(image: SandboxImage, reference: string, wanted: Platform | undefined): void {
  if (wanted === undefined || samePlatform(wanted, image.platform)) return;
  const mismatch = `wanted ${formatPlatform(wanted)}, actual: ${formatPlatform(image.platform)}`;
  throw new Refusal(
    404,
    `image with reference ${reference} was found but does not match the specified platform: ${mismatch}`,
  );
}

function checkEndpoints({ profile }: World, endpoints: Readonly<Record<string, Endpoint>>): void {
  const names = Object.keys(endpoints);
  if (names.length > 1 && !profile.hasEndpointsOfItsOwn)
    throw new Refusal(400, `Container cannot be connected to network endpoints: ${names.join(', ')}`);
  if (profile.refusesBridgeAliasAtCreate && endpoints['bridge']?.Aliases?.length)
    throw new Refusal(400, 'network-scoped alias is supported only for containers in user defined networks');
}

/**
 * Replaces names of other containers by ids. The container of a shared network may be missing until the start; the
 * others may not.
 */
function withContainerIds(world: World, hostConfig: HostConfig): HostConfig {
  const resolve = (mode: string | undefined, mayBeMissing: boolean) => {
    if (mode === undefined || !mode.startsWith('container:')) return mode ?? '';
    const target = mode.slice('container:'.length);
    const found = findContainer(world, target);
    if (found === undefined && !mayBeMissing) throw new Refusal(400, `No such container: ${target}`);
    return found === undefined ? mode : `container:${found.id}`;
  };
  return {
    ...hostConfig,
    NetworkMode: resolve(hostConfig.NetworkMode, true),
    IpcMode: resolve(hostConfig.IpcMode, false),
    PidMode: resolve(hostConfig.PidMode, false),
  };
}

/** The hardware address of its first network is the container's own. */
function firstMac(
  macs: ReadonlyMap<string, string>,
  { NetworkMode: mode = '' }: HostConfig,
): Pick<ContainerConfig, 'MacAddress'> {
  const MacAddress = macs.get(mode === 'default' ? 'bridge' : mode);
  return MacAddress === undefined ? {} : { MacAddress };
}

/** Removes the mounts again if a link fails. */
function linksOf(
  world: World,
  { Links: links }: HostConfig,
  mounts: readonly SandboxMount[],
): ReadonlyMap<string, SandboxContainer> {
  const byAlias = new Map<string, SandboxContainer>();
  for (const link of links ?? []) {
    const [target = '', alias = target] = link.split(':');
    const found = findContainer(world, target);
    if (found === undefined) removeOrphanedVolumes(world, mounts);
    if (found === undefined)
      throw new Refusal(400, `could not get container for ${target}: No such container: ${target}`);
    byAlias.set(alias, found);
  }
  return byAlias;
}

/** The engine's host name on the host's network, else the requested one, else the short id. */
function hostnameOf(config: ContainerConfig, hostConfig: HostConfig, id: string): string {
  if (config.Hostname) return config.Hostname;
  return hostConfig.NetworkMode === 'host' ? engineHostname : id.slice(0, 12);
}

export const engineHostname = 'sandbox';

/**
 * Settings of a container from its request and its image, by the rules of
 * https://docs.docker.com/reference/dockerfile/ for each instruction at run time.
 */
function withImageDefaults(asked: ContainerConfig, image: ImageConfig): ContainerConfig {
  const program = programOf(asked, image);
  const healthcheck = healthcheckOf(asked.Healthcheck, image.Healthcheck);
  const stopSignal = asked.StopSignal || image.StopSignal;
  const ports = merged(image.ExposedPorts, asked.ExposedPorts);
  return {
    ...asked,
    ...program,
    ...(healthcheck && { Healthcheck: healthcheck }),
    ...(stopSignal && { StopSignal: stopSignal }),
    ...(ports && { ExposedPorts: ports }),
    User: asked.User || (image.User ?? ''),
    WorkingDir: asked.WorkingDir || (image.WorkingDir ?? ''),
    Env: environmentOf(asked.Env ?? [], image.Env),
    Labels: { ...image.Labels, ...asked.Labels },
    Volumes: merged(image.Volumes, asked.Volumes),
  };
}

/** An own Entrypoint also drops the image's Cmd; `[""]` drops the image's Entrypoint. */
function programOf(asked: ContainerConfig, image: ImageConfig): Pick<ContainerConfig, 'Entrypoint' | 'Cmd'> {
  const ownEntrypoint = (asked.Entrypoint?.length ?? 0) > 0;
  const ownCommand = (asked.Cmd?.length ?? 0) > 0;
  const entrypoint = ownEntrypoint ? asked.Entrypoint : (asked.Entrypoint ?? image.Entrypoint ?? null);
  const isReset = entrypoint?.length === 1 && entrypoint[0] === '';
  return {
    Entrypoint: isReset ? null : (entrypoint ?? null),
    Cmd: ownEntrypoint || ownCommand ? (asked.Cmd ?? null) : (image.Cmd ?? asked.Cmd ?? null),
  };
}

function environmentOf(
  asked: readonly string[],
  image: readonly string[] | null | undefined,
): readonly string[] | null {
  if (asked.length === 0) return image ?? null;
  const own = new Set(asked.map(variableOf));
  return [...asked, ...(image ?? []).filter((line) => !own.has(variableOf(line)))];
}

function variableOf(line: string): string {
  return line.split('=', 1)[0] ?? '';
}

function healthcheckOf(
  asked: Healthcheck | null | undefined,
  image: Healthcheck | null | undefined,
): Healthcheck | undefined {
  if (!asked) return image ?? undefined;
  if (!image) return asked;
  const inherited = Object.entries(image).filter(([field]) => isUnset(asked[field]));
  return { ...asked, ...Object.fromEntries(inherited) };
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === 0 || (Array.isArray(value) && value.length === 0);
}

function merged(
  image: Readonly<Record<string, object>> | null | undefined,
  asked: Readonly<Record<string, object>> | null | undefined,
) {
  const both = { ...image, ...asked };
  return Object.keys(both).length > 0 ? both : null;
}

/**
 * Mounts of a container, in this order: volumes of other containers, binds, mounts, and an anonymous volume for each
 * remaining path.
 */
function createMounts(world: World, config: ContainerConfig, hostConfig: HostConfig): readonly SandboxMount[] {
  const mounts = new Map<string, SandboxMount>();
  const add = (mount: SandboxMount) => mounts.set(mount.point.Destination, mount);
  for (const from of hostConfig.VolumesFrom ?? []) for (const mount of mountsFrom(world, from)) add(mount);
  for (const bind of hostConfig.Binds ?? []) add(bindMount(world, bind));
  for (const mount of hostConfig.Mounts ?? []) add(specifiedMount(world, mount));
  for (const path of Object.keys(config.Volumes ?? {})) {
    if (!mounts.has(path)) add(anonymousMount(world, path, ''));
  }
  return [...mounts.values()];
}

function mountsFrom(world: World, specification: string): readonly SandboxMount[] {
  const [name = '', mode = ''] = specification.split(':');
  const source = findContainer(world, name);
  if (source === undefined) throw new Refusal(400, `No such container: ${name}`);
  return source.mounts.map((mount) => ({
    ...mount,
    point: { ...mount.point, Mode: mode === 'ro' ? '' : mode, RW: mount.point.RW !== false && mode !== 'ro' },
  }));
}

/** `name:/path:mode` or `/host/path:/path:mode`. */
function bindMount(world: World, bind: string): SandboxMount {
  const [source = '', destination = '', mode = ''] = bind.split(':');
  if (source === '' || !destination.startsWith('/')) throw new Refusal(400, `invalid volume specification: '${bind}'`);
  const readOnly = mode.split(',').includes('ro');
  if (!source.startsWith('/'))
    return { anonymous: false, point: volumePoint(world, source, destination, mode || 'z', readOnly) };
  return {
    anonymous: false,
    point: {
      Type: 'bind',
      Source: source,
      Destination: destination,
      Mode: mode,
      RW: !readOnly,
      Propagation: 'rprivate',
    },
  };
}

function specifiedMount(world: World, mount: Readonly<Record<string, unknown>>): SandboxMount {
  const type = text(mount['Type']);
  const destination = text(mount['Target']);
  const source = text(mount['Source']);
  const readOnly = mount['ReadOnly'] === true;
  if (destination === '')
    throw new Refusal(400, `invalid mount config for type "${type}": field Target must not be empty`);
  if (type === 'volume' && source === '') return anonymousMount(world, destination, 'z', readOnly);
  if (type === 'volume') return { anonymous: false, point: volumePoint(world, source, destination, 'z', readOnly) };
  const point = { Type: type, Source: source, Destination: destination, Mode: '', RW: !readOnly };
  return { anonymous: false, point: { ...point, Propagation: type === 'bind' ? 'rprivate' : '' } };
}

function anonymousMount(world: World, destination: string, mode: string, readOnly = false): SandboxMount {
  const point = volumePoint(world, world.newId('volume'), destination, mode, readOnly);
  return { anonymous: true, point };
}

function volumePoint(world: World, name: string, destination: string, mode: string, readOnly: boolean): MountPoint {
  ensureVolume(world, name);
  const source = `/var/lib/docker/volumes/${name}/_data`;
  return {
    Type: 'volume',
    Name: name,
    Source: source,
    Destination: destination,
    Driver: 'local',
    Mode: mode,
    RW: !readOnly,
    Propagation: '',
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
