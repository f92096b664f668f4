import type { Network } from '../container/container.ts';
import type { RestartPolicy } from '../container/container-settings.ts';
import type { ContainerRecipe } from '../container/recipe/request/request.ts';
import type { Platform } from '../image/platform.ts';
import type { PullProgress } from '../run/event.ts';
import type { RegistryCredentials } from './registry.ts';

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
  readonly probeHealth: (id: string) => Promise<void>;
  /** Resolves to true when the container has stopped, to false if `timeoutMs` has passed first. */
  readonly waitUntilStopped: (id: string, timeoutMs: number, signal?: AbortSignal) => Promise<boolean>;
  /** Kills the container if needed. Its volumes always stay. `noop` if it does not exist. */
  readonly removeContainer: (id: string) => Promise<CallOutcome>;
  /** Removes a legacy link, given by its alias, from a container. `noop` if it does not exist. */
  readonly removeLink: (name: string, alias: string) => Promise<CallOutcome>;
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

export type Refusal = {
  readonly kind: 'refused';
  readonly status: number;
  readonly message: string;
  /** A proxy before the engine, or a plugin of the engine, forbids this call for everybody. The status is 403. */
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
