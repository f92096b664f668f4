import type { AccessFilter } from '../access/rights.ts';
import type { ComposeState } from '../compose/compose-state.ts';
import type { NotesLines } from '../notes/notes.ts';
/** The triggers of a run. */
export const triggers = ['command', 'schedule', 'start', 'http'] as const;

export type Trigger = (typeof triggers)[number];

/**
 * The results of a run for one container. `restarted`: re-created only because a container that it depends on was
 * replaced. `rolled_back`: the new version failed. `went_back`: on request, to the version before its last update.
 * `unknown`: the check failed, which never counts as success.
 */
export const outcomeKinds = [
  'updated',
  'fresh',
  'failed',
  'rolled_back',
  'went_back',
  'restarted',
  'skipped',
  'deferred',
  'unknown',
] as const;

export type OutcomeKind = (typeof outcomeKinds)[number];

export type ContainerOutcome = {
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  /** The id of the container at the begin of the run; undefined if there was none. */
  readonly containerId?: string;
  /** The id of its successor; undefined without one. */
  readonly newContainerId?: string;
  /** The image reference that it runs, in short form. */
  readonly image: string;
  /**
   * For an update to another tag: the references before and after it, completed or not, as the containers have them.
   */
  readonly tagChange?: { readonly from: string; readonly to: string };
  readonly outcome: OutcomeKind;
  /** The verdict of its check, if there was nothing to do for another reason than that it is up to date. */
  readonly verdict?: 'pinned' | 'held' | 'local' | 'unknown';
  /** With the verdict `held` or `unknown`: the kind of reason. */
  readonly hold?: string;
  /** A sentence without a final period; empty only for `updated`, `restarted` and `fresh`. */
  readonly reason: string;
  readonly oldImageId: string;
  readonly newImageId: string;
  readonly oldDigest: string;
  readonly newDigest: string;
  /** The versions before and after, completed or not, for display. Undefined where not known. */
  readonly from?: string;
  readonly to?: string;
  /** The source of the newer image, as the check has found it. Undefined where not known. */
  readonly sourceUrl?: string;
  /** The state of the tag in its compose file, after an update or a rollback to another tag. */
  readonly compose?: ComposeState;
  /** The release notes of the newer version, for messages. Undefined where not known. */
  readonly notes?: NotesLines;
  /**
   * The time from the stop request, or the earlier exit, to the start of the new container, by the engine's clock.
   * Undefined when nothing was stopped.
   */
  readonly downtimeMs?: number;
  /** The part of `downtimeMs` in which the old process was stopping. Undefined if unknown. */
  readonly stoppingMs?: number;
  /** The data that its update has copied. The times of copying and restoring are in `phases`. Undefined: none. */
  readonly data?: {
    readonly bytes: number;
    readonly files: number;
    /** The old version runs on its own data again. */
    readonly isRestored: boolean;
    /** When the copy is removed, milliseconds since the epoch by the engine's clock. Undefined: it is removed already. */
    readonly keptUntilMs?: number;
  };
  /** A group has one copy of its data: the outcome of its first container counts for all. */
  readonly sharesCopy?: true;
  /** The last log lines of a successor that failed, from `logTail`. */
  readonly log?: string;
  /** The time in each phase. Undefined when nothing was begun. */
  readonly phases?: PhaseTimes;
  /**
   * The newer version was rolled back in this container, and this is stored: no run retries it automatically.
   */
  readonly isTakenBack?: true;
  /** The update could neither be finished nor undone: a repair tries again. */
  readonly isUnfinished?: true;
  /** Undefined: the image has no cooldown, or there is no newer version. */
  readonly cooldown?: Cooldown;
  /** Present if services of a swarm are watched too. For a service, the ids are the service's. */
  readonly kind?: EntryKind;
};

/** The kinds of one row of a list: a container, or a service of a swarm. */
export const entryKinds = ['container', 'service'] as const;

export type EntryKind = (typeof entryKinds)[number];

/** Whether a row is a container, which an update replaces. Without services no row has a kind. */
export function isContainer({ kind }: { readonly kind?: EntryKind | undefined }): boolean {
  return kind === undefined || kind === 'container';
}

/** The age of a newer image, by its build time or since its first sighting, and the age that it needs. */
export type Cooldown = { readonly ageMs: number; readonly delayMs: number };

/** Milliseconds. */
export type PhaseTimes = Readonly<Partial<Record<UpdatePhase, number>>>;

/** The beginning of a run, and who asked for it where that is known, such as `token backup` or `browser session`. */
type Origin = { readonly trigger: Trigger; readonly by?: string };

