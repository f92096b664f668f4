import type { Container, ContainerSummary, Image, ImageSummary, RestartPolicy } from '../container/container.ts';
import type { ContainerRecipe } from '../container/recipe/container-recipe.ts';
import type { Digest } from '../reference/digest.ts';
import type { ServiceEvent } from '../run/event.ts';
import type { ImageReference } from '../reference/image-reference.ts';
import type { Platform } from '../reference/platform.ts';

/**
 * All that the service needs from the world, as one plain object: built in `main.ts`, handed to
 * every use case as its first argument. A test builds another.
 */
export type Outside = {
  readonly engine: Engine;
  readonly registry: Registry;
  readonly prober: Prober;
  readonly clock: Clock;
  readonly log: Log;
  readonly instance: Instance;
  /** Signs what is left in the engine; absent where there is no key. */
  readonly seal?: Seal;
  /** A fresh identifier that no run and no transaction has had: a UUID. */
  readonly newId: () => string;
  /** Announces an event to whoever listens; never throws and never waits. */
  readonly publish: (event: ServiceEvent) => void;
};

/**
 * A container engine. Reads throw a `ServiceError` (`engine-unreachable`, `engine-denied`,
 * `engine-refused`, `timeout`). Calls that change state answer with a `CallOutcome` instead,
 * because the executor must tell "no" from "I do not know". Every call has a deadline of its own.
 */
export type Engine = {
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
   * What has happened to these containers in that time, by the engine's clock, oldest first; resolves when `untilMs`
   * has passed. An engine remembers the last few hundred events of all its containers, and none from before its start.
   */
  readonly pastEvents: (query: PastEventsQuery) => Promise<readonly EngineEvent[]>;
  /**
   * Never ends by itself: reconnects, and says so with `connected`. Ends when the signal aborts. Calls
   * `onBreak` whenever it has broken, or could not be begun again.
   */
  readonly events: (signal: AbortSignal, onBreak?: () => void) => AsyncIterable<EngineEvent>;

  /** Resolves once the image is complete; throws `pull-failed` also for an error in the middle of the stream. */
  readonly pullImage: (request: PullRequest, signal?: AbortSignal) => Promise<void>;
  /** Points `reference` (repository:tag) at an image that the engine holds. */
  readonly tagImage: (imageId: string, reference: string) => Promise<CallOutcome>;
  /** Never forced: refused (409) while anything uses it. `noop` when there is none. */
  readonly removeImage: (idOrReference: string) => Promise<CallOutcome>;
  /** Refused with 409 when the name is taken, on every engine. */
  readonly createContainer: (name: string, recipe: ContainerRecipe) => Promise<CreateOutcome>;
  /** `noop` when it is connected already. */
  readonly connectNetwork: (request: ConnectRequest) => Promise<CallOutcome>;
  readonly renameContainer: (id: string, name: string) => Promise<CallOutcome>;
  readonly updateRestartPolicy: (id: string, policy: RestartPolicy) => Promise<CallOutcome>;
  /** `noop` when it was not running. Kills after `timeoutSeconds` (default: the container's own, else 10). */
  readonly stopContainer: (id: string, options: StopOptions) => Promise<CallOutcome>;
  /** `noop` when it is running already. */
  readonly startContainer: (id: string) => Promise<CallOutcome>;
  /** Stops it as `stopContainer` does and starts it again: one call, which the engine finishes though nobody waits. */
  readonly restartContainer: (id: string, options: StopOptions) => Promise<CallOutcome>;
  /** Has the HEALTHCHECK run once by an engine that does not run it by itself; the next inspect tells the result. */
  readonly probeHealth: (id: string) => Promise<void>;
  /** Resolves to true when the container has stopped, to false when `timeoutMs` has passed first. */
  readonly waitUntilStopped: (id: string, timeoutMs: number, signal?: AbortSignal) => Promise<boolean>;
  /** Kills it if need be; its volumes stay, always. `noop` when there is none. */
  readonly removeContainer: (id: string) => Promise<CallOutcome>;
  /** Takes a legacy link from a container, which knows its target by that alias; `noop` when there is none. */
  readonly removeLink: (name: string, alias: string) => Promise<CallOutcome>;
  /** Never forced: refused (409) while a container uses it, running or not. `noop` when there is none. */
  readonly removeVolume: (name: string) => Promise<CallOutcome>;
  /**
   * Runs a command beside the container's own process and waits for its end. No engine can end such a
   * command: after `timeoutMs`, or an abort (which throws its reason), it goes on unseen.
   */
  readonly runCommand: (id: string, command: ContainerCommand, signal?: AbortSignal) => Promise<CommandOutcome>;

  /** Ends connections and event streams. */
  readonly close: () => Promise<void>;
};

