import type { SwarmNode, SwarmService, SwarmTask } from './swarm-service.ts';
import { taskStates } from './swarm-service.ts';

/** The number of tasks that a service should have, and of those that run a version. */
export type TaskCount = { readonly wanted: number; readonly running: readonly SwarmTask[] };

/**
 * Only tasks that should run on a ready node count: for some time the manager shows a task on a lost node as running. A
 * global service should run on every ready node that has one of its tasks.
 */
export function countTasks(
  { mode, replicas = 0 }: Pick<SwarmService, 'mode' | 'replicas'>,
  image: string,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): TaskCount {
  const ready = new Set(nodes.filter(({ state }) => state === 'ready').map(({ id }) => id));
  const wanted = tasks.filter(({ desired, nodeId }) => desired === 'running' && ready.has(nodeId));
  const running = wanted.filter((task) => task.image === image && task.state === 'running');
  if (mode === 'global') return { wanted: new Set(wanted.map(({ nodeId }) => nodeId)).size, running };
  return { wanted: replicas, running };
}

/** The place of a task in its service: a slot, or for a global service a node. */
export function placeOf({ slot, nodeId }: SwarmTask): string {
  return slot === undefined ? `node ${nodeId}` : `slot ${slot}`;
}

/** The number of states that a task has passed on its way to `running`; 0 for one that has ended. */
export function progressOf({ state }: SwarmTask): number {
  const at = taskStates.indexOf(state);
  return at > taskStates.indexOf('running') ? 0 : at + 1;
}

/** Whether the swarm wants the task to run, now or after a delay before its restart. */
export function isToRun({ desired }: SwarmTask): boolean {
  return taskStates.indexOf(desired) <= taskStates.indexOf('running');
}

/** Whether a task of a service that should keep running has ended by itself. */
export function hasFailed({ state }: SwarmTask): boolean {
  return state === 'failed' || state === 'complete' || state === 'rejected';
}

/**
 * Whether an end is the image's own fault. A rejected task lacks something on its node: "No such image" means that the
 * registry is unreachable, requires a login or has lost the digest.
 */
export function isImagesOwnFault({ state, error }: Pick<SwarmTask, 'state' | 'error'>): boolean {
  return (state === 'failed' || state === 'complete') && !ofTheNode.test(error);
}

const ofTheNode = /no such image|port is already|address already in use|no suitable node|no space left/i;

/** The error text of a task, with its node. */
export function describeTaskError(task: SwarmTask, nodes: readonly SwarmNode[]): string {
  const node = nodes.find(({ id }) => id === task.nodeId)?.hostname;
  const error =
    task.error || (task.exitCode === undefined ? task.state : `${task.state} with exit code ${task.exitCode}`);
  return node === undefined || node === '' ? error : `${error} on ${node}`;
}
