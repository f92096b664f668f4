import { formatDuration } from '../../text/duration.ts';
import { updateIdLabel } from '../service-image.ts';
import type { Fault, ServiceFacts, ServiceStep } from './service-update.ts';
import { countTasks, describeTaskError } from '../service-tasks.ts';
import type { SwarmService } from '../swarm-service.ts';
import { isRollback, type ServiceWatch } from './watch-service.ts';

/** Milliseconds. */
export type ServiceLimits = {
  /** The time that new tasks must run: the longer of the swarm's monitor and the health window. */
  readonly windowMs: number;
  /** The time for that proof after the end of the swarm's updater. */
  readonly proofMs: number;
  /** The time without progress after which an update has stalled: no node fits, or an image cannot be pulled. */
  readonly stallMs: number;
};

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

/**
 * The swarm's own rollback begins at the end of this:
 * https://github.com/moby/swarmkit/blob/master/manager/orchestrator/update/updater.go
 */
export const lostNodeMs = 30_000;

/** Time for a rollback: the swarm waits a minute for a task that never ran, then pulls and starts the old version. */
export const backMs = 300_000;

/** Whether the swarm rolled our update back. Its rollback restores the earlier labels, so the spec has no mark. */
function isRolledBack({ update, previous }: SwarmService, id: string, watch: ServiceWatch): boolean {
  if (update === undefined || !isRollback(update.state)) return false;
  return watch.isBegun || previous?.labels[updateIdLabel] === id || update.startedAtMs !== watch.beforeStartedAtMs;
}

function decideForward(
  facts: ServiceFacts,
  service: SwarmService,
  watch: ServiceWatch,
  limits: ServiceLimits,
): ServiceStep {
  const { nowMs, update, tasks, nodes } = facts;
  const { wanted, running } = countTasks(service, update.to, tasks, nodes);
  const progress = { running: running.length, wanted };
  const wait = { kind: 'wait', phase: 'starting', progress } as const;
  if (service.mode === 'replicated' && wanted === 0) return { kind: 'end', outcome: 'updated', reason: '' };
  const message = service.update?.message ?? '';
  if (service.update?.state === 'paused') {
    return back(facts, service, faultOf(watch, `The swarm has paused its update: ${message}`));
  }
  if (service.update?.state === 'updating') {
    const lostMs = watch.lostSinceMs === undefined ? 0 : nowMs - watch.lostSinceMs;
    if (lostMs >= lostNodeMs) {
      const reason = `A new task is on ${lostNodes(facts)}, which is down, and the swarm would wait for it without end`;
      return back(facts, service, { reason, isImagesOwn: false });
    }
    if (nowMs - watch.movedAtMs < limits.stallMs) return wait;
    return back(facts, service, stalled(facts, watch, limits.stallMs));
  }
  if (watch.provenSince !== undefined && nowMs - watch.provenSince.atMs >= limits.windowMs) {
    return { kind: 'end', outcome: 'updated', reason: '' };
  }
  if (hasFailedAgain(watch)) {
    return back(facts, service, faultOf(watch, 'The swarm calls the update completed, but its tasks keep failing'));
  }
  if (nowMs - (watch.settledAtMs ?? nowMs) < limits.proofMs) return wait;
  const short = `The swarm calls the update completed, but ${running.length} of ${wanted} tasks run`;
  return back(facts, service, faultOf(watch, short));
}

/** One failure is repaired by the swarm. Two in one place are a loop. */
function hasFailedAgain({ failures }: ServiceWatch): boolean {
  const places = [...failures.values()].map(({ place }) => place);
  return new Set(places).size < places.length;
}

function decideBack(
  facts: ServiceFacts,
  service: SwarmService,
  watch: ServiceWatch,
  limits: ServiceLimits,
): ServiceStep {
  const { update, tasks, nodes, nowMs } = facts;
  const { wanted, running } = countTasks(service, update.from, tasks, nodes);
  const progress = { running: running.length, wanted };
  const message = service.update?.message ?? '';
  const fault = faultOf(watch, message === '' ? 'The swarm has rolled the update back' : `The swarm says: ${message}`);
  // The state of the swarm does not count here. In a pause it still starts tasks, perhaps on a node with the old image.
  // It also waits without end for a task on a node that was lost unnoticed.
  if (watch.returnedSince !== undefined && nowMs - watch.returnedSince.atMs >= limits.windowMs)
    return { kind: 'end', outcome: 'rolled_back', reason: fault.reason, fault };
  if (service.update?.state === 'rollback_paused') {
    if (nowMs - (watch.settledAtMs ?? nowMs) < limits.proofMs) return { kind: 'wait', phase: 'rolling back', progress };
    const reason = `${fault.reason}; the rollback failed too, and the swarm has paused it`;
    return { kind: 'end', outcome: 'failed', reason, fault };
  }
  if (service.update?.state === 'rollback_completed' && running.length >= wanted) {
    return { kind: 'end', outcome: 'rolled_back', reason: fault.reason, fault };
  }
  if (nowMs - (watch.backSinceMs ?? nowMs) < backMs) return { kind: 'wait', phase: 'rolling back', progress };
  const reason = `${fault.reason}; after ${formatDuration(backMs)} ${running.length} of ${wanted} tasks run the previous version`;
  return { kind: 'end', outcome: 'failed', reason, fault };
}

/** A rollback is possible only while `PreviousSpec` has the image that this update replaced. */
function back({ update }: ServiceFacts, service: SwarmService, fault: Fault): ServiceStep {
  if (service.previous?.image === update.from) return { kind: 'go back', ...fault };
  const reason = `${fault.reason}; it cannot be rolled back, because the service has been changed since`;
  return { kind: 'end', outcome: 'failed', reason, fault };
}

/** The swarm keeps no history, so failures that were not seen count as the image's own. */
function faultOf({ failures, lostSinceMs }: ServiceWatch, reason: string): Fault {
  const seen = [...failures.values()];
  const own = seen.findLast(({ isImagesOwn }) => isImagesOwn);
  const last = own ?? seen.at(-1);
  const isImagesOwn = own !== undefined || (seen.length === 0 && lostSinceMs === undefined);
  return { reason: last === undefined ? reason : `${reason}; a task says: ${last.words}`, isImagesOwn };
}

function stalled({ update, tasks, nodes }: ServiceFacts, watch: ServiceWatch, stallMs: number): Fault {
  const waiting = tasks.findLast(({ image, state, desired }) => {
    return image === update.to && desired === 'running' && state !== 'running';
  });
  const words = waiting === undefined ? '' : `; a task says: ${describeTaskError(waiting, nodes)}`;
  const isImagesOwn = [...watch.failures.values()].some((failure) => failure.isImagesOwn);
  return { reason: `No task has moved for ${formatDuration(stallMs)}${words}`, isImagesOwn };
}

function lostNodes({ update, tasks, nodes }: ServiceFacts): string {
  const lost = nodes.filter(
    ({ id, state }) => state === 'down' && tasks.some(({ image, nodeId }) => image === update.to && nodeId === id),
  );
  return lost.map(({ hostname }) => hostname).join(', ') || 'a node';
}

function defer(reason: string): ServiceStep {
  return { kind: 'end', outcome: 'deferred', reason };
}
