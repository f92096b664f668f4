import type { ServiceUpdate, Fault } from './service-update.ts';
import {
  countTasks,
  hasFailed,
  isImagesOwnFault,
  describeTaskError,
  digestIn,
  readServiceImage,
  updateFromLabel,
  updateIdLabel,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
} from '../../container/swarm-service.ts';

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
const openForMs = 3_600_000;

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

export type RolledBackVersion = { readonly image: string; readonly fault: Fault };

/**
 * Whether the swarm's own rollback has ended recently. It leaves no `PreviousSpec`, so the spec does not show the
 * version.
 */
export function isRolledBackBySwarm({ update, previous }: SwarmService, nowMs: number): boolean {
  if (update?.state !== 'rollback_completed' || previous !== undefined) return false;
  return update.completedAtMs === undefined || nowMs - update.completedAtMs < openForMs;
}

/**
 * The version that the swarm has rolled back by itself, from its newest task, which failed. Undefined if its history
 * has none. Tasks of another tag are ignored.
 */
export function versionRolledBackBySwarm(
  { image, labels, update }: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): RolledBackVersion | undefined {
  const textOf = (each: string) => readServiceImage(each, labels).text;
  const others = tasks.filter((task) => task.image !== image && textOf(task.image) === textOf(image));
  const newest = others.toSorted((one, other) => one.createdAtMs - other.createdAtMs).at(-1);
  if (newest === undefined || digestIn(newest.image) === undefined) return undefined;
  const failed = others.findLast((task) => task.image === newest.image && hasFailed(task));
  if (failed === undefined) return undefined;
  const reason = `The swarm says: ${update?.message ?? ''}; a task says: ${describeTaskError(failed, nodes)}`;
  return { image: newest.image, fault: { reason, isImagesOwn: isImagesOwnFault(failed) } };
}
