import { formatDuration } from '../../text/duration.ts';
import { countTasks, type SwarmService } from '../../container/swarm-service.ts';
import { faultOf } from './service-fault.ts';
import type { ServiceFacts, ServiceLimits, ServiceStep } from './service-update.ts';
import type { ServiceWatch } from './watch-service.ts';

/**
 * The next step while the spec has the old image again. The old tasks prove a rollback in every state of the swarm: in a
 * pause it still starts tasks, perhaps on a node with the old image, and it waits without end for a task on a node that
 * was lost unnoticed.
 */
export function decideBack(
  { update, tasks, nodes, nowMs }: ServiceFacts,
  service: SwarmService,
  watch: ServiceWatch,
  limits: ServiceLimits,
): ServiceStep {
  const { wanted, running } = countTasks(service, update.from, tasks, nodes);
  const wait = { kind: 'wait', phase: 'rolling back', progress: { running: running.length, wanted } } as const;
  const { state, message = '' } = service.update ?? {};
  const fault = faultOf(watch, message === '' ? 'The swarm has rolled the update back' : `The swarm says: ${message}`);
  const hasReturned = watch.returnedSince !== undefined && nowMs - watch.returnedSince.atMs >= limits.windowMs;
  if (hasReturned || (state === 'rollback_completed' && running.length >= wanted)) {
    return { kind: 'end', outcome: 'rolled_back', reason: fault.reason, fault };
  }
  if (state === 'rollback_paused') {
    if (nowMs - (watch.settledAtMs ?? nowMs) < limits.proofMs) return wait;
    const reason = `${fault.reason}; the rollback failed too, and the swarm has paused it`;
    return { kind: 'end', outcome: 'failed', reason, fault };
  }
  if (nowMs - (watch.backSinceMs ?? nowMs) < backMs) return wait;
  const reason = `${fault.reason}; after ${formatDuration(backMs)} ${running.length} of ${wanted} tasks run the previous version`;
  return { kind: 'end', outcome: 'failed', reason, fault };
}

/** The swarm waits a minute for a task that never ran, then pulls and starts the previous version. */
const backMs = 300_000;
