import { updateIdLabel, type SwarmService } from '../../container/swarm-service.ts';
import { decideBack } from './decide-back.ts';
import { decideForward } from './decide-forward.ts';
import type { ServiceFacts, ServiceLimits, ServiceStep } from './service-update.ts';
import { isRollback, type ServiceWatch } from './watch-service.ts';

/**
 * The next step of a service's update, whether this process began it or found it. The swarm's updater does the work;
 * its own report is never enough:
 * 1. The spec has the old image and not our mark: update, or report a finished rollback.
 * 2. The spec has our mark: wait for the swarm's updater, then for the proof; without a proof, roll back.
 * 3. Any other spec was set by another program or a person, and stays.
 */
export function decideService(facts: ServiceFacts, watch: ServiceWatch, limits: ServiceLimits): ServiceStep {
  const { service, update } = facts;
  if (service === undefined) return defer('The service was removed in the meantime');
  if (service.image === update.to && service.labels[updateIdLabel] === update.id) {
    return decideForward(facts, service, watch, limits);
  }
  if (service.image === update.from && isRolledBack(service, update.id, watch)) {
    return decideBack(facts, service, watch, limits);
  }
  if (!watch.isBegun && service.image === update.from) return { kind: 'update' };
  return defer('Somebody else changed the service in the meantime, and that change is kept');
}

/** Whether the swarm rolled our update back. Its rollback restores the earlier labels, so the spec has no mark. */
function isRolledBack({ update, previous }: SwarmService, id: string, watch: ServiceWatch): boolean {
  if (update === undefined || !isRollback(update.state)) return false;
  return watch.isBegun || previous?.labels[updateIdLabel] === id || update.startedAtMs !== watch.beforeStartedAtMs;
}

function defer(reason: string): ServiceStep {
  return { kind: 'end', outcome: 'deferred', reason };
}
