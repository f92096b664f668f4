import { type ContainerOutcome, entryKeyOf } from '../run/session.ts';
import { keysOfRepaired, type RecoveredTransaction } from '../run/event.ts';

/** A finding that each run repeats until its cause is removed. */
export type Finding = {
  readonly key: string;
  /** The time after which it is reported again, in milliseconds; undefined: never. */
  readonly remindAfterMs: number | undefined;
};

/**
 * The finding to remember after an outcome was reported. Undefined for outcomes that happen once, and for outcomes
 * without news. Later runs find a version that was rolled back again, because they hold it back.
 */
export function findingOf(container: ContainerOutcome): Finding | undefined {
  const { outcome, reason, oldDigest, newDigest, newImageId, oldImageId } = container;
  const which = entryKeyOf(container);
  const newer = newDigest !== '' && newDigest !== oldDigest ? newDigest : newImageId === oldImageId ? '' : newImageId;
  switch (outcome) {
    case 'skipped':
    case 'deferred':
      return {
        key: keyOf('available', which, newer === '' ? withoutNumbers(reason) : newer),
        remindAfterMs: undefined,
      };
    case 'rolled_back':
      return { key: keyOf('available', which, newer), remindAfterMs: 0 };
    case 'failed':
      return { key: keyOf('failed', which, newer, withoutNumbers(reason)), remindAfterMs: dayMs };
    case 'unknown':
      return { key: keyOf('unknown', which, withoutNumbers(reason)), remindAfterMs: 7 * dayMs };
    case 'updated':
    case 'went_back':
    case 'restarted':
    case 'fresh':
      return undefined;
  }
}

/** The finding to remember about an earlier update that is still open. Undefined if it has ended. */
export function findingOfRepair(transaction: RecoveredTransaction): Finding | undefined {
  const { result, reason } = transaction;
  if (result === 'finished' || result === 'undone' || result === 'solved') return undefined;
  return {
    key: keyOf('repair', ...keysOfRepaired(transaction), result, withoutNumbers(reason)),
    remindAfterMs: dayMs,
  };
}

/** The key of the last end of an earlier update: if it was open again since, that is news. */
export function keyOfRepaired(transaction: RecoveredTransaction): string {
  return keyOf('repaired', ...keysOfRepaired(transaction));
}

/** Whether a finding is to be reported, given the time of its last report. */
export function isNews({ remindAfterMs }: Finding, reportedAtMs: number | undefined, nowMs: number): boolean {
  if (reportedAtMs === undefined) return true;
  // A clock that was set back must not suppress a failure.
  return remindAfterMs !== undefined && (nowMs - reportedAtMs >= remindAfterMs || nowMs < reportedAtMs);
}

const dayMs = 86_400_000;

/** Outcomes that are always news. */
export function isAlwaysNews({ outcome }: ContainerOutcome): boolean {
  return outcome === 'updated' || outcome === 'restarted' || outcome === 'rolled_back';
}

function keyOf(...parts: readonly string[]): string {
  return parts.join(' ').slice(0, longestKey);
}

const longestKey = 500;

/** Ports, times and ids differ between failures of the same kind. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/[0-9a-f]*\d[0-9a-f]*/gi, '#');
}
