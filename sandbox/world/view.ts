import type { ContainerFilter, EngineEvent, PastEventsQuery } from '../../src/domain/outside/engine.ts';
import type { Container, ContainerSummary, Endpoint, HostConfig } from '../../src/domain/container/container.ts';
import { findImage } from './lookup.ts';
import { isProbed, engineNowMs, type SandboxContainer, type World, type HostPort } from './world.ts';

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

/** The state of the engine at one time, as plain data for assertions. */
export type Snapshot = {
  /** By name. */
  readonly containers: Readonly<Record<string, SnapshotContainer>>;
  /** Image ids by tag. */
  readonly tags: Readonly<Record<string, string>>;
  readonly imageIds: readonly string[];
  /** Content of each volume, by name. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
};

type SnapshotContainer = Container & {
  readonly running: boolean;
  readonly manuallyStopped: boolean;
  readonly hostPorts: readonly HostPort[];
};

export function takeSnapshot(world: World): Snapshot {
  const containers = [...world.containers.values()].map((container) => {
    const { process, manuallyStopped, hostPorts } = container;
    return [
      container.name,
      { ...inspectContainer(world, container), running: process !== undefined, manuallyStopped, hostPorts },
    ] as const;
  });
  return {
    containers: Object.fromEntries(containers),
    tags: Object.fromEntries(world.tags),
    imageIds: [...world.images.keys()],
    volumes: Object.fromEntries([...world.volumes.values()].map(({ name, marker }) => [name, marker])),
    networks: [...world.networks.keys()],
  };
}

/** `GET /events` with an `until`; events between the call and `until` are included. */
export async function pastEvents(
  world: World,
  { ids, sinceMs, untilMs }: PastEventsQuery,
): Promise<readonly EngineEvent[]> {
  const remainingMs = untilMs - engineNowMs(world);
  if (remainingMs > 0) await world.clock.sleep(remainingMs);
  return world.pastEvents.filter(({ id, timeMs }) => ids.includes(id) && timeMs >= sinceMs && timeMs <= untilMs);
}

/** True if a prune ends between the two times. Waits for a prune until `untilMs`. */
export async function hasPruned(world: World, { sinceMs, untilMs }: Omit<PastEventsQuery, 'ids'>): Promise<boolean> {
  if (world.prunedAtMs.some((atMs) => atMs >= sinceMs && atMs <= untilMs)) return true;
  const ending = new AbortController();
  const late = world.clock.sleep(Math.max(0, untilMs - engineNowMs(world)), ending.signal);
  late.then(
    () => ending.abort(),
    () => undefined,
  );
  try {
    for await (const event of world.events.listen(ending.signal))
      if (event.kind === 'container' && event.action === 'prune') return true;
    return false;
  } finally {
    ending.abort();
  }
}
