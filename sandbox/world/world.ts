import type { EngineEvent, ContainerCommand } from '../../src/domain/outside/engine.ts';
import type {
  ContainerStatus,
  HealthStatus,
  ContainerConfig,
  Endpoint,
  HostConfig,
  MountPoint,
  Healthcheck,
} from '../../src/domain/container/container.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import type { Platform } from '../../src/domain/image/platform.ts';
import type { Behaviour, EngineProfile } from '../base/behaviour.ts';
import type { EventBus, IdSource, Timers } from '../base/simulation.ts';
import type { RegistryStore, SandboxImage } from '../registry/registry-store.ts';

/**
 * The engine's whole state. Data in flight is only here, so a restart loses the same data as in a real engine.
 */
export type World = {
  readonly clock: Clock;
  readonly profile: EngineProfile;
  readonly platform: Platform;
  readonly liveRestore: boolean;
  /** Offset of the engine's clock from ours. */
  readonly clockSkewMs: number;
  /** The id that the engine reports; clones share it. */
  readonly engineId: string;
  readonly newId: IdSource;
  readonly events: EventBus;
  /** Timers of processes; they continue while the engine is down. */
  readonly later: Timers;
  readonly registries: RegistryStore | undefined;
  /** Time between the steps of a pull. */
  readonly pullStepMs: number;
  /** By id, in the order of creation. */
  readonly containers: Map<string, SandboxContainer>;
  /** Container ids by name. */
  readonly names: Map<string, string>;
  /** By id. */
  readonly images: Map<string, StoredImage>;
  /** Image ids by `repository:tag` in the familiar spelling. */
  readonly tags: Map<string, string>;
  /** By name. */
  readonly networks: Map<string, SandboxNetwork>;
  readonly volumes: Map<string, SandboxVolume>;
  /** Host ports in use by other programs, e.g. `8080/tcp`. */
  readonly foreignPorts: Set<string>;
  /** Commands that were run in containers, oldest first. */
  readonly executions: SandboxExecution[];
  /** Times of prunes, by the engine's clock. */
  readonly prunedAtMs: number[];
  /** The last events of containers; a restart of the engine forgets them. */
  readonly pastEvents: ContainerEvent[];
  condition: Condition;
};

export type SandboxExecution = Omit<ContainerCommand, 'timeoutMs'> & {
  readonly container: string;
  readonly containerId: string;
};

type Condition = {
  /** Aborts when the engine goes down; each start has a new one. */
  connection: AbortController;
  up: boolean;
  diskFull: boolean;
  /** Counter in the timestamps, so that no two are equal. */
  timestamps: number;
};

export type SandboxContainer = {
  readonly id: string;
  name: string;
  readonly imageId: string;
  /** Behaviour of its image at the creation; it stays after the image is removed. */
  readonly behaviour: Behaviour;
  readonly createdAtMs: number;
  config: ContainerConfig;
  hostConfig: HostConfig;
  readonly mounts: readonly SandboxMount[];
  /** By network name. */
  readonly endpoints: Map<string, Endpoint>;
  /** Requested hardware addresses, by network name. */
  readonly macs: Map<string, string>;
  /** By alias: legacy links follow the object, not the name. */
  readonly links: ReadonlyMap<string, SandboxContainer>;
  state: SandboxState;
  restartCount: number;
  /** Number of exits soon after the start, in a row. */
  failuresInARow: number;
  /** It was stopped through the API; `unless-stopped` keeps this over a restart of the engine. */
  manuallyStopped: boolean;
  process: SandboxProcess | undefined;
  /** True while the engine deletes it. */
  removing: boolean;
  readonly logs: string[];
  /** The files that its image does not have, or that differ from it, by path. */
  readonly files: Map<string, SandboxFile>;
  hostPorts: readonly HostPort[];
};

export type SandboxFile = {
  readonly kind: 'file' | 'folder' | 'link';
  /** Of a file; the target of a link. */
  readonly content: string;
  readonly mode: number;
  /** `user:group`, as numbers. */
  readonly owner: string;
  /** With nanoseconds, or a whole second from an archive. */
  readonly modifiedAt: string;
};

export type SandboxState = {
  readonly status: ContainerStatus;
  readonly exitCode: number;
  readonly error: string;
  /** Undefined: never started. */
  readonly startedAt: string | undefined;
  /** Undefined: never ended. */
  readonly finishedAt: string | undefined;
  readonly health: HealthStatus;
  readonly healthOutput: string;
};

export type SandboxProcess = {
  /** Resolves when no process is left and the engine will not start another one. */
  readonly ended: Promise<void>;
  readonly settle: () => void;
  readonly startedAtMs: number;
  /** A stop signal was sent and will take effect. */
  dying: boolean;
  /** Functions that cancel the timers of the process. */
  readonly callOff: (() => void)[];
};

export type SandboxMount = {
  readonly point: MountPoint;
  /** The volume has no name from a request: it may be removed with its container. */
  readonly anonymous: boolean;
};

export type HostPort = { readonly containerPort: string; readonly hostIp: string; readonly hostPort: number };

