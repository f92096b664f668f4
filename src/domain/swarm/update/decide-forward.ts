import { countTasks, isToRun, type SwarmService } from '../../container/swarm-service.ts';
import { faultOf, lostNode, stall } from './service-fault.ts';
import type { Fault, ServiceFacts, ServiceLimits, ServiceStep } from './service-update.ts';
import type { ServiceWatch } from './watch-service.ts';

/** The next step while the spec has the new image and our mark. */
export function decideForward(
  facts: ServiceFacts,
  service: SwarmService,
  watch: ServiceWatch,
  limits: ServiceLimits,
): ServiceStep {
  const { nowMs, update, tasks, nodes } = facts;
  const { wanted, running } = countTasks(service, update.to, tasks, nodes);
  const wait = { kind: 'wait', phase: 'starting', progress: { running: running.length, wanted } } as const;
  if (service.mode === 'replicated' && wanted === 0) return updated;
  if (service.update?.state === 'paused') {
    return rollBack(facts, service, faultOf(watch, `The swarm has paused its update: ${service.update.message}`));
  }
  if (service.update?.state === 'updating') {
    const fault = lostNode(facts, watch) ?? stall(facts, watch, limits.stallMs);
    return fault === undefined ? wait : rollBack(facts, service, fault);
  }
  if (watch.provenSince !== undefined && nowMs - watch.provenSince.atMs >= limits.windowMs) return updated;
  if (hasFailedAgain(watch)) {
    const reason = 'The swarm calls the update completed, but its tasks keep failing';
    return rollBack(facts, service, faultOf(watch, reason));
  }
  const settledForMs = nowMs - (watch.settledAtMs ?? nowMs);
  if (fitsNoNode(service, tasks, watch) && settledForMs >= limits.windowMs) return updated;
  if (settledForMs < limits.proofMs) return wait;
  const reason = `The swarm calls the update completed, but ${running.length} of ${wanted} tasks run`;
  return rollBack(facts, service, faultOf(watch, reason));
}

const updated: ServiceStep = { kind: 'end', outcome: 'updated', reason: '' };

/** One failure is repaired by the swarm. Two in one place are a loop. */
function hasFailedAgain({ failures }: ServiceWatch): boolean {
  const places = [...failures.values()].map(({ place }) => place);
  return new Set(places).size < places.length;
}

/** A global service without a node that fits its constraints has no task, so no task can prove its version. */
function fitsNoNode({ mode }: SwarmService, tasks: ServiceFacts['tasks'], { failures }: ServiceWatch): boolean {
  return mode === 'global' && failures.size === 0 && !tasks.some(isToRun);
}

/** A rollback is possible only while `PreviousSpec` has the image that this update replaced. */
function rollBack({ update }: ServiceFacts, service: SwarmService, fault: Fault): ServiceStep {
  if (service.previous?.image === update.from) return { kind: 'go back', ...fault };
  const reason = `${fault.reason}; it cannot be rolled back, because the service has been changed since`;
  return { kind: 'end', outcome: 'failed', reason, fault };
}
