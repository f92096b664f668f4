import type { Prober, Engine, Clock, ProbeResult, ProbeRequest } from '../../src/domain/outside/outside.ts';
import type { Platform } from '../../src/domain/image/platform.ts';
import { createCalls, type Calls, type CallKind, type PlannedFault, type SandboxCall } from './calls.ts';
import { createConnection, createSwarmConnection } from './connection.ts';
import { createEventBus, createIdSource, createTimers } from '../base/simulation.ts';
import { createNetwork, isBuiltIn, pruneNetworks } from '../world/networks.ts';
import { profiles, type EngineVersion, type ListenBehaviour } from '../base/behaviour.ts';
import {
  amd64,
  buildRelease,
  type RegistryStore,
  type Release,
  type SandboxImage,
} from '../registry/registry-store.ts';
import {
  emitEvent,
  engineNowMs,
  type World,
  type SandboxExecution,
  type SandboxFile,
  type SandboxContainer,
} from '../world/world.ts';
import type { Swarm } from '../../src/domain/outside/engine.ts';
import { createSwarmWorld } from '../swarm/orchestrator.ts';
import { createSwarmControl, type SwarmControl } from '../swarm/services.ts';
import type { Membership, SwarmState } from '../swarm/swarm-world.ts';
import type { ContainerRecipe } from '../../src/domain/container/container.ts';
import {
  startEngine,
  stopEngine,
  startContainer,
  stopContainer,
  endProcess,
  pruneContainers,
  removeContainer,
  type RestartKind,
} from '../containers/processes.ts';
import { createContainer } from '../containers/create.ts';
import { placeFile } from '../containers/files.ts';
import { storeImage, tagImage } from '../world/images.ts';
import { getContainer, renameContainer, ensureVolume, findContainer } from '../world/lookup.ts';
import { takeSnapshot, type Snapshot } from '../world/view.ts';

/** A container engine in memory. It behaves like Docker as far as an updater can see, and tests control it. */
export type SandboxEngine = SandboxConnection & {
  /** Another caller with its own calls and faults: a second updater, or the restart of a killed one. */
  readonly connect: (options?: ConnectionOptions) => SandboxConnection;
  readonly control: SandboxControl;
  /** Makes the engine a manager of a swarm, and changes that swarm. */
  readonly swarmControl: SwarmControl;
  /** The engine's own swarm, in which other engines may be managers. */
  readonly ownSwarm: SandboxSwarm;
};

type SandboxSwarm = { readonly world: SwarmState; readonly managers: World[] };

export type SandboxConnection = Pick<Calls, 'plan' | 'crash' | 'isDead'> & {
  readonly engine: Engine;
  readonly swarm: Swarm;
  /** Probes the containers at their addresses. */
  readonly prober: Prober;
  /** Changing calls of this caller, including failed ones. */
  readonly calls: readonly SandboxCall[];
};

export type SandboxEngineOptions = ConnectionOptions & {
  readonly clock: Clock;
  /** Source of pulls; without it they fail. */
  readonly registries?: RegistryStore;
  readonly version?: EngineVersion;
  readonly platform?: Platform;
  readonly liveRestore?: boolean;
  /** The swarm of another engine, in which this engine is also a manager. */
  readonly swarm?: SandboxSwarm;
  /** Offset of the engine's clock from Upkeep's. */
  readonly clockSkewMs?: number;
  /** Time between the steps of a pull; default 0. */
  readonly pullStepMs?: number;
  /** Seed of the ids. */
  readonly seed?: string;
};

type ConnectionOptions = {
  readonly faults?: readonly PlannedFault[];
  /** Latency of the engine's calls, in addition to the containers' own time; default 0. */
  readonly latencyMs?: Partial<Readonly<Record<CallKind, number>>>;
};

/** Measured on Docker 20.10 with two processors and overlay2. */
export const realisticLatencyMs: Readonly<Record<CallKind, number>> = {
  pullImage: 20,
  tagImage: 2,
  removeImage: 20,
  createContainer: 12,
  createNetwork: 60,
  connectNetwork: 5,
  writeFiles: 5,
  renameContainer: 2,
  updateRestartPolicy: 2,
  stopContainer: 140,
  startContainer: 225,
  restartContainer: 365,
  removeContainer: 6,
  removeLink: 2,
  createVolume: 3,
  removeVolume: 6,
  runCommand: 80,
  changeService: 20,
  revertService: 20,
  noteFailure: 15,
  forgetFailure: 15,
};

/** Duration of a restart, so that callers see the engine down. */
const bootMs = 100;

export function createSandboxEngine(options: SandboxEngineOptions): SandboxEngine {
  const world = createWorld(options);
  const ownSwarm = options.swarm ?? createSwarm(options);
  ownSwarm.managers.push(world);
  const membership: Membership = { swarm: ownSwarm.world, place: options.swarm === undefined ? 'none' : 'manager' };
  const control = createControl(world);
  const swarmControl = createSwarmControl(membership);
  const connect = ({ faults = [], latencyMs = {} }: ConnectionOptions = {}): SandboxConnection => {
    const calls = createCalls({
      world,
      restart: (kind) => control.restartEngine(kind, bootMs),
      faults,
      latencyMs: (kind) => latencyMs[kind] ?? 0,
    });
    const { made, plan, crash, isDead } = calls;
    return {
      engine: createConnection(world, calls),
      swarm: createSwarmConnection(membership, calls),
      prober: createSandboxProber(world),
      calls: made,
      plan,
      crash,
      isDead,
    };
  };
  const close = () => {
    ownSwarm.world.later.callOffAll();
    control.close();
  };
  return { ...connect(options), connect, control: { ...control, close }, swarmControl, ownSwarm };
}