export type StoredImage = {
  readonly image: SandboxImage;
  /** `repository@sha256:…` in the familiar spelling. */
  readonly digests: Set<string>;
};

export type SandboxNetwork = {
  readonly id: string;
  readonly name: string;
  readonly driver: string;
  /** The first three numbers of its addresses, e.g. `172.18.0`. */
  readonly subnet: string;
  readonly prefixLength: number;
  readonly recipe: object;
  /** A static address needs a subnet from a request. */
  readonly subnetChosen: boolean;
  /** The addresses in use. */
  readonly addresses: Set<string>;
};

export type SandboxVolume = {
  readonly name: string;
  /** Content by which tests recognise the volume. */
  marker: string;
  labels: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
};

/** The engine's clock, milliseconds since the epoch. */
export function engineNowMs(world: World): number {
  return world.clock.nowMs() + world.clockSkewMs;
}

type ObjectEvent = Extract<EngineEvent, { action: string }>;

type ContainerEvent = ObjectEvent & { readonly kind: 'container' };

export function emitEvent(
  world: World,
  kind: ObjectEvent['kind'],
  action: string,
  id: string,
  attributes: ObjectEvent['attributes'],
): void {
  const event = { action, id, attributes, timeMs: engineNowMs(world) };
  world.events.emit({ kind, ...event });
  if (kind !== 'container') return;
  world.pastEvents.push({ kind, ...event });
  if (world.pastEvents.length > maxPastEvents) world.pastEvents.shift();
}

/** https://github.com/moby/moby/blob/v28.5.2/daemon/events/events.go */
const maxPastEvents = 256;

/** The engine's event attributes: labels, image, name, and the action's own. */
export function emitContainerEvent(
  world: World,
  action: string,
  container: SandboxContainer,
  extra: ObjectEvent['attributes'] = {},
): void {
  const { config, name, id } = container;
  emitEvent(world, 'container', action, id, { ...config.Labels, image: config.Image, name, ...extra });
}

/** The current time in nanoseconds, as Docker writes it; the last digits are a counter, so that no two are equal. */
export function engineTimestamp(world: World): string {
  const count = String(world.condition.timestamps++ % 1_000_000).padStart(6, '0');
  return new Date(engineNowMs(world)).toISOString().replace('Z', `${count}Z`);
}

/** The text of a full disk: https://man7.org/linux/man-pages/man3/errno.3.html (ENOSPC) */
export const noSpaceLeft = 'no space left on device';

/**
 * Probes as configured by the HEALTHCHECK. A behaviour is constant, so only the deciding probes are simulated:
 * https://docs.docker.com/reference/dockerfile/#healthcheck
 */
export function watchHealth(world: World, container: SandboxContainer, process: SandboxProcess): void {
  if (!isProbed(container)) return;
  container.state = { ...container.state, health: 'starting' };
  for (const { health, output, afterMs } of verdictsOf(container, readTimes(container.config.Healthcheck ?? {}))) {
    const decide = () => {
      container.state = { ...container.state, health, healthOutput: output };
      emitContainerEvent(world, `health_status: ${health}`, container);
    };
    process.callOff.push(world.later.in(afterMs, decide));
  }
}

/** Whether there is a health check that is not disabled. */
export function isProbed({ config }: SandboxContainer): boolean {
  const how = config.Healthcheck?.Test?.[0];
  return how !== undefined && how !== 'NONE';
}

type Times = { readonly intervalMs: number; readonly startPeriodMs: number; readonly retries: number };
type Verdict = { readonly health: 'healthy' | 'unhealthy'; readonly afterMs: number; readonly output: string };

/**
 * A number of failures in a row after the start period makes it unhealthy. The first successful probe makes it healthy,
 * also after that.
 */
function verdictsOf({ behaviour }: SandboxContainer, { intervalMs, startPeriodMs, retries }: Times): Verdict[] {
  const { health = { kind: 'healthy' } } = behaviour;
  const firstThatCounts = Math.floor(startPeriodMs / intervalMs) + 1;
  const givesUpAfterMs = (firstThatCounts + retries - 1) * intervalMs;
  const output = health.kind === 'unhealthy' ? (health.output ?? '') : '';
  const unhealthy: Verdict = { health: 'unhealthy', afterMs: givesUpAfterMs, output };
  if (health.kind === 'unhealthy') return [unhealthy];
  const firstGoodMs = Math.max(1, Math.ceil((health.afterMs ?? 0) / intervalMs)) * intervalMs;
  const healthy: Verdict = { health: 'healthy', afterMs: firstGoodMs, output: '' };
  return firstGoodMs <= givesUpAfterMs ? [healthy] : [unhealthy, healthy];
}

/** Defaults for missing values: 30 s, no start period, three retries. */
function readTimes({ Interval = 0, StartPeriod = 0, Retries = 0 }: Healthcheck): Times {
  const nsPerMs = 1_000_000;
  return { intervalMs: Interval / nsPerMs || 30_000, startPeriodMs: StartPeriod / nsPerMs, retries: Retries || 3 };
}
