import type { ServiceSettings } from '../settings/settings.ts';
import type { PlannedMember } from './update-plan.ts';

/**
 * Whether remove-volumes applies to this container. A container that is only re-created because of another one keeps
 * its volumes.
 */
export function getsFreshVolumes(
  { cause }: Pick<PlannedMember, 'cause'>,
  { removeVolumes }: Pick<ServiceSettings, 'removeVolumes'>,
): boolean {
  return removeVolumes && cause === 'stale';
}