export type PastEventsQuery = {
  /** Whole ids, of containers that need not be there any more. */
  readonly ids: readonly string[];
  readonly sinceMs: number;
  /** At most ten seconds ahead of the engine's clock. */
  readonly untilMs: number;
};

export type ContainerFilter = {
  /** Containers with one of these whole ids; those that are gone are left out. */
  readonly ids?: readonly string[];
  /** Containers whose name starts with this, exactly (no pattern). */
  readonly namePrefix?: string;
  /** Containers that carry this label: `name`, or `name=value`. */
  readonly label?: string;
};

/**
 * What became of a call that changes state. `noop`: it was so already (304, or 404 of a removal).
 * `refused`: the engine said no and nothing changed. `unknown`: no answer arrived, so the call may
 * or may not have had its effect; all one can do is to read the facts again.
 */
export type CallOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'noop' }
  | Refusal
  | { readonly kind: 'unknown'; readonly message: string };

export type Refusal = {
  readonly kind: 'refused';
  readonly status: number;
  readonly message: string;
  /** A start failed for the command of the container, which is not there or cannot be run; engines that note it in its state leave this out. */
  readonly commandUnusable?: true;
  /** A start failed for a legacy link of the container, which leads to one that does not run. */
  readonly linkBroken?: true;
};

export type CreateOutcome =
  | { readonly kind: 'done'; readonly id: string }
  | Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

export type ContainerCommand = {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** `NAME=value`, beside the container's own. */
  readonly environment: readonly string[];
  /** `user` or `user:group`, names or numbers; undefined: the container's own. */
  readonly user: string | undefined;
  readonly timeoutMs: number;
};

/**
 * `output` is the end of standard output and error together, at most 64 kB. `ended` says the exit
 * code, 126 or 127 also where the program cannot be run; `unknown` also where it may be running still.
 */
export type CommandOutcome =
  | { readonly kind: 'ended'; readonly exitCode: number; readonly output: string }
  | { readonly kind: 'timed-out'; readonly output: string }
  | Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

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

/** What an update cannot take for granted of every engine. */
export type EngineAbilities = {
  /** The restart policy of a container can be changed; otherwise it is for ever what it was created with. */
  readonly changesRestartPolicies: boolean;
  /** It runs HEALTHCHECKs; otherwise `probeHealth()` must. */
  readonly probesHealth: boolean;
};

export type Network = { readonly id: string; readonly name: string; readonly driver: string };

export type PullRequest = {
  /** `repository:tag` or `repository@sha256:…` */
  readonly reference: string;
  /** Given only when it differs from the engine's own. */
  readonly platform?: Platform;
  readonly credentials?: RegistryCredentials;
  /** A pull without any progress for so long has failed; default 10 minutes. */
  readonly idleTimeoutMs?: number;
  readonly onProgress?: (progress: PullProgress) => void;
};

export type PullProgress = {
  readonly layersDone: number;
  readonly layers: number;
  readonly bytes: number;
  readonly totalBytes: number;
};

export type ConnectRequest = { readonly containerId: string; readonly networkId: string; readonly endpoint: object };

export type StopOptions = { readonly timeoutSeconds?: number; readonly signal?: string };

/** `connected` comes first, and again after every reconnect: what happened in between is unknown. */
export type EngineEvent =
  | { readonly kind: 'connected' }
  | {
      readonly kind: 'container' | 'image' | 'network' | 'volume';
      /** Docker's word: `start`, `die`, `rename`, `health_status: healthy`, … */
      readonly action: string;
      readonly id: string;
      readonly attributes: Readonly<Record<string, string>>;
      readonly timeMs: number;
    };

