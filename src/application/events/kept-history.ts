import {
  outcomeKinds,
  triggers,
  engineRunResults,
  type ContainerOutcome,
  type EngineRun,
} from '../../domain/run/session.ts';
import { isJsonObject } from '../../domain/text/json.ts';
import type { HistoryEntry, PastFailure } from './history.ts';

/** The entries of the last 90 days, at most the newest 10,000, oldest first. The file keeps only these. */
export function compactHistory(entries: readonly HistoryEntry[], nowMs: number): readonly HistoryEntry[] {
  return entries.filter(({ timestampMs }) => timestampMs > nowMs - longestMs).slice(-mostKept);
}

const longestMs = 90 * 86_400_000;
const mostKept = 10_000;

/** Reads an entry of the file. Undefined for any other value. */
export function readHistoryEntry(value: unknown): HistoryEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  const { runId, timestampMs, durationMs, scanned, updated, failed, restarted, skipped, rolledBack } = value;
  const trigger = triggers.find((each) => each === value['trigger']);
  const { failures, containers, engines } = value;
  if (trigger === undefined || typeof runId !== 'string' || !isTime(timestampMs) || !isCount(durationMs))
    return undefined;
  if (!isCount(scanned) || !isCount(updated) || !isCount(failed) || !isCount(restarted)) return undefined;
  if (!isCount(skipped) || !isCount(rolledBack)) return undefined;
  if (!isListOf(failures, isFailure) || !isListOf(containers, isOutcome)) return undefined;
  if (engines !== undefined && !isListOf(engines, isEngineRun)) return undefined;
  const counts = { scanned, updated, failed, restarted, skipped };
  return {
    runId,
    trigger,
    timestampMs,
    durationMs,
    ...counts,
    rolledBack,
    failures,
    containers,
    ...(engines && { engines }),
  };
}

function isFailure(value: unknown): value is PastFailure {
  return (
    isJsonObject(value) && outcomeKinds.some((kind) => kind === value['outcome']) && hasTexts(value, ['name', 'reason'])
  );
}

function isOutcome(value: unknown): value is ContainerOutcome {
  if (!isFailure(value) || ('log' in value && !hasTexts(value, ['log']))) return false;
  return hasTexts(value, ['image', 'oldImageId', 'newImageId', 'oldDigest', 'newDigest']);
}

function isEngineRun(value: unknown): value is EngineRun {
  if (!isJsonObject(value) || !hasTexts(value, ['name']) || !engineRunResults.some((one) => one === value['result']))
    return false;
  return isCount(value['durationMs']) && (value['error'] === undefined || hasTexts(value, ['error']));
}

function hasTexts(value: object, names: readonly string[]): boolean {
  const texts = new Map(Object.entries(value));
  return names.every((name) => typeof texts.get(name) === 'string');
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** Durations are not always whole milliseconds. */
function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
