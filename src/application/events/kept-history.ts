import type { ContainerOutcome, OutcomeKind, Trigger } from '../../domain/run/session.ts';
import type { HistoryEntry, PastFailure } from './history.ts';

/** The entries that stay in a file: of the last 90 days, the newest 10,000. Oldest first. */
export function compactHistory(entries: readonly HistoryEntry[], nowMs: number): readonly HistoryEntry[] {
  return entries.filter(({ timestampMs }) => timestampMs > nowMs - longestMs).slice(-mostKept);
}

const longestMs = 90 * 86_400_000;
const mostKept = 10_000;

/** An entry from a file; undefined for anything else. */
export function readHistoryEntry(value: unknown): HistoryEntry | undefined {
  if (!isObject(value)) return undefined;
  const { runId, timestampMs, durationMs, scanned, updated, failed, restarted, skipped, rolledBack } = value;
  const trigger = triggers.find((each) => each === value['trigger']);
  const { failures, containers } = value;
  if (trigger === undefined || typeof runId !== 'string' || !isTime(timestampMs) || !isCount(durationMs))
    return undefined;
  if (!isCount(scanned) || !isCount(updated) || !isCount(failed) || !isCount(restarted)) return undefined;
  if (!isCount(skipped) || !isCount(rolledBack)) return undefined;
  if (!isListOf(failures, isFailure) || !isListOf(containers, isOutcome)) return undefined;
  const counts = { scanned, updated, failed, restarted, skipped };
  return { runId, trigger, timestampMs, durationMs, ...counts, rolledBack, failures, containers };
}

const triggers: readonly Trigger[] = ['command', 'schedule', 'start', 'http'];

const kinds: ReadonlySet<unknown> = new Set<OutcomeKind>([
  ...(['updated', 'fresh', 'failed', 'rolled_back'] as const),
  ...(['restarted', 'skipped', 'deferred', 'unknown'] as const),
]);

function isFailure(value: unknown): value is PastFailure {
  return isObject(value) && kinds.has(value['outcome']) && hasTexts(value, ['name', 'reason']);
}

function isOutcome(value: unknown): value is ContainerOutcome {
  return isFailure(value) && hasTexts(value, ['image', 'oldImageId', 'newImageId', 'oldDigest', 'newDigest']);
}

function hasTexts(value: object, names: readonly string[]): boolean {
  const texts = new Map(Object.entries(value));
  return names.every((name) => typeof texts.get(name) === 'string');
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** Durations are not always whole milliseconds. */
function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