/**
 * The registries that images come from. Methods throw a `ServiceError`: `registry-denied`,
 * `registry-not-found`, `registry-rate-limited` (with `retryAfterMs`), `registry-unreachable`,
 * `registry-invalid`, `timeout`.
 */
export type Registry = {
  /** The digest behind a tag now, without a pull. Any number of callers at once cost one request. */
  readonly resolve: (reference: ImageReference, signal?: AbortSignal) => Promise<Digest>;
  /** What that digest means on a platform; throws `registry-not-found` when the index has no image for it. */
  readonly describe: (request: DescribeRequest, signal?: AbortSignal) => Promise<RemoteImage>;
  /** What the engine needs to pull from there itself; undefined where we have none. */
  readonly credentialsFor: (
    reference: ImageReference,
    signal?: AbortSignal,
  ) => Promise<RegistryCredentials | undefined>;
  readonly close: () => Promise<void>;
};

export type DescribeRequest = {
  readonly reference: ImageReference;
  readonly digest: Digest;
  readonly platform: Platform;
};

export type RemoteImage = {
  /** The digest that was asked about: of the index where there is one. */
  readonly digest: Digest;
  /** The digest of the manifest for the platform; the same where there is no index. */
  readonly manifestDigest: Digest;
  /** The digest of the image config: the image id in Docker's classic store. */
  readonly configDigest: Digest;
  /** From the image config; undefined where the config has none or the content is not an image. */
  readonly platform: Platform | undefined;
  /** When the image was built, milliseconds since the epoch; undefined where unknown, or no later than the first day of 1980. */
  readonly createdAtMs: number | undefined;
};

/** The engine's `X-Registry-Auth`: https://docs.docker.com/reference/api/engine/#section/Authentication */
export type RegistryCredentials =
  | { readonly kind: 'password'; readonly username: string; readonly password: string; readonly serverAddress: string }
  | {
      readonly kind: 'identity-token';
      readonly username: string;
      readonly identityToken: string;
      readonly serverAddress: string;
    }
  | { readonly kind: 'registry-token'; readonly registryToken: string; readonly serverAddress: string };

/** Asks a container at its address whether it answers: no credentials are sent, and nothing but a status is read. */
export type Prober = {
  /** Never throws but for the signal's reason. */
  readonly ask: (question: ProbeQuestion, signal?: AbortSignal) => Promise<ProbeAnswer>;
};

export type ProbeQuestion = {
  /** An IP address, never a name. */
  readonly address: string;
  readonly port: number;
  /** Path and query of a GET request; undefined: it is enough that somebody accepts a connection. */
  readonly path?: string;
  readonly timeoutMs: number;
};

/** `silent`: nobody answered, and `reason` is a clause that says why. */
export type ProbeAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'silent'; readonly reason: string };

export type Clock = {
  /** Wall clock, milliseconds since the epoch: for timestamps, never for deadlines. */
  readonly nowMs: () => number;
  /** Monotonic milliseconds from an arbitrary start: for deadlines and durations. */
  readonly monotonicMs: () => number;
  /** Rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};

export type LogFields = Readonly<Record<string, unknown>>;

/** Messages are sentences without a final period; fields are data. Control characters are escaped by the adapter. */
export type Log = {
  readonly debug: (message: string, fields?: LogFields) => void;
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
};

/** Tells journals of instances with our key from what others have written: HMAC-SHA256 (RFC 2104), in hex. */
export type Seal = {
  readonly sign: (text: string) => string;
  /** In constant time. A shorter seal is compared with as many digits of the right one, 32 at least. */
  readonly verify: (text: string, seal: string) => boolean;
};

/** Who this process is, so that another instance can tell whether a transaction's owner still lives. */
export type Instance = {
  /** Opaque, stable for the life of the process, at most 200 printable characters. */
  readonly owner: string;
  /** Of the container that this process runs in; undefined outside of one. The engine in use need not know it. */
  readonly containerId: string | undefined;
  /** Whether it is what that container is there for: a successor of the container begins it anew. */
  readonly isMainProcess: boolean;
  /** `unknown` when it cannot be told from here (another host, another kind of owner). */
  readonly ownerState: (owner: string) => 'self' | 'alive' | 'dead' | 'unknown';
};
