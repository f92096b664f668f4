import type { ContainerRecipe } from '../../src/domain/container/recipe/request/request.ts';
import type { ContainerConfig, Endpoint, HostConfig } from '../../src/domain/container/container-settings.ts';
import { formatPlatform, samePlatform, type Platform } from '../../src/domain/reference/platform.ts';
import { readCreateBody, type CreateBody } from './create-body.ts';
import { withImageDefaults } from './image-defaults.ts';
import { findContainer, getImage } from '../world/lookup.ts';
import { createMounts } from './mounts.ts';
import { claimName } from '../world/names.ts';
import { plannedEndpoints, plannedMacs } from '../networks/networks.ts';
import { Refusal } from '../base/refusal.ts';
import type { SandboxImage } from '../registry/release.ts';
import { removeOrphanedVolumes } from '../world/volumes.ts';
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
    behaviour: image.behaviour,
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
