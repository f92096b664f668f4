import type { ContainerRecipe } from '../../domain/container-recipe.ts';
import type { ContainerConfig, Endpoint, HostConfig } from '../../domain/container.ts';
import { formatPlatform, samePlatform } from '../../domain/platform.ts';
import { readCreateBody } from './create-body.ts';
import { withImageDefaults } from './image-defaults.ts';
import { findContainer, getImage } from './lookup.ts';
import { createMounts } from './mounts.ts';
import { claimName } from './names.ts';
import { plannedEndpoints } from './networks.ts';
import { Refusal } from './refusal.ts';
import { announceContainer, engineNowMs, type SandboxContainer, type World } from './world.ts';

/** `POST /containers/create`: all or nothing; the name is taken last, so that a refusal leaves nothing behind. */
export function createContainer(
  world: World,
  name: string,
  recipe: Pick<ContainerRecipe, 'body' | 'platform'>,
): SandboxContainer {
  const { config: asked, hostConfig: wanted, endpoints } = readCreateBody(recipe.body, world.profile);
  checkEndpoints(world, endpoints);
  const { image } = getImage(world, asked.Image);
  const { platform } = recipe;
  if (platform !== undefined && !samePlatform(platform, image.platform))
    throw new Refusal(
      404,
      `image with reference ${asked.Image} was found but does not match the specified platform: wanted ${formatPlatform(platform)}, actual: ${formatPlatform(image.platform)}`,
    );
  const config = withImageDefaults(asked, image.config);
  if (!config.Entrypoint?.length && !config.Cmd?.length) throw new Refusal(400, 'No command specified');
  const id = world.ids.next('container');
  const hostConfig = withContainerIds(world, wanted);
  const links = linksOf(world, hostConfig);
  claimName(world, name, id);
  const container: SandboxContainer = {
    id,
    name,
    imageId: image.id,
    behaviour: image.behaviour,
    createdAtMs: engineNowMs(world),
    config: { ...config, Hostname: hostnameOf(config, hostConfig, id) },
    hostConfig,
    mounts: createMountsOrFreeName(world, name, config, hostConfig),
    endpoints: plannedEndpoints(world, hostConfig.NetworkMode ?? 'default', endpoints),
    links,
    state: {
      status: 'created',
      exitCode: 0,
      error: '',
      startedAt: undefined,
      finishedAt: undefined,
      health: 'none',
      healthOutput: '',
    },
    restartCount: 0,
    failuresInARow: 0,
    manuallyStopped: false,
    process: undefined,
    removing: false,
    logs: [],
    hostPorts: [],
  };
  world.containers.set(id, container);
  announceContainer(world, 'create', container);
  return container;
}

function createMountsOrFreeName(world: World, name: string, config: ContainerConfig, hostConfig: HostConfig) {
  try {
    return createMounts(world, config, hostConfig);
  } catch (error) {
    world.names.delete(name);
    throw error;
  }
}

function checkEndpoints({ profile }: World, endpoints: Readonly<Record<string, Endpoint>>): void {
  const names = Object.keys(endpoints);
  if (names.length > 1 && !profile.severalEndpointsAtCreate)
    throw new Refusal(400, `Container cannot be connected to network endpoints: ${names.join(', ')}`);
  if (profile.refusesBridgeAliasAtCreate && endpoints['bridge']?.Aliases?.length)
    throw new Refusal(400, 'network-scoped alias is supported only for containers in user defined networks');
}

/** Names of other containers become ids. A network's may be missing until the start; the others may not. */
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

function linksOf(world: World, { Links: links }: HostConfig): ReadonlyMap<string, string> {
  const byAlias = new Map<string, string>();
  for (const link of links ?? []) {
    const [target = '', alias = target] = link.split(':');
    const found = findContainer(world, target);
    if (found === undefined)
      throw new Refusal(400, `could not get container for ${target}: No such container: ${target}`);
    byAlias.set(alias, found.id);
  }
  return byAlias;
}

/** The engine's own name on the host's network, else the short id, unless one was asked for. */
function hostnameOf(config: ContainerConfig, hostConfig: HostConfig, id: string): string {
  if (config.Hostname) return config.Hostname;
  return hostConfig.NetworkMode === 'host' ? engineHostname : id.slice(0, 12);
}

export const engineHostname = 'sandbox';
