import type { Outside } from '../../domain/outside/outside.ts';
import type { Swarm } from '../../domain/outside/swarm.ts';
import { digestIn } from '../../domain/swarm/service-image.ts';
import type { SwarmService } from '../../domain/swarm/swarm-service.ts';
import { isTakenBackAlone, type TakenBack, takenBackBySwarm } from '../../domain/swarm/update/open-update.ts';
import type { ServiceListing } from '../engine/service-listing.ts';
import { rememberFailure } from './failed-services.ts';

/**
 * Remembers versions that the swarm rolled back while no Upkeep watched, such as those of Upkeep's own service. Returns
 * the versions that were not remembered before.
 */
export async function rememberTakenBack(
  outside: Pick<Outside, 'log' | 'clock'> & { readonly swarm: Swarm },
  { services, nodes, failures }: ServiceListing,
  signal?: AbortSignal,
): Promise<readonly (TakenBack & { readonly service: SwarmService })[]> {
  const candidates = services.filter((service) => isTakenBackAlone(service, outside.clock.nowMs()));
  if (candidates.length === 0) return [];
  const tasks = await outside.swarm.tasks(
    candidates.map(({ id }) => id),
    signal,
  );
  const found = candidates.flatMap((service) => {
    const own = tasks.filter(({ serviceId }) => serviceId === service.id);
    const taken = takenBackBySwarm(service, own, nodes);
    const isKnown = failures.some(
      ({ serviceId, digest }) => serviceId === service.id && digest === digestIn(taken?.image ?? ''),
    );
    return taken === undefined || isKnown ? [] : [{ ...taken, service }];
  });
  for (const { service, image, fault } of found)
    await rememberFailure(outside, { id: service.id, name: service.name, image }, { fault });
  return found;
}
