import { countOf, type Json, nameIn, numberOf, objectOf, objectsOf, textOf, timeOf } from './reading.ts';

/** The data of `GET /v1/status?extra=true`. Absent values are unknown. */
export type Status = {
  readonly lastRunAtMs: number | undefined;
  readonly nextRunAtMs: number | undefined;
  readonly schedule: string;
  /** The reason why no run is scheduled. */
  readonly scheduleOff: string;
  /** The run under way; undefined without one. */
  readonly run: { readonly isRollback: boolean; readonly containers: readonly ContainerInRun[] } | undefined;
  /** An update is under way; its details may be unknown. */
  readonly running: boolean;
  /** An interrupted update is being repaired. */
  readonly summary: Summary;
  readonly unwatched: readonly Unwatched[];
  /** Whether the API token may also follow the events. */
  readonly readsEvents: boolean;
  /** The reason why the engine is unreachable; undefined if it answers. */
  readonly engineError: string | undefined;
  /** Calls of updates that a proxy before the engine forbids; undefined without any. */
  readonly missing: MissingPermissions | undefined;
};

export type MissingPermissions = {
  readonly message: string;
  readonly remedy: string;
  readonly preventsUpdates: boolean;
};

export type Summary = {
  readonly scanned: number;
  readonly updated: number;
  readonly failed: number;
  readonly restarted: number;
  readonly skipped: number;
};

export type ContainerInRun = {
  readonly name: string;
  readonly phase: string;
  readonly percent: number | undefined;
  readonly tasks: Tasks | undefined;
};

export type Unwatched = { readonly reason: string; readonly count: number; readonly remedy: string };

/** The number of tasks of a service that run the version of its update or rollback. */
export type Tasks = { readonly running: number; readonly wanted: number };

/** An unreachable engine. */
export type EngineAway = { readonly name: string; readonly error: string };

/** The status before the first answer, and when the group is off. */
export const noStatus: Status = readStatus({});

export function readStatus(document: unknown): Status {
  const json = objectOf(document);
  return {
    lastRunAtMs: timeOf(json['last_run']),
    nextRunAtMs: timeOf(json['next_run']),
    schedule: textOf(json['schedule']),
    scheduleOff: textOf(json['schedule_off']),
    run: readRun(objectOf(json['run'])),
    running: json['running'] === true,
    summary: readSummary(objectOf(json['summary'])),
    unwatched: objectsOf(json['unwatched']).map(({ reason, count, remedy }) => ({
      reason: textOf(reason),
      count: countOf(count),
      remedy: textOf(remedy),
    })),
    readsEvents: json['reads_events'] === true,
    engineError: errorOf(objectOf(json['engine'])),
    missing: readMissing(objectOf(objectOf(json['engine'])['missing_permissions'])),
  };
}

function readMissing({ message, remedy, prevents_updates: preventsUpdates }: Json): Status['missing'] {
  if (textOf(message) === '') return undefined;
  return { message: textOf(message), remedy: textOf(remedy), preventsUpdates: preventsUpdates === true };
}

function readRun({ run_id: runId, rollback, containers }: Json): Status['run'] {
  if (textOf(runId) === '') return undefined;
  return { isRollback: rollback === true, containers: objectsOf(containers).map(readContainer) };
}

function readContainer(entry: Json): ContainerInRun {
  return {
    name: nameIn(entry),
    phase: textOf(entry['phase']),
    percent: numberOf(entry['percent']),
    tasks: tasksIn(entry),
  };
}

export function readSummary(json: Json): Summary {
  return {
    scanned: countOf(json['scanned']),
    updated: countOf(json['updated']),
    failed: countOf(json['failed']),
    restarted: countOf(json['restarted']),
    skipped: countOf(json['skipped']),
  };
}

/** Undefined if the service sends none. */
export function tasksIn({ tasks }: Json): Tasks | undefined {
  const { running, wanted } = objectOf(tasks);
  return numberOf(wanted) === undefined ? undefined : { running: countOf(running), wanted: countOf(wanted) };
}

/** The unreachable engines of `GET /v1/engines`. */
export function readEnginesAway(document: unknown): readonly EngineAway[] {
  return objectsOf(objectOf(document)['engines']).flatMap((engine) => {
    const error = errorOf(engine);
    return error === undefined ? [] : [{ name: textOf(engine['name']), error }];
  });
}

/** The reason why an engine is unreachable; undefined if it answers. */
function errorOf({ reachable, error }: Json): string | undefined {
  return reachable === false ? textOf(error) || 'it does not answer' : undefined;
}
