import type { EngineRun } from '../fleet/engine-run.ts';
/** The trigger of a run. */
export type Trigger = 'command' | 'schedule' | 'start' | 'http';

/**
 * How a run ended for one container. `restarted`: re-created only because a container it depends on
 * was replaced. `unknown`: it could not be checked, which is never success.
 */
export type OutcomeKind =
  | 'updated'
  | 'fresh'
  | 'failed'
  | 'rolled_back'
  | 'restarted'
  | 'skipped'
  | 'deferred'
  | 'unknown';

export type ContainerOutcome = {
  readonly name: string;
  /** Present where there are several. */
  readonly engine?: string;
  /** Of the container that the run found; undefined where it found none. */
  readonly containerId?: string;
  /** Of the one that has taken its place; undefined: none has. */
  readonly newContainerId?: string;
  /** The image reference it runs, as people write it. */
  readonly image: string;
  /** Of an update to another tag: the references before and after it, or that was to come, as the containers have them. */
  readonly tagChange?: { readonly from: string; readonly to: string };
  readonly outcome: OutcomeKind;
  /** A sentence without a final period; empty only for `updated`, `restarted` and `fresh`. */
  readonly reason: string;
  readonly oldImageId: string;
  readonly newImageId: string;
  readonly oldDigest: string;
  readonly newDigest: string;
  /** The versions before and after, or that were to come, as people name them; undefined where not known. */
  readonly from?: string;
  readonly to?: string;
  /**
   * From the moment the old process was told to end, or had ended, to the new one's start, by the
   * engine's clock; undefined when nothing was stopped.
   */
  readonly downtimeMs?: number;
  /** The part of it in which the old process was ending; in the rest there was none. Undefined when that is not known. */
  readonly stoppingMs?: number;
  /** The last log lines of a successor that failed, as `lastWords` shows them. */
  readonly log?: string;
  /** How long it was in each phase; undefined when nothing was begun. */
  readonly phases?: PhaseTimes;
  /** The newer version was taken back in this container and is remembered: no run tries it again on its own. */
  readonly isTakenBack?: true;
  /** Undefined: its image has none, or there is nothing newer. */
  readonly cooldown?: Cooldown;
  /** Present where services of a swarm are watched too; the ids of one are those of the service. */
  readonly kind?: EntryKind;
};

/** One row of a list: a container, or a service of a swarm. */
export type EntryKind = 'container' | 'service';

/** How long a newer image has been out, by its date or since we saw it first, and how long it has to be before it is used. */
export type Cooldown = { readonly ageMs: number; readonly delayMs: number };

/** Milliseconds. */
export type PhaseTimes = Readonly<Partial<Record<UpdatePhase, number>>>;

/** One run: its outcome per container, in listing order. */
export type Session = {
  readonly runId: string;
  readonly trigger: Trigger;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly containers: readonly ContainerOutcome[];
  /** Present where there are several engines: those that it was to work on, in configured order. */
  readonly engines?: readonly EngineRun[];
};

export type SessionSummary = {
  readonly scanned: number;
  readonly updated: number;
  readonly failed: number;
  readonly restarted: number;
  readonly skipped: number;
};

/** Counts outcomes; a rolled back container counts as failed, one that could not be checked as skipped. */
export function summarise(session: Session): SessionSummary {
  const count = (...kinds: OutcomeKind[]) => session.containers.filter(({ outcome }) => kinds.includes(outcome)).length;
  return {
    scanned: session.containers.length,
    updated: count('updated'),
    failed: count('failed', 'rolled_back'),
    restarted: count('restarted'),
    skipped: count('skipped', 'deferred', 'unknown'),
  };
}

/** The phases of an update, as people see them. */
export type UpdatePhase =
  | 'pulling'
  | 'preparing'
  | 'stopping'
  | 'starting'
  | 'checking health'
  | 'committing'
  | 'rolling back';

/** By container id. */
export type Outcomes = ReadonlyMap<string, ContainerOutcome>;
