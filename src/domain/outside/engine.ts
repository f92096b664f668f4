import type {
  Container,
  ContainerSummary,
  Image,
  ImageSummary,
  Network,
  Volume,
  RestartPolicy,
  ContainerRecipe,
} from '../container/container.ts';
import type { FileChange, FileStat } from '../container/placed-files.ts';
import type { Digest } from '../image/image-reference.ts';
import type { Platform } from '../image/platform.ts';
import type { PermissionName } from './permission.ts';
import type { PullProgress } from '../run/event.ts';
import type { RegistryCredentials } from './registry.ts';
import type { Labels } from '../image/labels.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../container/swarm-service.ts';

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
  /** The volumes that carry this label: `name`, or `name=value`. Without a label all. */
  readonly listVolumes: (label: string | undefined, signal?: AbortSignal) => Promise<readonly Volume[]>;
  /**
   * The calls of an update that a proxy in front of the engine, or a plugin of it, forbids. Changes nothing. The engine is
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
  /** User ids in containers are other ones outside (`userns-remap`), except with `--userns host`. */
  readonly remapsUsers?: true;
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

/**
 * Changes an engine. Most calls return a `CallOutcome` instead of throwing, because the executor must distinguish a
 * refusal from a missing answer. Every call has its own deadline.
 */
export type EngineWriter = {
  /** Resolves when the image is complete. Throws `pull-failed` also for an error in the middle of the stream. */
  readonly pullImage: (request: PullRequest, signal?: AbortSignal) => Promise<void>;
  /** Points `reference` (repository:tag) at an image of the engine. */
  readonly tagImage: (imageId: string, reference: string) => Promise<CallOutcome>;
  /** Never forced: refused (409) while the image is in use. `noop` if it does not exist. */
  readonly removeImage: (idOrReference: string) => Promise<CallOutcome>;
  /** Refused with 409 when the name is taken, on every engine. */
  readonly createContainer: (name: string, recipe: ContainerRecipe) => Promise<CreateOutcome>;
  /** Creates a network by its `recipe`, with a new id. `noop` when the name is taken. */
  readonly createNetwork: (network: Network) => Promise<CallOutcome>;
  /** `noop` when it is already connected. */
  readonly connectNetwork: (request: ConnectRequest) => Promise<CallOutcome>;
  /** Puts the answer of `readFiles()` into a folder of a container, running or not. What exists there is replaced. */
  readonly writeFiles: (id: string, folder: string, files: Uint8Array) => Promise<CallOutcome>;
  readonly renameContainer: (id: string, name: string) => Promise<CallOutcome>;
  readonly updateRestartPolicy: (id: string, policy: RestartPolicy) => Promise<CallOutcome>;
  /** `noop` when it was not running. Kills after `timeoutSeconds` (default: the container's own timeout, else 10). */
  readonly stopContainer: (id: string, options: StopOptions) => Promise<CallOutcome>;
  /** `noop` when it is already running. */
  readonly startContainer: (id: string) => Promise<CallOutcome>;
  /**
   * Stops a container like `stopContainer` and starts it again. It is one call, which the engine completes without a
   * waiting caller.
   */
  readonly restartContainer: (id: string, options: StopOptions) => Promise<CallOutcome>;
  /** Runs the HEALTHCHECK once, on an engine that does not schedule it. The next inspection shows the result. */
  readonly probeHealth: (id: string, signal?: AbortSignal) => Promise<void>;
  /** Resolves to true when the container has stopped, to false if `timeoutMs` has passed first. */
  readonly waitUntilStopped: (id: string, timeoutMs: number, signal?: AbortSignal) => Promise<boolean>;
  /** Kills the container if needed. Its volumes always stay. `noop` if it does not exist. */
  readonly removeContainer: (id: string) => Promise<CallOutcome>;
  /** Removes a legacy link, given by its alias, from a container. `noop` if it does not exist. */
  readonly removeLink: (name: string, alias: string) => Promise<CallOutcome>;
  /** `done` or `noop` if it exists with these labels, refused (409) if it exists without them. */
  readonly createVolume: (name: string, labels: Labels) => Promise<CallOutcome>;
  /** Never forced: refused (409) while a container uses it, running or not. `noop` if it does not exist. */
  readonly removeVolume: (name: string) => Promise<CallOutcome>;
  /**
   * Runs a command beside the container's own process and waits for its end. No engine can end it: after `timeoutMs`,
   * or an abort (which throws its reason), the command continues.
   */
  readonly runCommand: (id: string, command: ContainerCommand, signal?: AbortSignal) => Promise<CommandOutcome>;
};

/**
 * The outcome of a call that changes state. `noop`: the state was already reached (304, or 404 of a removal).
 * `refused`: the engine refused and nothing changed. `unknown`: no answer arrived, so the call may have had its effect,
 * and the facts must be read again.
 */
export type CallOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'noop' }
  | Refusal
  | { readonly kind: 'unknown'; readonly message: string };

/** Whether the call did not reach its goal for certain. */
export function isFailure<Outcome extends { readonly kind: string }>(
  outcome: Outcome,
): outcome is Extract<Outcome, { readonly kind: 'refused' | 'unknown' }> {
  return outcome.kind === 'refused' || outcome.kind === 'unknown';
}

type Refusal = {
  readonly kind: 'refused';
  readonly status: number;
  readonly message: string;
  /** A proxy in front of the engine, or a plugin of the engine, forbids this call for everyone. The status is 403. */
  readonly isForbidden?: true;
  /**
   * A start failed because the container's command does not exist or cannot run. Engines that record it in the
   * container's state omit this.
   */
  readonly commandUnusable?: true;
  /** A start failed because a legacy link leads to a container that does not run. */
  readonly linkBroken?: true;
};

