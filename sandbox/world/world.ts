import type { EngineEvent } from '../../src/domain/outside/engine-reader.ts';
import type {
  ContainerConfig,
  ContainerStatus,
  Endpoint,
  HealthStatus,
  HostConfig,
  MountPoint,
} from '../../src/domain/container/container.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import type { Platform } from '../../src/domain/reference/platform.ts';
import type { Behaviour } from '../base/behaviour.ts';
import type { EventBus } from '../base/event-bus.ts';
import type { IdSource } from '../base/ids.ts';
import type { Later } from '../base/later.ts';
import type { EngineProfile } from '../base/profile.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import type { SandboxImage } from '../registry/release.ts';

/**
 * The engine's whole state. Data in flight is only here, so that a restart loses exactly the data that a
 * real engine loses.
 */
export type World = {
  readonly clock: Clock;
  readonly profile: EngineProfile;
  readonly platform: Platform;
  readonly liveRestore: boolean;
  /** How far the engine's clock is ahead of ours. */
  readonly clockSkewMs: number;
  readonly ids: IdSource;
  readonly events: EventBus;
  /** Timers of processes; they go on while the engine is down. */
  readonly later: Later;
  readonly registries: RegistryStore | undefined;
  /** Between the steps of a pull. */
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
  /** Host ports in use by others than containers, e.g. `8080/tcp`. */
  readonly foreignPorts: Set<string>;
  /** Commands that were run in containers, oldest first. */
  readonly executions: SandboxExecution[];
  /** When all stopped containers were removed at once, by the engine's clock. */
  readonly prunedAtMs: number[];
  /** The last events of containers; a restart of the engine forgets them. */
  readonly pastEvents: ContainerEvent[];
  condition: Condition;
};

export type SandboxExecution = {
  readonly container: string;
  readonly containerId: string;
  readonly command: readonly string[];
  readonly environment: readonly string[];
  readonly user: string | undefined;
};

export type Condition = {
  /** Aborts when the engine goes down; a new one comes up with it. */
  connection: AbortController;
  up: boolean;
  diskFull: boolean;
  /** Counts timestamps, so that no two are alike. */
  timestamps: number;
};

export type SandboxContainer = {
  readonly id: string;
  name: string;
  readonly imageId: string;
  /** Of its image on the day of creation: it outlives the image. */
  readonly behaviour: Behaviour;
  readonly createdAtMs: number;
  config: ContainerConfig;
  hostConfig: HostConfig;
  readonly mounts: readonly SandboxMount[];
  /** By network name. */
  readonly endpoints: Map<string, Endpoint>;
  /** Hardware addresses that were asked for, by network name. */
  readonly macs: Map<string, string>;
  /** By alias: legacy links follow the object, not the name. */
  readonly links: ReadonlyMap<string, SandboxContainer>;
  state: SandboxState;
  restartCount: number;
  /** Ended soon after its start so many times in a row. */
  failuresInARow: number;
  /** Somebody stopped it through the API; `unless-stopped` remembers that over a restart of the engine. */
  manuallyStopped: boolean;
  process: SandboxProcess | undefined;
  /** While it is being deleted by the engine itself. */
  removing: boolean;
  readonly logs: string[];
  hostPorts: readonly HostPort[];
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
  /** Resolves when no process is left and none will be started by the engine itself. */
  readonly ended: Promise<void>;
  readonly settle: () => void;
  readonly startedAtMs: number;
  /** A signal to stop has been sent and will have its effect. */
  dying: boolean;
  /** Cancel the timers of the process. */
  readonly callOff: (() => void)[];
};

export type SandboxMount = {
  readonly point: MountPoint;
  /** Nobody named the volume: it may go with its container. */
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
  /** A static address needs a subnet that a person chose. */
  readonly subnetChosen: boolean;
  /** Container ids by address. */
  readonly addresses: Map<string, string>;
};

export type SandboxVolume = {
  readonly name: string;
  readonly anonymous: boolean;
  /** Content by which tests recognise the volume. */
  marker: string;
};

/** The engine's clock, milliseconds since the epoch. */
export function engineNowMs(world: World): number {
  return world.clock.nowMs() + world.clockSkewMs;
}

type ObjectEvent = Extract<EngineEvent, { action: string }>;

export type ContainerEvent = ObjectEvent & { readonly kind: 'container' };

export function announce(
  world: World,
  kind: ObjectEvent['kind'],
  action: string,
  id: string,
  attributes: ObjectEvent['attributes'],
): void {
  const told = { action, id, attributes, timeMs: engineNowMs(world) };
  world.events.emit({ kind, ...told });
  if (kind !== 'container') return;
  world.pastEvents.push({ kind, ...told });
  if (world.pastEvents.length > mostPastEvents) world.pastEvents.shift();
}

/** https://github.com/moby/moby/blob/v28.5.2/daemon/events/events.go */
const mostPastEvents = 256;

/** The engine's event attributes: labels, image, name, and those of the action. */
export function announceContainer(
  world: World,
  action: string,
  container: SandboxContainer,
  extra: ObjectEvent['attributes'] = {},
): void {
  const { config, name, id } = container;
  announce(world, 'container', action, id, { ...config.Labels, image: config.Image, name, ...extra });
}

/** Now, in nanoseconds as Docker writes them; the last digits count, so that no two are alike. */
export function engineTimestamp(world: World): string {
  const count = String(world.condition.timestamps++ % 1_000_000).padStart(6, '0');
  return new Date(engineNowMs(world)).toISOString().replace('Z', `${count}Z`);
}

/** The mark of a full disk: https://man7.org/linux/man-pages/man3/errno.3.html (ENOSPC) */
export const noSpaceLeft = 'no space left on device';
