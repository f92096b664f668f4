import type { Container, ContainerSummary, Image, ImageSummary, Network } from '../container/container.ts';
import type { Platform } from '../reference/platform.ts';

/**
 * Asks an engine, and changes nothing. Methods throw a `ServiceError` (`engine-unreachable`, `engine-denied`,
 * `engine-refused`, `timeout`). Every call has a deadline of its own.
 */
export type EngineReader = {
  /** Resolves when it answers at all: as cheap as a call can be. */
  readonly ping: (signal?: AbortSignal) => Promise<void>;
  readonly info: (signal?: AbortSignal) => Promise<EngineInfo>;
  /** All containers, stopped ones included; with a filter, those that pass all of it. */
  readonly listContainers: (filter?: ContainerFilter, signal?: AbortSignal) => Promise<readonly ContainerSummary[]>;
  /** By id or name; undefined when there is none. */
  readonly inspectContainer: (idOrName: string, signal?: AbortSignal) => Promise<Container | undefined>;
  readonly listImages: (signal?: AbortSignal) => Promise<readonly ImageSummary[]>;
  /** By id or reference; undefined when the engine does not hold it. */
  readonly inspectImage: (idOrReference: string, signal?: AbortSignal) => Promise<Image | undefined>;
  readonly listNetworks: (signal?: AbortSignal) => Promise<readonly Network[]>;
  /** The last lines of standard output and error together, at most 64 kB. */
  readonly containerLogs: (id: string, options: { readonly tail: number }, signal?: AbortSignal) => Promise<string>;
  /**
   * Whether somebody had all stopped containers removed in that time, by the engine's clock in milliseconds; one that
   * is still at it is waited for. Podman never tells.
   */
  readonly hasPruned: (time: { readonly sinceMs: number; readonly untilMs: number }) => Promise<boolean>;
  /**
   * Events of these containers in that time, by the engine's clock, oldest first; resolves when `untilMs`
   * has passed. An engine remembers the last few hundred events of all its containers, and none from before its start.
   */
  readonly pastEvents: (query: PastEventsQuery) => Promise<readonly EngineEvent[]>;
  /**
   * Never ends by itself: reconnects, and says so with `connected`. Ends when the signal aborts. Calls
   * `onBreak` whenever it has broken, or could not be begun again.
   */
  readonly events: (signal: AbortSignal, onBreak?: () => void) => AsyncIterable<EngineEvent>;
};

export type ContainerFilter = {
  /** Containers with one of these whole ids; those that are gone are left out. */
  readonly ids?: readonly string[];
  /** Containers whose name starts with this, exactly (no pattern). */
  readonly namePrefix?: string;
  /** Containers that carry this label: `name`, or `name=value`. */
  readonly label?: string;
};

export type PastEventsQuery = {
  /** Whole ids, of containers that need not be there any more. */
  readonly ids: readonly string[];
  readonly sinceMs: number;
  /** At most ten seconds ahead of the engine's clock. */
  readonly untilMs: number;
};

export type EngineInfo = {
  readonly kind: 'docker' | 'podman';
  /** The product's version, e.g. `20.10.24`. */
  readonly version: string;
  /** The API version in use after negotiation, e.g. `1.41`. */
  readonly apiVersion: string;
  /** The engine's own name (its host). */
  readonly name: string;
  readonly platform: Platform;
  readonly liveRestore: boolean;
  readonly abilities: EngineAbilities;
  /**
   * How this process stands to the addresses of the engine's containers; from inside of one of them
   * they are near all the same. `direct` is what nothing speaks against.
   */
  readonly containerReach: 'direct' | 'remote' | 'rootless' | 'virtual-machine';
  /** The engine's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** Base URLs of pull-through mirrors of Docker Hub. */
  readonly hubMirrors: readonly string[];
  /** Hosts (with port) and CIDR ranges for which the engine accepts plain HTTP or unverified TLS. */
  readonly insecureRegistries: readonly string[];
};

/** Abilities that not every engine has, and that an update needs to know. */
export type EngineAbilities = {
  /** The restart policy of a container can be changed; otherwise it is for ever what it was created with. */
  readonly changesRestartPolicies: boolean;
  /** It runs HEALTHCHECKs; otherwise `probeHealth()` must. */
  readonly probesHealth: boolean;
};

/** `connected` comes first, and again after every reconnect: what happened in between is unknown. */
export type EngineEvent =
  | { readonly kind: 'connected' }
  | {
      /** `service`: of a swarm, where they are followed. */
      readonly kind: 'container' | 'image' | 'network' | 'volume' | 'service';
      /** Docker's word: `start`, `die`, `rename`, `health_status: healthy`, … */
      readonly action: string;
      readonly id: string;
      readonly attributes: Readonly<Record<string, string>>;
      readonly timeMs: number;
    };
