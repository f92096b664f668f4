import type { RecoveredTransaction } from '../run/recovery-report.ts';
import type { ContainerOutcome } from '../run/session.ts';

/** Something that a run finds again and again until somebody does something about it. */
export type Finding = {
  readonly key: string;
  /** After which it is told of once more, in milliseconds; undefined: never. */
  readonly remindAfterMs: number | undefined;
};

/**
 * The finding to remember once an outcome was reported; undefined for outcomes that happen only once, and for
 * what is no news at all. A version that was rolled back is found again by later runs, which hold it back.
 */
export function findingOf({
  name,
  outcome,
  reason,
  oldDigest,
  newDigest,
  newImageId,
  oldImageId,
}: ContainerOutcome): Finding | undefined {
  const newer = newDigest !== '' && newDigest !== oldDigest ? newDigest : newImageId === oldImageId ? '' : newImageId;
  switch (outcome) {
    case 'skipped':
    case 'deferred':
      return { key: keyOf('available', name, newer === '' ? withoutNumbers(reason) : newer), remindAfterMs: undefined };
    case 'rolled_back':
      return { key: keyOf('available', name, newer), remindAfterMs: 0 };
    case 'failed':
      return { key: keyOf('failed', name, newer, withoutNumbers(reason)), remindAfterMs: dayMs };
    case 'unknown':
      return { key: keyOf('unknown', name, withoutNumbers(reason)), remindAfterMs: 7 * dayMs };
    case 'updated':
    case 'restarted':
    case 'fresh':
      return undefined;
  }
}

/** The finding to remember about an earlier update that is still open; undefined where it has come to its end. */
export function findingOfRepair({ containers, result, reason }: RecoveredTransaction): Finding | undefined {
  if (result === 'finished' || result === 'undone') return undefined;
  return { key: keyOf('repair', ...containers, result, withoutNumbers(reason)), remindAfterMs: dayMs };
}

/** Whether it is to be told of, having been told of at that time last. */
export function isNews({ remindAfterMs }: Finding, toldAtMs: number | undefined, nowMs: number): boolean {
  if (toldAtMs === undefined) return true;
  // A clock that was set back must not keep a failure quiet.
  return remindAfterMs !== undefined && (nowMs - toldAtMs >= remindAfterMs || nowMs < toldAtMs);
}

const dayMs = 86_400_000;

/** Outcomes that are news whenever they come. */
export function isHappening({ outcome }: ContainerOutcome): boolean {
  return outcome === 'updated' || outcome === 'restarted' || outcome === 'rolled_back';
}

function keyOf(...parts: readonly string[]): string {
  return parts.join(' ').slice(0, longestKey);
}

const longestKey = 500;

/** Ports, times and ids change from one failure to the next of the same kind. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/[0-9a-f]*\d[0-9a-f]*/gi, '#');
}