/** One run: its outcome per container, in listing order. */
export type Session = Origin & {
  readonly runId: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly containers: readonly ContainerOutcome[];
  /** Present with several engines: the engines of the run, in configured order. */
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

/** The phases of an update, as they are shown. */
export const updatePhases = [
  'pulling',
  'preparing',
  'stopping',
  'saving data',
  'starting',
  'checking health',
  'committing',
  'rolling back',
  'restoring data',
] as const;

export type UpdatePhase = (typeof updatePhases)[number];

/** By container id. */
export type Outcomes = ReadonlyMap<string, ContainerOutcome>;

/** Outcome of a container in a run. */
export type PastOutcome = {
  readonly outcome: ContainerOutcome;
  /** When it was reached, milliseconds since the epoch. */
  readonly atMs: number;
  readonly runId: string;
};

/**
 * A key for an entry: the name of a container, or `web service`. No name has a space, so a service and a container of
 * the same name have different keys. It begins with the name, so the name of an engine may precede it.
 */
export function entryKeyOf({ name, kind }: { readonly name: string; readonly kind?: EntryKind | undefined }): string {
  return isContainer({ kind }) ? name : `${name} ${kind}`;
}

/** The name of a container, or a key of one: `nas/web` with several engines. */
export function shownName({ name, engine }: { readonly name: string; readonly engine?: string | undefined }): string {
  return engine === undefined ? name : `${engine}/${name}`;
}

/** `entryKeyOf` among several engines: `nas/web service`. */
export function fleetKeyOf(engine: string | undefined, entry: Parameters<typeof entryKeyOf>[0]): string {
  return shownName({ engine, name: entryKeyOf(entry) });
}

/**
 * The results of a run on one engine. `busy`: another run was under way, so the engine was skipped. `failed`: it
 * answered, but the run as a whole failed there.
 */
export const engineRunResults = ['ran', 'busy', 'unreachable', 'failed'] as const;

/** One engine's part in a run. */
export type EngineRun = {
  readonly name: string;
  readonly result: (typeof engineRunResults)[number];
  /** A sentence without a final period; absent with `ran`. */
  readonly error?: string;
  readonly durationMs: number;
};

/** The result of a check or a repair for each engine. Absent with one engine. */
export type EngineRuns = { readonly engines?: readonly EngineRun[] };

/**
 * Facts of an interruption: the time of the stop request, and the engine's timestamps of the end and the next start.
 */
type StopTimes = {
  /** By the engine's clock. */
  readonly stopSentAtMs: number | undefined;
  readonly endedAt: string | undefined;
  readonly startedAt: string | undefined;
};

/**
 * The downtime of a container: from the stop request, or its earlier exit, to the next start. The time of stopping is
 * given separately. Empty when the start or the begin is not known.
 */
export function downtimeOf({
  stopSentAtMs = NaN,
  endedAt = '',
  startedAt = '',
}: StopTimes): Pick<ContainerOutcome, 'downtimeMs' | 'stoppingMs'> {
  const [endedAtMs, startedAtMs] = [Date.parse(endedAt), Date.parse(startedAt)];
  const begins = [stopSentAtMs, endedAtMs].filter((ms) => !Number.isNaN(ms));
  const beganAtMs = Math.min(...begins);
  if (begins.length === 0 || !(startedAtMs >= beganAtMs)) return {};
  const downtimeMs = startedAtMs - beganAtMs;
  const isWhole = begins.length === 2 && endedAtMs <= startedAtMs;
  return isWhole ? { downtimeMs, stoppingMs: endedAtMs - beganAtMs } : { downtimeMs };
}

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
  /** Only containers, or only services; absent: both, which may have the same name. */
  readonly kind?: EntryKind;
  /** Names of engines; absent or empty: all of them. */
  readonly engines?: readonly string[];
  /** Containers outside do not exist for this request, and none of them is changed. */
  readonly within?: AccessFilter;
};

/** Without a trigger: `command`. */
export type CheckRequest = Request &
  Partial<Origin> & {
    /** With the verdicts of a scheduled run: a version in its cooldown is held back. */
    readonly asScheduled?: boolean;
  };

export type UpdateRequest = Request &
  Origin & {
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

export type RollbackOptions = Partial<Pick<UpdateRequest, 'trigger' | 'by' | 'onBegin' | 'within'>> & {
  /**
   * Also goes to a version that the container has left before, such as after an earlier rollback. Without it, such a
   * rollback throws `unconfirmed`.
   */
  readonly forward?: boolean;
  /** The choice about the data if a copy is kept. Without it, such a rollback throws `undecided`. */
  readonly data?: 'restore' | 'leave';
};
