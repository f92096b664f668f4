import type { ContainerFilter } from '../../src/domain/outside/engine-reader.ts';
import type { Container, ContainerSummary } from '../../src/domain/container/container.ts';
import type { Endpoint, HostConfig } from '../../src/domain/container/container-settings.ts';
import { findImage } from './lookup.ts';
import { isProbed } from './health.ts';
import type { SandboxContainer, World } from './world.ts';

/** The answer of `GET /containers/{id}/json`. */
export function inspectContainer(world: World, container: SandboxContainer): Container {
  const { id, name, imageId, createdAtMs, state, restartCount, config, mounts, endpoints } = container;
  const { status, exitCode, error, startedAt = '', finishedAt = '', healthOutput } = state;
  const image = world.images.get(imageId);
  // A container that was never started has a health check but no health yet.
  const health = startedAt === '' && isProbed(container) ? 'starting' : state.health;
  return {
    id,
    name,
    imageId,
    createdAtMs,
    state: { status, exitCode, error, oomKilled: false, startedAt, finishedAt, health, healthOutput },
    restartCount,
    settings: {
      Config: config,
      HostConfig: hostConfigOf(container),
      Mounts: mounts.map(({ point }) => point),
      Networks: Object.fromEntries<Endpoint>(endpoints),
    },
    ...(image && { imageLabels: image.image.config.Labels ?? {} }),
  };
}

/** The answer of `GET /containers/json?all=1`, newest first. */
export function listContainers(world: World, filter: ContainerFilter = {}): readonly ContainerSummary[] {
  const { ids, namePrefix = '', label } = filter;
  const listed: ContainerSummary[] = [];
  for (const container of world.containers.values()) {
    const { id, name, config } = container;
    if (ids?.includes(id) === false) continue;
    if (name.startsWith(namePrefix) && (label === undefined || carries(config.Labels ?? {}, label)))
      listed.push(summarise(world, container));
  }
  return listed.toReversed();
}

function carries(labels: Readonly<Record<string, string>>, filter: string): boolean {
  const [name = '', ...value] = filter.split('=');
  return Object.hasOwn(labels, name) && (value.length === 0 || labels[name] === value.join('='));
}

function summarise(world: World, container: SandboxContainer): ContainerSummary {
  const { id, name, imageId, createdAtMs, state, config, hostConfig, process } = container;
  const isCurrent = findImage(world, config.Image)?.image.id === imageId;
  return {
    id,
    name,
    image: isCurrent ? config.Image : imageId,
    imageId,
    status: state.status,
    // The list has the health only in the text "Up 3 seconds (healthy)".
    health: process === undefined ? 'none' : state.health,
    labels: config.Labels ?? {},
    createdAtMs: Math.floor(createdAtMs / 1000) * 1000,
    networkMode: hostConfig.NetworkMode ?? '',
  };
}

/** Links show the current or last names of both ends. */
function hostConfigOf({ name, hostConfig, links }: SandboxContainer): HostConfig {
  if (links.size === 0) return hostConfig;
  const shown = [...links].map(([alias, linked]) => `/${linked.name}:/${name}/${alias}`);
  return { ...hostConfig, Links: shown };
}
