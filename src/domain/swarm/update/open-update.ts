import { updateFromLabel, updateIdLabel } from '../update-labels.ts';
import type { ServiceUpdate } from './service-update.ts';
import { countTasks } from '../service-tasks.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../swarm-service.ts';

/**
 * The update of ours that a service is in the middle of, told by its spec alone, so that no owner has to be asked;
 * undefined where there is none. One that the swarm calls completed is open for an hour: later, tasks that fail say
 * nothing of it.
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

/** Milliseconds in which a start looks after what the swarm calls ended. */
export const openForMs = 3_600_000;

/**
 * All wanted tasks run the version, and have for longer than the window: the proof that nobody was there to watch. By
 * the clocks of the swarm; `nowMs` is the manager's.
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

/** Nodes of a swarm need clocks that agree, for their certificates. */
const clockSkewMs = 2000;
