import { digestIn, readServiceImage } from '../service-image.ts';
import { hasFailed, isImagesOwnFault, wordsOf } from '../service-tasks.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../swarm-service.ts';
import { openForMs } from './open-update.ts';
import type { Fault } from './service-update.ts';

export type TakenBack = { readonly image: string; readonly fault: Fault };

/**
 * Whether the swarm's own rollback has ended recently. It leaves no `PreviousSpec`, so the spec does not show the
 * version.
 */
export function isTakenBackAlone({ update, previous }: SwarmService, nowMs: number): boolean {
  if (update?.state !== 'rollback_completed' || previous !== undefined) return false;
  return update.completedAtMs === undefined || nowMs - update.completedAtMs < openForMs;
}

/**
 * The version that the swarm has rolled back by itself, from its newest task, which failed. Undefined if its history
 * has none. For another tag it means nothing to a check.
 */
export function takenBackBySwarm(
  { image, labels, update }: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): TakenBack | undefined {
  const textOf = (each: string) => readServiceImage(each, labels).text;
  const others = tasks.filter((task) => task.image !== image && textOf(task.image) === textOf(image));
  const newest = others.toSorted((one, other) => one.createdAtMs - other.createdAtMs).at(-1);
  if (newest === undefined || digestIn(newest.image) === undefined) return undefined;
  const failed = others.findLast((task) => task.image === newest.image && hasFailed(task));
  if (failed === undefined) return undefined;
  const reason = `The swarm says: ${update?.message ?? ''}; a task says: ${wordsOf(failed, nodes)}`;
  return { image: newest.image, fault: { reason, isImagesOwn: isImagesOwnFault(failed) } };
}