function createSwarm({ clock, registries, seed = '' }: SandboxEngineOptions): SandboxSwarm {
  const managers: World[] = [];
  const world = createSwarmWorld({
    clock,
    registries,
    seed,
    announce: (action, { id, spec }) => {
      for (const manager of managers) emitEvent(manager, 'service', action, id, { name: spec.Name });
    },
  });
  return { world, managers };
}

function createWorld(options: SandboxEngineOptions): World {
  const {
    clock,
    registries,
    version = '20.10',
    platform = amd64,
    liveRestore = false,
    clockSkewMs = 0,
    pullStepMs = 0,
  } = options;
  const world: World = {
    clock,
    profile: profiles[version],
    platform,
    liveRestore,
    clockSkewMs,
    engineId: options.seed ?? 'sandbox',
    newId: createIdSource(options.seed ?? 'sandbox'),
    events: createEventBus(),
    later: createTimers(clock),
    registries,
    pullStepMs,
    containers: new Map(),
    names: new Map(),
    images: new Map(),
    tags: new Map(),
    networks: new Map(),
    volumes: new Map(),
    foreignPorts: new Set(),
    executions: [],
    prunedAtMs: [],
    pastEvents: [],
    condition: { connection: new AbortController(), up: true, diskFull: false, timestamps: 0 },
  };
  createNetwork(world, 'bridge');
  createNetwork(world, 'host', { driver: 'host' });
  createNetwork(world, 'none', { driver: 'null' });
  return world;
}

/** Actions of people and other programs on the engine, and facts for tests. These are not counted as calls. */
type SandboxControl = {
  /** Puts an image into the engine without a registry, as `docker load` and `docker build` do. */
  readonly addImage: (reference: string, release: Release) => SandboxImage;
  readonly addNetwork: (name: string, options?: { readonly subnet?: string; readonly driver?: string }) => string;
  /** Writes a marker into a volume, which the snapshot shows; creates the volume if it is missing. */
  readonly markVolume: (name: string, marker: string) => void;
  /** `docker create`; returns the id. */
  readonly addContainer: (name: string, body: ContainerRecipe['body']) => string;
  /** `docker run -d`, started `agoMs` ago; returns the id. */
  readonly runContainer: (name: string, body: ContainerRecipe['body'], agoMs?: number) => string;
  readonly startContainer: (idOrName: string) => void;
  /** Writes a file as compose and `docker cp` do. */
  readonly placeFile: (idOrName: string, path: string, file: Partial<SandboxFile>) => void;
  /** Its changed files, by path. */
  readonly filesOf: (idOrName: string) => ReadonlyMap<string, SandboxFile>;
  /** `docker stop`; `docker kill` with a timeout of 0. */
  readonly stopContainer: (idOrName: string, timeoutSeconds?: number) => Promise<void>;
  /** Ends its process; the restart policy applies. */
  readonly endProcess: (idOrName: string, exitCode: number) => void;
  readonly renameContainer: (idOrName: string, name: string) => void;
  /** `docker rm -f`, with `-v` on request. */
  readonly removeContainer: (idOrName: string, options?: { readonly withVolumes: boolean }) => void;
  /** `docker container prune`. */
  readonly pruneContainers: () => void;
  /** `docker network prune`. */
  readonly pruneNetworks: () => void;
  readonly tagImage: (idOrReference: string, reference: string) => void;
  /** `docker rmi -f`: containers of the image stay, and can still be started. */
  readonly removeImageByForce: (imageId: string) => void;
  /** Another process takes or frees a port of the host, e.g. `8080/tcp`. */
  readonly occupyPort: (port: string) => void;
  readonly freePort: (port: string) => void;
  readonly fillDisk: () => void;
  readonly freeDisk: () => void;
  /** Takes the engine down, and starts it again after `downForMs`. */
  readonly restartEngine: (kind: RestartKind, downForMs?: number) => Promise<void>;
  readonly stopEngine: (kind: RestartKind) => void;
  readonly startEngine: () => void;
  readonly snapshot: () => Snapshot;
  /** The commands that were run in containers, oldest first. */
  readonly executions: readonly SandboxExecution[];
  /** Removes containers, volumes and networks; running operations are cancelled. */
  readonly reset: () => void;
  /** Cancels all scheduled actions, so that nothing keeps the process alive. */
  readonly close: () => void;
};

