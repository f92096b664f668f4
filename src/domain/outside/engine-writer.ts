import type { RestartPolicy } from '../container/container.ts';
import type { ContainerRecipe } from '../container/recipe/request/recipe.ts';
import type { Platform } from '../reference/platform.ts';
import type { PullProgress } from '../run/event.ts';
import type { RegistryCredentials } from './registry.ts';

/**
 * Changes an engine. Most calls answer with a `CallOutcome` and do not throw, because the executor must tell "no" from
 * "I do not know". Every call has a deadline of its own.
 */
export type EngineWriter = {
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
};

/**
 * Outcome of a changing call. `noop`: it was so already (304, or 404 of a removal). `refused`: the engine
 * said no and nothing changed. `unknown`: no answer arrived, so the call may or may not have had its
 * effect; the caller must read the facts again.
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

export type ConnectRequest = { readonly containerId: string; readonly networkId: string; readonly endpoint: object };

export type StopOptions = { readonly timeoutSeconds?: number; readonly signal?: string };

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
