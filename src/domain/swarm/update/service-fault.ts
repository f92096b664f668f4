import { formatDuration } from '../../text/duration.ts';
import { describeTaskError } from '../../container/swarm-service.ts';
import type { Fault, ServiceFacts } from './service-update.ts';
import type { ServiceWatch } from './watch-service.ts';

/**
 * The fault of an update that failed. Without a failed task or a lost node it counts as the image's own, because the
 * swarm may keep no history of its tasks.
 */
export function faultOf({ failures, lostSinceMs }: ServiceWatch, reason: string): Fault {
  const seen = [...failures.values()];
  const own = seen.findLast(({ isImagesOwn }) => isImagesOwn);
  const last = own ?? seen.at(-1);
  const isImagesOwn = own !== undefined || (seen.length === 0 && lostSinceMs === undefined);
  return { reason: last === undefined ? reason : `${reason}; a task says: ${last.words}`, isImagesOwn };
}

/**
 * A task on a node that is down. With `start-first` the swarm waits for it without end, and rolls the service back when
 * the node returns, possibly hours later.
 */
export function lostNode(
  { update, tasks, nodes, nowMs }: ServiceFacts,
  { lostSinceMs }: ServiceWatch,
): Fault | undefined {
  if (lostSinceMs === undefined || nowMs - lostSinceMs < lostNodeMs) return undefined;
  const lost = nodes.filter(
    ({ id, state }) => state === 'down' && tasks.some(({ image, nodeId }) => image === update.to && nodeId === id),
  );
  const names = lost.map(({ hostname }) => hostname).join(', ') || 'a node';
  const reason = `A new task is on ${names}, which is down, and the swarm would wait for it without end`;
  return { reason, isImagesOwn: false };
}

/** The engine of a node restarts in less time. */
const lostNodeMs = 30_000;

/** No task has moved for `stallMs`: no node fits, or an image cannot be pulled. */
export function stall(
  { update, tasks, nodes, nowMs }: ServiceFacts,
  watch: ServiceWatch,
  stallMs: number,
): Fault | undefined {
  if (nowMs - watch.movedAtMs < stallMs) return undefined;
  const waiting = tasks.findLast(({ image, state, desired }) => {
    return image === update.to && desired === 'running' && state !== 'running';
  });
  const words = waiting === undefined ? '' : `; a task says: ${describeTaskError(waiting, nodes)}`;
  const isImagesOwn = [...watch.failures.values()].some((failure) => failure.isImagesOwn);
  return { reason: `No task has moved for ${formatDuration(stallMs)}${words}`, isImagesOwn };
}
