import type { Trigger } from './session.ts';

/** Which of the watched containers a request is about; both empty: all of them. Items of a kind are OR, the kinds AND. */
export type Request = {
  /** References; without a tag, any tag. */
  readonly images: readonly string[];
  /** Names, or regular expressions that match the whole name. */
  readonly containers: readonly string[];
  /** Names of engines; absent or empty: all of them. */
  readonly engines?: readonly string[];
};

/** Without a trigger: `command`. */
export type CheckRequest = Request & { readonly trigger?: Trigger };

export type UpdateRequest = Request & {
  readonly trigger: Trigger;
  /** Also versions that failed in a container before. */
  readonly retryFailed?: boolean;
  /** Outside of the windows too. */
  readonly ignoreWindows?: boolean;
  /** Of a fleet: engines of later waves do not wait for those before them. */
  readonly ignoreWaves?: boolean;
  /** Throws `not-found`, and updates nothing, when a filter means no watched container. */
  readonly refuseUnmatched?: boolean;
  /** Hears the run's id once the update has its turn and begins. */
  readonly onBegin?: (runId: string) => void;
};