function createControl(world: World): SandboxControl {
  const addContainer = (name: string, body: ContainerRecipe['body']) => createContainer(world, name, { body }).id;
  return {
    addImage: (reference, release) => {
      const manifest = buildRelease(release);
      const image = manifest.kind === 'image' ? manifest.image : manifest.images[0];
      if (image === undefined) throw new Error('a release without platforms has no image');
      storeImage(world, image);
      tagImage(world, image.id, reference);
      return image;
    },
    addNetwork: (name, options) => createNetwork(world, name, options).id,
    markVolume: (name, marker) => void (ensureVolume(world, name).marker = marker),
    addContainer,
    runContainer: (name, body, agoMs = 0) => {
      const id = addContainer(name, body);
      const container = getContainer(world, id);
      startContainer(world, container);
      if (agoMs > 0)
        container.state = { ...container.state, startedAt: new Date(engineNowMs(world) - agoMs).toISOString() };
      return id;
    },
    placeFile: (idOrName, path, file) => placeFile(world, getContainer(world, idOrName), path, file),
    filesOf: (idOrName) => getContainer(world, idOrName).files,
    startContainer: (idOrName) => void startContainer(world, getContainer(world, idOrName)),
    stopContainer: async (idOrName, timeoutSeconds) => {
      await stopContainer(world, getContainer(world, idOrName), timeoutSeconds === undefined ? {} : { timeoutSeconds });
    },
    endProcess: (idOrName, exitCode) => endProcess(world, getContainer(world, idOrName), exitCode),
    renameContainer: (idOrName, name) => renameContainer(world, getContainer(world, idOrName), name),
    removeContainer: (idOrName, { withVolumes } = { withVolumes: false }) =>
      removeContainer(world, getContainer(world, idOrName), { withVolumes }),
    pruneContainers: () => pruneContainers(world),
    pruneNetworks: () => pruneNetworks(world),
    tagImage: (idOrReference, reference) => tagImage(world, idOrReference, reference),
    removeImageByForce: (imageId) => {
      for (const [tag, id] of world.tags) if (id === imageId) world.tags.delete(tag);
      world.images.delete(imageId);
    },
    occupyPort: (port) => void world.foreignPorts.add(port),
    freePort: (port) => void world.foreignPorts.delete(port),
    fillDisk: () => void (world.condition.diskFull = true),
    freeDisk: () => void (world.condition.diskFull = false),
    restartEngine: async (kind, downForMs = 0) => {
      stopEngine(world, kind);
      if (downForMs > 0) await world.clock.sleep(downForMs);
      startEngine(world);
    },
    stopEngine: (kind) => stopEngine(world, kind),
    startEngine: () => startEngine(world),
    snapshot: () => takeSnapshot(world),
    executions: world.executions,
    reset: () => reset(world),
    close: () => {
      world.condition.connection.abort();
      world.later.callOffAll();
    },
  };
}

function reset(world: World): void {
  for (const container of world.containers.values()) removeContainer(world, container, { withVolumes: true });
  world.later.callOffAll();
  world.volumes.clear();
  for (const network of world.networks.values()) if (!isBuiltIn(network)) world.networks.delete(network.name);
}

/** The container with the address answers a probe, or a container that shares its network. */
function createSandboxProber(world: World): Prober {
  return {
    probe: async (question, signal) => {
      signal?.throwIfAborted();
      const holder = [...world.containers.values()].find((container) => hasAddress(container, question.address));
      if (holder === undefined) return silent('there is no route to its address (EHOSTUNREACH)');
      const listener = listenersOf(world, holder).find(({ port }) => port === question.port);
      if (listener === undefined) return silent('nothing listens on the port (ECONNREFUSED)');
      return answer(world, listener, question, signal);
    },
  };
}

async function answer(
  world: World,
  { status }: ListenBehaviour,
  { path, timeoutMs }: ProbeRequest,
  signal: AbortSignal | undefined,
): Promise<ProbeResult> {
  if (path === undefined) return { kind: 'accepted' };
  if (status !== undefined) return { kind: 'status', status };
  await world.clock.sleep(timeoutMs, signal);
  return silent('there was no answer in time');
}

/** The host's own network has the address 127.0.0.1. */
function hasAddress({ process, hostConfig, endpoints }: SandboxContainer, address: string): boolean {
  if (process === undefined) return false;
  if (hostConfig.NetworkMode === 'host') return address === '127.0.0.1';
  return [...endpoints.values()].some(({ IPAddress }) => IPAddress === address);
}

function listenersOf(world: World, holder: SandboxContainer): readonly ListenBehaviour[] {
  const { clock } = world;
  const together = [...world.containers.values()].filter((container) => networkOf(world, container) === holder);
  return together.flatMap(({ process, state, behaviour }) => {
    if (process === undefined || state.status !== 'running') return [];
    const upMs = clock.monotonicMs() - process.startedAtMs;
    return (behaviour.listens ?? []).filter(({ afterMs = 0 }) => upMs >= afterMs);
  });
}

function networkOf(world: World, container: SandboxContainer): SandboxContainer {
  const target = /^container:(.+)$/.exec(container.hostConfig.NetworkMode ?? '')?.[1];
  return (target === undefined ? undefined : findContainer(world, target)) ?? container;
}

function silent(reason: string): ProbeResult {
  return { kind: 'silent', reason };
}
