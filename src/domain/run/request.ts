import type { Trigger } from './session.ts';

/**
 * The watched containers that a request concerns; both empty: all. Items of one list are alternatives (OR); both lists
 * must match (AND).
 */
export type Request = {
  /** References; without a tag, any tag. */
  readonly images: readonly string[];
  /** Names, or regular expressions that match the whole name. */
  readonly containers: readonly string[];
  /**
   * A name that matches no container may also be that of a Compose service or project, a glob, or in other letter case.
   * For requests of people; a request of a program means what it says.
   */
  readonly forgiving?: boolean;
  /** Names of engines; absent or empty: all of them. */
  readonly engines?: readonly string[];
};

/** Without a trigger: `command`. */
export type CheckRequest = Request & { readonly trigger?: Trigger };

export type UpdateRequest = Request & {
  readonly trigger: Trigger;
  /** Also applies versions that failed in a container before. */
  readonly retryFailed?: boolean;
  /** Ignores windows. */
  readonly ignoreWindows?: boolean;
  /**
   * A person has asked for these containers. Neither a missing approval nor a window, a cooldown, monitor-only or an
   * earlier failure holds them back. Approvals are lifted for the version that the last check has shown, and for no
   * other.
   */
  readonly byPerson?: boolean;
  /** With several engines: later waves do not wait for earlier ones. */
  readonly ignoreWaves?: boolean;
  /** Throws `not-found`, and updates nothing, when a filter matches no watched container. */
  readonly refuseUnmatched?: boolean;
  /** Called with the run's id when the update begins. */
  readonly onBegin?: (runId: string) => void;
};

export type RollbackOptions = Partial<Pick<UpdateRequest, 'trigger' | 'onBegin'>> & {
  /**
   * Also goes to a version that the container has left before, such as after an earlier rollback. Without it, such a
   * rollback throws `unconfirmed`.
   */
  readonly forward?: boolean;
};
