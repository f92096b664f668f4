import { updateFromLabel, updateIdLabel } from '../update-labels.ts';
import type { ServiceUpdate } from './service-update.ts';
import { countTasks } from '../service-tasks.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../swarm-service.ts';

/**
 * Our unfinished update of a service, from its spec alone, so that no owner has to be found. Undefined without one. An
 * update that the swarm calls completed stays open for an hour; failures of tasks after that do not belong to it.
 */
export function openUpdate(service: SwarmService, nowMs: number): ServiceUpdate | undefined {
  const { id: serviceId, image, labels, previous, update } = service;
  if (update === undefined) return undefined;
  const isRecent = update.completedAtMs === undefined || nowMs - update.completedAtMs < openForMs;
  const [id, from] = [labels[updateIdLabel], labels[updateFromLabel]];
  if (id !== undefined && from !== undefined && previous?.image === from) {
    const isOpen =
      update.state === 'updating' || update.state === 'paused' || (update.state === 'completed' && isRecent);
    return isOpen ? { id, serviceId, from, to: image } : undefined;
  }
  const previousId = previous?.labels[updateIdLabel];
  if (previousId === undefined || previous?.labels[updateFromLabel] !== image) return undefined;
  const isOpen = update.state === 'rollback_started' || (update.state === 'rollback_completed' && isRecent);
  return isOpen ? { id: previousId, serviceId, from: image, to: previous.image } : undefined;
}

/** The time for which a start watches an update that the swarm calls ended, in milliseconds. */
export const openForMs = 3_600_000;

/**
 * Whether all wanted tasks have run the version for longer than the window, which proves it without a watcher. Times
 * are of the swarm's clocks; `nowMs` is the manager's.
 */
export function isLongProven(
  service: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): boolean {
  const { wanted, running } = countTasks(service, service.image, tasks, nodes);
  return running.length >= wanted && running.every(({ stateAtMs }) => nowMs - stateAtMs > windowMs + clockSkewMs);
}

/** Nodes of a swarm need synchronised clocks for their certificates. */
const clockSkewMs = 2000;
