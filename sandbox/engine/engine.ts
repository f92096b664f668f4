import type { Prober, Engine, Clock } from '../../src/domain/outside/outside.ts';
import type { Platform } from '../../src/domain/reference/platform.ts';
import { createCalls, type Calls } from './calls.ts';
import { createConnection } from './connection.ts';
import { createControl, type SandboxControl } from './control.ts';
import { createEventBus } from '../base/event-bus.ts';
import type { CallKind, PlannedFault, SandboxCall } from './faults.ts';
import { createIdSource } from '../base/ids.ts';
import { createTimers } from '../base/timers.ts';
import { createNetwork } from '../networks/networks.ts';
import { profiles, type EngineVersion } from '../base/profile.ts';
import { createSandboxProber } from './prober.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import { amd64 } from '../registry/release.ts';
import { emitEvent, type World } from '../world/world.ts';
import type { Swarm } from '../../src/domain/outside/swarm.ts';
import { createSwarmWorld } from '../swarm/create-swarm-world.ts';
import { createSwarmConnection } from './swarm-connection.ts';
import { createSwarmControl, type SwarmControl } from '../swarm/swarm-control.ts';
import type { Membership, SwarmState } from '../swarm/swarm-world.ts';

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

export type SandboxSwarm = { readonly world: SwarmState; readonly managers: World[] };

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

export type ConnectionOptions = {
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
