import type { Outcomes } from '../../domain/run/session.ts';
import { anonymousVolumeNames } from '../../domain/container/recipe/volumes/mounts.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';

/**
 * Removes the anonymous volumes of updated containers; the engine refuses a volume in use. After an interruption the
 * volumes stay until a prune.
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
