import {
  countOf,
  nameIn,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  timeOf,
  oneOf,
  textsOf,
  uniqueName,
  type Json,
} from './reading.ts';

/** The data of `GET /v1/status?extra=true`. Absent values are unknown. */
export type Status = {
  readonly lastRunAtMs: number | undefined;
  readonly nextRunAtMs: number | undefined;
  readonly schedule: string;
  /** The reason why no run is scheduled. */
  readonly scheduleOff: string;
  /** The run under way; undefined without one. */
  readonly run:
    | {
        readonly isRollback: boolean;
        readonly containers: readonly {
          readonly name: string;
          readonly phase: string;
          readonly percent: number | undefined;
          readonly tasks: Tasks | undefined;
        }[];
      }
    | undefined;
  /** An update is under way; its details may be unknown. */
  readonly running: boolean;
  /** An interrupted update is being repaired. */
  readonly summary: Summary;
  readonly unwatched: readonly Unwatched[];
  /** Whether the API token may also follow the events. */
  readonly readsEvents: boolean;
  /** The reason why the engine is unreachable; undefined if it answers. */
  readonly engineError: string | undefined;
  /** Calls of updates that a proxy in front of the engine forbids; undefined without any. */
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

function readContainer(entry: Json) {
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

/** An option of `GET /v1/config`. */
export type ShownOption = {
  readonly name: string;
  readonly value: string;
  readonly source: string;
  /** Whether a user has set it. */
  readonly given: boolean;
  readonly meaning: string;
};

export function readOptions(document: unknown): readonly ShownOption[] {
  return objectsOf(objectOf(document)['options']).map(({ name, value, source, given, meaning }) => ({
    name: textOf(name),
    value: textOf(value),
    source: textOf(source) || 'default',
    given: typeof given === 'boolean' ? given : !['', 'default'].includes(textOf(source)),
    meaning: textOf(meaning),
  }));
}

/** An event of `GET /v1/events`. */
export type StreamEvent = { readonly kind: string; readonly data: Json; readonly atMs: number | undefined };

/** Undefined for a text that is not an event. */
export function readEvent(text: string): StreamEvent | undefined {
  try {
    const { type, data, timestamp } = objectOf(JSON.parse(text));
    const kind = textOf(type);
    return kind === '' ? undefined : { kind, data: objectOf(data), atMs: timeOf(timestamp) };
  } catch {
    return undefined;
  }
}

/** Whether begin or end of a scan are those of a check, which may run beside an update. An older service does not say. */
export function isOfCheck({ purpose }: Json): boolean {
  return purpose === 'check';
}

/** From 0 to 100, calculated from bytes without a percentage. */
export function percentOf({ percent, current_bytes: current, total_bytes: total }: Json): number | undefined {
  const bytes = numberOf(current);
  const all = numberOf(total);
  const value = numberOf(percent) ?? (bytes === undefined || !all ? undefined : (100 * bytes) / all);
  return value === undefined ? undefined : Math.min(100, Math.max(0, Math.round(value)));
}

/** One container of the plan from `POST /v1/update?dry_run=true`, in the order of the work. */
export type PlannedStep = {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly action: 'update' | 'restart' | 'skip';
  readonly because: string;
  readonly dependsOn: readonly string[];
  readonly reason: string;
  /** Paths whose data are copied before it starts, and the others with their reasons. Undefined: no copy is asked for. */
  readonly data: { readonly saved: readonly string[]; readonly notSaved: readonly string[] } | undefined;
};

/** Undefined if the answer is not a plan. Then an update may have begun. */
export function readPlan(document: unknown): readonly PlannedStep[] | undefined {
  const { dry_run: isDry, plan } = objectOf(document);
  if (isDry !== true || !Array.isArray(plan)) return undefined;
  return objectsOf(plan).map((step) => ({
    name: nameIn(step),
    from: textOf(step['from']),
    to: textOf(step['to']),
    action: oneOf(['update', 'restart', 'skip'], step['action']) ?? 'skip',
    because: textOf(step['because']),
    dependsOn: textsOf(step['depends_on']).map((name) => uniqueName(name, textOf(step['engine']), step['kind'])),
    reason: textOf(step['reason']),
    data: step['data'] === undefined ? undefined : plannedData(objectOf(step['data'])),
  }));
}

function plannedData({ saved, not_saved: left }: Json): NonNullable<PlannedStep['data']> {
  const notSaved = objectsOf(left).map(({ path, reason }) => `${textOf(path)} (${textOf(reason)})`);
  return { saved: textsOf(saved), notSaved };
}
