import type { ContainerOutcome } from '../../run/session.ts';
import type { RunFacts } from '../run-facts.ts';

/** A state in the family's report. The report has none for a rollback or a deferred update. */
export type Category = 'Updated' | 'Restarted' | 'Failed' | 'Fresh' | 'Stale' | 'Skipped';

/** `Stale`: a newer version exists, but a setting holds it back. */
export function categoryOf(container: ContainerOutcome, purpose: RunFacts['purpose']): Category {
  switch (container.outcome) {
    case 'updated':
    case 'went_back':
      return 'Updated';
    case 'restarted':
      return 'Restarted';
    case 'fresh':
      return 'Fresh';
    case 'failed':
    case 'rolled_back':
      return 'Failed';
    case 'unknown':
      return 'Skipped';
    case 'skipped':
    case 'deferred':
      if (isCooling(container)) return 'Skipped';
      return purpose === 'check' || isAvailable(container) ? 'Stale' : 'Skipped';
  }
}

/** Its newer image is too young. The family counts it as skipped. */
export function isCooling({ cooldown }: ContainerOutcome): boolean {
  return cooldown !== undefined && cooldown.ageMs < cooldown.delayMs;
}

/** For a container that was not changed: the check found another digest. */
function isAvailable({ oldImageId, newImageId, oldDigest, newDigest }: ContainerOutcome): boolean {
  return newImageId === oldImageId && newDigest !== '' && newDigest !== oldDigest;
}

/** The newer image: its id, or its digest if the engine does not have it. */
export function latestOf({ oldImageId, newImageId, newDigest }: ContainerOutcome): string {
  return newImageId === '' || newImageId === oldImageId ? newDigest || newImageId : newImageId;
}
