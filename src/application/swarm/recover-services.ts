import type { Outside } from '../../domain/outside/outside.ts';
import type { FailedServiceVersion, Swarm } from '../../domain/outside/engine.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { readLabels, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import {
  isLongProven,
  openUpdate,
  isRolledBackBySwarm,
  versionRolledBackBySwarm,
  beginWatch,
  type RolledBackVersion,
  type ServiceUpdate,
} from '../../domain/swarm/decide-service.ts';
import { summaryOfService, digestIn, type SwarmService } from '../../domain/container/swarm-service.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { listServices, type ServiceListing } from '../engine/listing.ts';
import { rememberFailure } from './failed-services.ts';
import { followService, limitsOf, readService, type ServiceEnd } from './follow-service.ts';

/** Ends updates of services that an earlier process began. Reports each one that needed attention. */
export type RecoverServices = (signal?: AbortSignal) => Promise<readonly RecoveredTransaction[]>;

/**
 * Reads the state of each update. With several instances of Upkeep, the first one acts: the swarm accepts only one
 * change per version of a service.
 */
export function createServiceRecovery(outside: Outside, settings: ServiceSettings): RecoverServices {
  /** Updates whose end this process has seen. */
  const ended = new Set<string>();

  function noteEnd(id: string): void {
    if (ended.size >= mostRemembered) ended.clear();
    ended.add(id);
  }

  return async (signal) => {
    const { swarm, clock } = outside;
    const listing = swarm && (await listServices(outside, signal));
    if (swarm === undefined || listing === undefined) return [];
    const open = listing.services.flatMap((service) => {
      const update = openUpdate(service, clock.nowMs());
      const isOver = update === undefined || ended.has(update.id) || isKnownToFail(service, update, listing.failures);
      return isOver ? [] : [{ service, update }];
    });
    const settled = await mapConcurrently(open, settings.updateConcurrency, async ({ service, update }) => {
      const end = await settle({ ...outside, swarm }, settings, service, update, signal);
      if (end === 'proven' || end.outcome !== 'deferred') noteEnd(update.id);
      return end === 'proven' ? [] : [asTransaction(service, end)];
    });
    const rolledBack = (await rememberRolledBack({ ...outside, swarm }, listing, signal)).filter(
      ({ service, image }) => !ended.has(`${service.id} ${image}`),
    );
    for (const { service, image } of rolledBack) noteEnd(`${service.id} ${image}`);
    const undone = rolledBack.map(({ service, fault }) =>
      asTransaction(service, { outcome: 'rolled_back', reason: fault.reason }),
    );
    return [...settled.flat(), ...undone];
  };
}

const mostRemembered = 10_000;

/** True if the end of the update was reported before: the rollback has ended and the failed version is stored. */
function isKnownToFail(
  { id, image }: SwarmService,
  { to, from }: ServiceUpdate,
  failures: readonly FailedServiceVersion[],
): boolean {
  return image === from && failures.some(({ serviceId, digest }) => serviceId === id && digest === digestIn(to));
}

async function settle(
  outside: Omit<Outside, 'swarm'> & { readonly swarm: Swarm },
  settings: ServiceSettings,
  service: SwarmService,
  update: ServiceUpdate,
  signal: AbortSignal | undefined,
): Promise<ServiceEnd | 'proven'> {
  const { swarm, clock } = outside;
  const limits = limitsOf(service, settings);
  const { tasks, nodes } = await readService(swarm, service.id, signal);
  const isForward = service.image === update.to;
  const isWell = service.update?.state === 'completed' && isForward;
  if (isWell) {
    const { nowMs } = await outside.engine.info(signal);
    if (isLongProven(service, tasks, nodes, { nowMs, windowMs: limits.windowMs })) return 'proven';
  }
  const watch = { ...beginWatch({ update: undefined }, [], clock.monotonicMs()), isBegun: true };
  const end = await followService(outside, { update, watch, limits }, signal);
  if (end.outcome === 'rolled_back' || end.outcome === 'failed')
    await rememberFailure(outside, { id: service.id, name: service.name, image: update.to }, end);
  return end;
}

const resultOf: Readonly<Record<ServiceEnd['outcome'], RecoveredTransaction['result']>> = {
  updated: 'finished',
  rolled_back: 'undone',
  failed: 'failed',
  deferred: 'left',
  skipped: 'left',
  unknown: 'failed',
};

function asTransaction(service: SwarmService, { outcome, reason }: ServiceEnd): RecoveredTransaction {
  const { name } = service;
  const { notify } = readLabels(summaryOfService(service).labels, {}).wishes;
  return {
    containers: [name],
    kind: 'service',
    result: resultOf[outcome],
    reason: reason || 'All tasks of the service run the new version',
    ...(notify && { recipients: { [name]: notify } }),
  };
}

/**
 * Stores versions that the swarm rolled back while no Upkeep ran, for example of Upkeep's own service. Returns the
 * newly stored versions.
 */
async function rememberRolledBack(
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
