import type { Container, ContainerSummary, Image, ImageSummary, Network } from '../container/container.ts';
import type { FileChange, FileStat } from '../container/placed-files.ts';
import type { EngineKind } from '../fleet/engine-state.ts';
import type { Digest } from '../image/image-reference.ts';
import type { Platform } from '../image/platform.ts';
import type { PermissionName } from './permission.ts';

/**
 * Reads from an engine without changing it. Methods throw a `ServiceError` (`engine-unreachable`, `engine-denied`,
 * `engine-refused`, `timeout`). Every call has its own deadline.
 */
export type EngineReader = {
  /** Resolves when the engine answers. The cheapest call. */
  readonly ping: (signal?: AbortSignal) => Promise<void>;
  readonly info: (signal?: AbortSignal) => Promise<EngineInfo>;
  /** All containers, stopped ones included. With a filter, the containers that match all its parts. */
  readonly listContainers: (filter?: ContainerFilter, signal?: AbortSignal) => Promise<readonly ContainerSummary[]>;
  /** By id or name; undefined when there is none. */
  readonly inspectContainer: (idOrName: string, signal?: AbortSignal) => Promise<Container | undefined>;
  readonly listImages: (signal?: AbortSignal) => Promise<readonly ImageSummary[]>;
  /** By id or reference; undefined when the engine does not have it. */
  readonly inspectImage: (idOrReference: string, signal?: AbortSignal) => Promise<Image | undefined>;
  /**
   * The manifests of an index that the engine can create containers from, by the image's id. Empty if the engine does
   * not show them: only Docker's containerd image store does, since API 1.48.
   */
  readonly manifestsIn: (imageId: string, signal?: AbortSignal) => Promise<readonly Digest[]>;
  readonly listNetworks: (signal?: AbortSignal) => Promise<readonly Network[]>;
  /**
   * The calls of an update that a proxy before the engine, or a plugin of it, forbids. Changes nothing. The engine is
   * asked once an hour, more often while some are forbidden.
   */
  readonly forbiddenCalls: (signal?: AbortSignal) => Promise<readonly PermissionName[]>;
  /**
   * The paths in a container that differ from its image; mounts are no part of it. `absent`: there is no container.
   * `too many`: more than a few hundred thousand.
   */
  readonly containerChanges: (
    id: string,
    signal?: AbortSignal,
  ) => Promise<readonly FileChange[] | 'absent' | 'too many'>;
  /** A path in a container, running or not. A link is not followed. Undefined when it does not exist. */
  readonly statFile: (id: string, path: string, signal?: AbortSignal) => Promise<FileStat | undefined>;
  /**
   * A file, or a folder with its content, for `writeFiles()`: with owner, mode and times, in the engine's own format. The
   * same files give the same bytes. Undefined when the path does not exist. Throws `engine-refused` beyond `maxBytes`.
   */
  readonly readFiles: (
    id: string,
    path: string,
    options: {
      readonly maxBytes: number;
      /** A folder without its content. */
      readonly isFolderOnly?: boolean;
    },
    signal?: AbortSignal,
  ) => Promise<Uint8Array | undefined>;
  /** The last lines of standard output and error together, at most 64 kB. */
  readonly containerLogs: (id: string, options: { readonly tail: number }, signal?: AbortSignal) => Promise<string>;
  /**
   * Whether all stopped containers were pruned in that time, by the engine's clock in milliseconds. Waits for a running
   * prune. Podman never reports one.
   */
  readonly hasPruned: (time: { readonly sinceMs: number; readonly untilMs: number }) => Promise<boolean>;
  /**
   * Events of these containers in that time, by the engine's clock, oldest first. Resolves when `untilMs` has passed.
   * An engine keeps the last few hundred events of all its containers since its start.
   */
  readonly pastEvents: (query: PastEventsQuery) => Promise<readonly EngineEvent[]>;
  /**
   * Reconnects automatically, and reports it with `connected`. Ends when the signal aborts. Calls `onBreak` when the
   * stream breaks or cannot be opened, with the reason if there is one.
   */
  readonly events: (signal: AbortSignal, onBreak?: (failure?: unknown) => void) => AsyncIterable<EngineEvent>;
};

export type ContainerFilter = {
  /** Containers with one of these whole ids. Removed ones are omitted. */
  readonly ids?: readonly string[];
  /** Containers whose name begins with this text; not a pattern. */
  readonly namePrefix?: string;
  /** Containers that carry this label: `name`, or `name=value`. */
  readonly label?: string;
};

export type PastEventsQuery = {
  /** Whole ids of containers, which may have been removed. */
  readonly ids: readonly string[];
  readonly sinceMs: number;
  /** At most ten seconds ahead of the engine's clock. */
  readonly untilMs: number;
};

export type EngineInfo = {
  /**
   * Set at its installation, so clones of a machine share it. Podman reports another one each time. Empty if not
   * reported.
   */
  readonly id: string;
  readonly kind: EngineKind;
  /** The product's version, e.g. `20.10.24`. */
  readonly version: string;
  /** The API version in use after negotiation, e.g. `1.41`. */
  readonly apiVersion: string;
  /** The engine's own name (its host name). */
  readonly name: string;
  readonly platform: Platform;
  readonly liveRestore: boolean;
  readonly abilities: EngineAbilities;
  /**
   * Whether this process can reach the addresses of the engine's containers. From inside one of them it always can.
   * `direct` means that no obstacle is known.
   */
  readonly containerReach: 'direct' | 'remote' | 'rootless' | 'virtual-machine';
  /** The engine's clock, milliseconds since the epoch. It may be ahead by the time of one request. */
  readonly nowMs: number;
  /** Base URLs of pull-through mirrors of Docker Hub. */
  readonly hubMirrors: readonly string[];
  /** URLs of the HTTP proxies that the engine pulls through; absent without one. */
  readonly proxies?: readonly string[];
  /** The folder with its images; absent if it is not reported. */
  readonly dataFolder?: string;
  /** Hosts (with port) and CIDR ranges for which the engine accepts plain HTTP or unverified TLS. */
  readonly insecureRegistries: readonly string[];
};

/** Abilities that differ between engines and matter for an update. */
export type EngineAbilities = {
  /** The restart policy of a container can be changed. Otherwise it stays as created. */
  readonly changesRestartPolicies: boolean;
  /** The engine runs HEALTHCHECKs. Otherwise `probeHealth()` must. */
  readonly probesHealth: boolean;
};

/** `connected` comes first, and again after every reconnect. Events in between may be lost. */
export type EngineEvent =
  | { readonly kind: 'connected' }
  | {
      /** `service`: of a swarm, if its services are followed. */
      readonly kind: 'container' | 'image' | 'network' | 'volume' | 'service';
      /** Docker's name: `start`, `die`, `rename`, `health_status: healthy`, … */
      readonly action: string;
      readonly id: string;
      readonly attributes: Readonly<Record<string, string>>;
      readonly timeMs: number;
    };