export type CreateOutcome =
  | { readonly kind: 'done'; readonly id: string }
  | Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

export type PullRequest = {
  /** `repository:tag` or `repository@sha256:…` */
  readonly reference: string;
  /** Given only if it differs from the engine's own. */
  readonly platform?: Platform;
  readonly credentials?: RegistryCredentials;
  /** A pull without progress for this time has failed; default 10 minutes. */
  readonly idleTimeoutMs?: number;
  readonly onProgress?: (progress: PullProgress) => void;
};

/** `networkId`: the network's id or name. */
export type ConnectRequest = { readonly containerId: string; readonly networkId: string; readonly endpoint: object };

export type StopOptions = { readonly timeoutSeconds?: number; readonly signal?: string };

export type ContainerCommand = {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** `NAME=value`, in addition to the container's own. */
  readonly environment: readonly string[];
  /** `user` or `user:group`, names or numbers; undefined: the container's own. */
  readonly user: string | undefined;
  readonly timeoutMs: number;
};

/**
 * `output` is the end of standard output and error together, at most 64 kB. `ended` has the exit code, 126 or 127 if
 * the program cannot run. `unknown` also means that it may still be running.
 */
export type CommandOutcome =
  | { readonly kind: 'ended'; readonly exitCode: number; readonly output: string }
  | { readonly kind: 'timed-out'; readonly output: string }
  | Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

/** The products that can be told apart. */
export type EngineKind = 'docker' | 'podman';

/** The present state of one of several engines. */
export type EngineState = {
  readonly name: string;
  /** The address without user, password and query. */
  readonly address: string;
  /** Undefined before the first connection. */
  readonly kind: EngineKind | undefined;
  readonly version: string | undefined;
  /** Undefined before the end of the first attempt. */
  readonly reachable: boolean | undefined;
  /** The begin of this state, milliseconds since the epoch; undefined before the first attempt. */
  readonly sinceMs: number | undefined;
  /** A sentence without a final period; undefined while it answers. */
  readonly error: string | undefined;
  /** The number of watched containers in its last listing. */
  readonly containers: number;
  /** Undefined while no check has told. */
  readonly updatesAvailable: number | undefined;
  /** When the last run on it ended, milliseconds since the epoch; undefined before the first. */
  readonly lastRunAtMs: number | undefined;
};

/**
 * The swarm that an engine manages. Reading methods throw a `ServiceError` (`engine-unreachable`, `engine-denied`,
 * `engine-refused`, `timeout`). Except for `state`, a swarm without a leader takes 20 s to answer.
 */
export type SwarmReader = {
  readonly state: (signal?: AbortSignal) => Promise<SwarmState>;
  readonly services: (signal?: AbortSignal) => Promise<readonly SwarmService[]>;
  /** By its whole id; undefined when there is none. Its `count` is undefined. */
  readonly service: (id: string, signal?: AbortSignal) => Promise<SwarmService | undefined>;
  /** The tasks of these services, by whole ids, with as many past tasks as the swarm keeps. */
  readonly tasks: (serviceIds: readonly string[], signal?: AbortSignal) => Promise<readonly SwarmTask[]>;
  readonly nodes: (signal?: AbortSignal) => Promise<readonly SwarmNode[]>;
  /** Failed versions that the swarm stores. */
  readonly failures: (signal?: AbortSignal) => Promise<readonly FailedServiceVersion[]>;
};

/** Changes a swarm. No call is repeated automatically. */
type SwarmWriter = {
  /** One call, made from the bytes that were read. Only the parts named by the edit change. */
  readonly change: (service: SwarmService, edit: ServiceEdit) => Promise<ServiceCallOutcome>;
  /**
   * The swarm's own rollback: `PreviousSpec` becomes the spec. Refused without one. A second call goes forward again.
   */
  readonly rollBack: (service: SwarmService) => Promise<ServiceCallOutcome>;
  /** `noop` if it is already stored. */
  readonly noteFailure: (failure: Omit<FailedServiceVersion, 'configId'>) => Promise<CallOutcome>;
  /** `noop` if it was already removed. */
  readonly forgetFailure: (failure: FailedServiceVersion) => Promise<CallOutcome>;
};

export type Swarm = SwarmReader & SwarmWriter;

/** The engine's role in a swarm, as it reports it. */
export type SwarmState =
  /** Not in a swarm, or of a kind without swarms. */
  | { readonly kind: 'none' }
  | { readonly kind: 'worker' }
  | { readonly kind: 'manager'; readonly clusterId: string }
  /** A manager that can neither read nor change anything. `message` is the engine's, one printable line. */
  | { readonly kind: 'leaderless'; readonly message: string };

export type ServiceEdit = {
  /** Replaces the image of the spec, verbatim. */
  readonly image: string;
  /** Added to `Spec.Labels`, or replaced there. */
  readonly labels: Labels;
  /** Replaces `Placement.Platforms`. Absent: they stay. */
  readonly platforms?: readonly Platform[];
  /** Absent: the swarm keeps its own. */
  readonly credentials?: RegistryCredentials;
};

/** `conflict`: the service has changed since it was read, and the call had no effect. */
export type ServiceCallOutcome = CallOutcome | { readonly kind: 'conflict' };

/**
 * A version that failed in a service by its own fault. It outlives this process and the leader, and storing it restarts
 * no task.
 */
export type FailedServiceVersion = {
  /** The id of the config object that stores it. */
  readonly configId: string;
  readonly serviceId: string;
  readonly serviceName: string;
  /** The digest of the image that failed. */
  readonly digest: string;
  /** Milliseconds since the epoch, in whole seconds. */
  readonly atMs: number;
  /** A sentence without a final period. */
  readonly reason: string;
  /** See `FailedVersion`. */
  readonly askedBy?: string;
};
