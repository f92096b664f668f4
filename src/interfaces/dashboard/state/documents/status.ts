import { nameIn } from './unique-name.ts';
import { tasksIn, type Tasks } from './tasks.ts';
import { countOf, type Json, numberOf, objectOf, objectsOf, textOf, timeOf } from './reading.ts';

/** The data of `GET /v1/status?extra=true`. Absent values are not known. */
export type Status = {
  readonly lastRunAtMs: number | undefined;
  readonly nextRunAtMs: number | undefined;
  readonly schedule: string;
  /** Why no run is scheduled. */
  readonly scheduleOff: string;
  readonly run: RunUnderWay | undefined;
  /** An update is under way; its details may be unknown. */
  readonly running: boolean;
  /** An interrupted update is being repaired. */
  readonly repairing: boolean;
  readonly summary: Summary;
  readonly unwatched: readonly Unwatched[];
  /** Whether the API token may also follow the events. */
  readonly readsEvents: boolean;
  /** Why the engine does not answer; undefined while it does. */
  readonly engineError: string | undefined;
};

export type Summary = {
  readonly scanned: number;
  readonly updated: number;
  readonly failed: number;
  readonly restarted: number;
  readonly skipped: number;
};

export type RunUnderWay = {
  readonly runId: string;
  readonly trigger: string;
  readonly containers: readonly {
    readonly name: string;
    readonly phase: string;
    readonly percent: number | undefined;
    readonly tasks: Tasks | undefined;
  }[];
};

export type Unwatched = { readonly reason: string; readonly count: number; readonly remedy: string };

/** The status before the first answer, and when the group is off. */
export const noStatus: Status = readStatus({});

export function readStatus(document: unknown): Status {
  const json = objectOf(document);
  const { engine } = json;
  const { reachable, error } = objectOf(engine);
  return {
    lastRunAtMs: timeOf(json['last_run']),
    nextRunAtMs: timeOf(json['next_run']),
    schedule: textOf(json['schedule']),
    scheduleOff: textOf(json['schedule_off']),
    run: readRun(objectOf(json['run'])),
    running: json['running'] === true,
    repairing: json['repairing'] === true,
    summary: readSummary(objectOf(json['summary'])),
    unwatched: objectsOf(json['unwatched']).map(({ reason, count, remedy }) => ({
      reason: textOf(reason),
      count: countOf(count),
      remedy: textOf(remedy),
    })),
    readsEvents: json['reads_events'] === true,
    engineError: reachable === false ? textOf(error) || 'it does not answer' : undefined,
  };
}

function readRun({ run_id: runId, trigger, containers }: Json): RunUnderWay | undefined {
  if (textOf(runId) === '') return undefined;
  return {
    runId: textOf(runId),
    trigger: textOf(trigger),
    containers: objectsOf(containers).map(({ phase, percent, ...entry }) => ({
      name: nameIn(entry),
      phase: textOf(phase).replaceAll('_', ' '),
      percent: numberOf(percent),
      tasks: tasksIn(entry),
    })),
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
