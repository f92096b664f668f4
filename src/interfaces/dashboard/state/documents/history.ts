import {
  countOf,
  type Json,
  nameIn,
  numberOf,
  numbersOf,
  objectOf,
  objectsOf,
  oneOf,
  textOf,
  timeOf,
} from './reading.ts';
import { readSummary, type Summary } from './status.ts';

/** A run of `GET /v1/history`. */
export type PastRun = Summary & {
  readonly runId: string;
  readonly atMs: number;
  readonly trigger: string;
  /** The asker; empty if that is not known. */
  readonly by: string;
  readonly durationMs: number | undefined;
  readonly rolledBack: number;
  readonly wentBack: number;
  /** The changed or failed containers. */
  readonly containers: readonly PastOutcome[];
};

/** One container in a run; `from` and `to` are versions. */
export type PastOutcome = {
  /** Its unique name. */
  readonly name: string;
  readonly outcome: (typeof outcomeKinds)[number];
  readonly atMs: number | undefined;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly downtimeMs: number | undefined;
  /** Milliseconds by name of the phase. */
  readonly phasesMs: Readonly<Record<string, number>>;
  readonly log: string;
  /** The size of the data that it has copied. */
  readonly dataBytes: number | undefined;
};

const outcomeKinds = [
  'updated',
  'rolled_back',
  'went_back',
  'failed',
  'restarted',
  'skipped',
  'deferred',
  'unknown',
  'fresh',
] as const;

/** The runs, newest first. The service lists them in the order of their ends, also after its clock was set back. */
export function readHistory(document: unknown): readonly PastRun[] {
  const { entries } = objectOf(document);
  const oldestFirst = objectsOf(entries).map((entry): PastRun => {
    const atMs = timeOf(entry['timestamp']) ?? 0;
    const rows = objectsOf(entry['containers'] ?? entry['failures']);
    return {
      ...readSummary(entry),
      runId: textOf(entry['run_id']),
      atMs,
      trigger: textOf(entry['trigger']),
      by: textOf(entry['by']),
      durationMs: numberOf(entry['duration_ms']),
      rolledBack: countOf(entry['rolled_back']),
      wentBack: countOf(entry['went_back']),
      containers: rows.map((row) => ({ ...readOutcome(row), atMs })),
    };
  });
  return oldestFirst.toReversed();
}

/** An outcome of a container from history or details. An unknown kind becomes `unknown`, because it is not a success. */
export function readOutcome(json: Json): PastOutcome {
  return {
    name: nameIn(json),
    outcome: oneOf(outcomeKinds, json['outcome']) ?? 'unknown',
    atMs: timeOf(json['at']),
    from: textOf(json['from']),
    to: textOf(json['to']),
    reason: textOf(json['reason']),
    downtimeMs: numberOf(json['downtime_ms']),
    phasesMs: numbersOf(json['phases_ms']),
    log: textOf(json['log']),
    dataBytes: numberOf(objectOf(json['data'])['bytes']),
  };
}
