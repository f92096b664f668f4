import { freshReason } from '../../domain/check/verdict.ts';
import { defined } from '../../domain/text/plain-data.ts';
import type { LastCheck } from '../../domain/inventory.ts';
import { otherDigest, type CheckedContainer } from '../check/checked-container.ts';

export const notChecked: LastCheck = {
  staleness: undefined,
  stale: false,
  updateAvailable: false,
  latestDigest: '',
  reason: '',
  checkedAtMs: undefined,
};

export const justUpdated = { staleness: 'fresh', reason: 'Was updated to the newest image of its tag' } as const;

/** The last result of a container that runs the newest image of that check now. */
export function asNewest({ latestDigest, checkedAtMs }: LastCheck): LastCheck {
  return { ...notChecked, staleness: 'fresh', reason: freshReason, latestDigest, checkedAtMs };
}

export function withRolledBack({ unrestrained: _, ...checked }: CheckedContainer): CheckedContainer {
  return { ...checked, ...heldAsFailed, eligibleAtMs: undefined };
}

const heldAsFailed = {
  status: 'held',
  hold: 'failed',
  reason:
    'The newer version failed here and was rolled back: Upkeep will not retry it until a newer image is published; --retry-failed retries it now',
} as const;

const { status: staleness, ...failed } = heldAsFailed;

export const rolledBack = { staleness, ...failed, stale: false, updateAvailable: true } as const;

export const wentBack = {
  staleness: 'held',
  hold: 'went-back',
  reason:
    'Somebody went back from the newer version: Upkeep will not apply it until a newer image is published; --retry-failed applies it now',
  stale: false,
  updateAvailable: true,
} as const;

/** The container was updated to an older version of a moving tag, because the newest is too young. */
export const updatedHalfway = {
  staleness: 'held',
  hold: 'cooldown',
  reason: 'Was updated to an earlier image of its tag, because the newest is too young for the cooldown',
  updateAvailable: true,
} as const;

/** Keeps the last known verdict if a check has failed. */
export function checkOf(container: CheckedContainer, before: LastCheck, checkedAtMs: number | undefined): LastCheck {
  const { status: staleness, reason, updateAvailable, latestDigest = '', hold, retryAtMs } = container;
  const why = defined({ hold, retryAtMs });
  if (staleness === 'unknown') {
    const { hold: _hold, eligibleAtMs: _eligibleAtMs, retryAtMs: _retryAtMs, ...known } = before;
    return { ...known, staleness, reason, stale: false, checkedAtMs, ...why };
  }
  const stale = staleness === 'stale';
  return { staleness, reason, stale, updateAvailable, latestDigest, checkedAtMs, ...why, ...newerOf(container) };
}

function newerOf(container: CheckedContainer): Partial<LastCheck> {
  const { candidate, candidateKind, eligibleAtMs, latestVersion, change, releasedAtMs, downloadBytes, sourceUrl } =
    container;
  return defined({
    candidateDigest: otherDigest(container),
    eligibleAtMs,
    latestVersion,
    candidate,
    candidateKind,
    change,
    releasedAtMs,
    downloadBytes,
    sourceUrl,
  });
}
