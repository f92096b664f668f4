import { words } from '../../../../domain/text/words.ts';
import type { PastRun } from '../documents/history.ts';
import type { Status } from '../documents/status.ts';
import { when, duration, joinedWords } from '../words.ts';

/**
 * `Last run today 04:02: 3 updated and 1 rolled back`; undefined before the first run. Only the history, which is read
 * after the status, tells a failure from a rollback.
 */
export function lastRunWords(
  status: Status,
  newest: PastRun | 'unread' | undefined,
  nowMs: number,
): string | undefined {
  const atMs = status.lastRunAtMs ?? (newest === 'unread' ? undefined : newest?.atMs);
  if (atMs === undefined) return undefined;
  if (newest === 'unread') return `Last run ${when(atMs, nowMs)}`;
  const did = didWords(newest ?? { ...status.summary, rolledBack: 0, wentBack: 0 });
  return `Last run ${when(atMs, nowMs)}: ${did.length === 0 ? 'nothing new' : joinedWords(did)}`;
}

/** `2 updated`, `1 failed and was rolled back`, …: only counts above 0. */
export function didWords(
  run: Pick<PastRun, 'updated' | 'failed' | 'restarted' | 'rolledBack' | 'wentBack'>,
): readonly string[] {
  const { updated, failed, restarted, rolledBack, wentBack } = run;
  const counts = [
    [updated, 'updated'],
    [wentBack, 'went back'],
    [rolledBack, words.outcome.rolled_back],
    [failed - rolledBack, 'failed'],
    [restarted, 'restarted'],
  ] as const;
  return counts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []));
}

/** `Updates every day at 04:00 (Europe/Berlin).`; empty if the schedule is absent or unknown. */
export function scheduleWords({ schedule }: Status): string {
  return schedule === '' ? '' : `Updates ${schedule}.`;
}

/** `Next run tomorrow 04:00, in 13 h.` */
export function nextRunWords({ nextRunAtMs, scheduleOff }: Status, nowMs: number): string {
  if (nextRunAtMs === undefined)
    return scheduleOff === '' ? 'No run is scheduled.' : `No run is scheduled: ${scheduleOff}.`;
  if (nextRunAtMs <= nowMs) return 'The next run is due.';
  return `Next run ${when(nextRunAtMs, nowMs)}, in ${duration(nextRunAtMs - nowMs)}.`;
}

/** The asker of a run: a session, a token, the schedule, the command line. */
export function askedBy({ by, trigger }: Pick<PastRun, 'by' | 'trigger'>): string {
  return by || (triggerWords[trigger] ?? trigger);
}

const triggerWords: Readonly<Record<string, string>> = {
  schedule: 'schedule',
  http: 'API',
  command: 'command line',
  start: 'start of Upkeep',
};
