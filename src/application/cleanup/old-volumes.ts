import { anonymousVolumeNames } from '../../domain/container/recipe/volumes/mounts.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { PlannedMember, UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Outcomes } from '../update/run-plan.ts';

/** Whether remove-volumes is about this container: what is only re-created with another one keeps its volumes. */
export function getsFreshVolumes(
  { cause }: Pick<PlannedMember, 'cause'>,
  { removeVolumes }: Pick<ServiceSettings, 'removeVolumes'>,
): boolean {
  return removeVolumes && cause === 'stale';
}

/**
 * Removes the anonymous volumes of containers whose update has succeeded; the engine refuses while
 * any container uses one. What an interruption leaves behind stays until somebody prunes it.
 */
export async function removeOldVolumes(
  { engine, log }: Outside,
  { transactions }: UpdatePlan,
  outcomes: Outcomes,
): Promise<void> {
  for (const { container, cause } of transactions.flatMap(({ members }) => members)) {
    if (cause !== 'stale' || outcomes.get(container.id)?.outcome !== 'updated') continue;
    for (const volume of anonymousVolumeNames(container).values()) {
      const { kind, ...said } = await engine.removeVolume(volume);
      if (kind === 'done') log.info('An anonymous volume was removed', { container: container.name, volume });
      else log.debug('An anonymous volume stays', { container: container.name, volume, outcome: kind, ...said });
    }
  }
}
