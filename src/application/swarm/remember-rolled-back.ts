import type { Outside } from '../../domain/outside/outside.ts';
import type { Swarm } from '../../domain/outside/swarm.ts';
import { digestIn } from '../../domain/swarm/service-image.ts';
import type { SwarmService } from '../../domain/swarm/swarm-service.ts';
import {
  isRolledBackBySwarm,
  type RolledBackVersion,
  versionRolledBackBySwarm,
} from '../../domain/swarm/update/open-update.ts';
import type { ServiceListing } from '../engine/service-listing.ts';
import { rememberFailure } from './failed-services.ts';

/**
 * Stores versions that the swarm rolled back while no Upkeep ran, for example of Upkeep's own service. Returns the
 * newly stored versions.
 */
export async function rememberRolledBack(
  outside: Pick<Outside, 'log' | 'clock'> & { readonly swarm: Swarm },
  { services, nodes, failures }: ServiceListing,
  signal?: AbortSignal,
): Promise<readonly (RolledBackVersion & { readonly service: SwarmService })[]> {
  const candidates = services.filter((service) => isRolledBackBySwarm(service, outside.clock.nowMs()));
  if (candidates.length === 0) return [];
  const tasks = await outside.swarm.tasks(
    candidates.map(({ id }) => id),
    signal,
  );
  const found = candidates.flatMap((service) => {
    const own = tasks.filter(({ serviceId }) => serviceId === service.id);
    const version = versionRolledBackBySwarm(service, own, nodes);
    const isKnown = failures.some(
      ({ serviceId, digest }) => serviceId === service.id && digest === digestIn(version?.image ?? ''),
    );
    return version === undefined || isKnown ? [] : [{ ...version, service }];
  });
  for (const { service, image, fault } of found)
    await rememberFailure(outside, { id: service.id, name: service.name, image }, { fault });
  return found;
}
