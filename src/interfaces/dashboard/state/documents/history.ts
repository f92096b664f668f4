import type { PastOutcome } from './container.ts';
import { countOf, numberOf, objectOf, objectsOf, textOf, timeOf } from './reading.ts';
import { readOutcome } from './read-outcome.ts';
import { readSummary, type Summary } from './status.ts';

/** A run of `GET /v1/history`. */
export type PastRun = Summary & {
  readonly runId: string;
  readonly atMs: number;
  readonly trigger: string;
  readonly durationMs: number | undefined;
  readonly rolledBack: number;
  /** The containers with news. */
  readonly containers: readonly PastOutcome[];
};

/** The runs, newest first. */
export function readHistory(document: unknown): readonly PastRun[] {
  const { entries } = objectOf(document);
  const runs = objectsOf(entries).map((entry): PastRun => {
    const atMs = timeOf(entry['timestamp']) ?? 0;
    const rows = objectsOf(entry['containers'] ?? entry['failures']);
    return {
      ...readSummary(entry),
      runId: textOf(entry['run_id']),
      atMs,
      trigger: textOf(entry['trigger']),
      durationMs: numberOf(entry['duration_ms']),
      rolledBack: countOf(entry['rolled_back']),
      containers: rows.map((row) => ({ ...readOutcome(row), atMs })),
    };
  });
  return runs.toSorted((one, other) => other.atMs - one.atMs);
}
