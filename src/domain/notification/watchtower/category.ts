import type { ContainerOutcome } from '../../run/session.ts';
import type { RunFacts } from '../run-facts.ts';

/** A state of the family's report. It has no word for a rollback, nor for a deferred update. */
export type Category = 'Updated' | 'Restarted' | 'Failed' | 'Fresh' | 'Stale' | 'Skipped';

/** `Stale`: something newer is there, and a wish keeps it back. */
export function categoryOf(container: ContainerOutcome, purpose: RunFacts['purpose']): Category {
  switch (container.outcome) {
    case 'updated':
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

/** Its newer image is too young: the family counts it among the skipped ones. */
export function isCooling({ cooldown }: ContainerOutcome): boolean {
  return cooldown !== undefined && cooldown.ageMs < cooldown.delayMs;
}

/** Of a container that was left as it is: the check found another digest. */
function isAvailable({ oldImageId, newImageId, oldDigest, newDigest }: ContainerOutcome): boolean {
  return newImageId === oldImageId && newDigest !== '' && newDigest !== oldDigest;
}

/** The name of the newer image: its id, or its digest if the engine does not hold it. */
export function latestOf({ oldImageId, newImageId, newDigest }: ContainerOutcome): string {
  return newImageId === '' || newImageId === oldImageId ? newDigest || newImageId : newImageId;
}
