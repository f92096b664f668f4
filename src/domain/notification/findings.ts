import type { ContainerOutcome } from '../run/session.ts';

/** Something that a run finds again and again until somebody does something about it. */
export type Finding = {
  readonly key: string;
  /** After which it is told of once more, in milliseconds; undefined: never. */
  readonly remindAfterMs: number | undefined;
};

/**
 * The finding to remember once an outcome has been reported; undefined for an outcome that cannot recur or
 * is no news. A rolled-back version recurs: later runs find it and hold it back.
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
