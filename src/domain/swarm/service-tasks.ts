import type { SwarmNode, SwarmService, SwarmTask } from './swarm-service.ts';
import { taskStates } from './swarm-service.ts';

/** How many tasks a service should have, and those that are known to run a version. */
export type TaskCount = { readonly wanted: number; readonly running: readonly SwarmTask[] };

/**
 * Only tasks that are wanted to run, and whose node is ready, count: the manager shows one on a node that is lost as
 * running for a while. A global service is wanted on every ready node that has a task of it.
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

/** The place of a task in its service: a slot, or a node for a global service. */
export function placeOf({ slot, nodeId }: SwarmTask): string {
  return slot === undefined ? `node ${nodeId}` : `slot ${slot}`;
}

/** How far a task is on its way to `running`; 0 for one that has ended. */
export function distanceOf({ state }: SwarmTask): number {
  const at = taskStates.indexOf(state);
  return at > taskStates.indexOf('running') ? 0 : at + 1;
}

/** It ended by itself, where a service is to run on. */
export function hasFailed({ state }: SwarmTask): boolean {
  return state === 'failed' || state === 'complete' || state === 'rejected';
}

/**
 * Whether an end is the image's own fault. A task is rejected for what its node lacks: "No such image" says that the
 * registry is away, wants a login or has lost the digest.
 */
export function isImagesOwnFault({ state, error }: Pick<SwarmTask, 'state' | 'error'>): boolean {
  return (state === 'failed' || state === 'complete') && !ofTheNode.test(error);
}

const ofTheNode = /no such image|port is already|address already in use|no suitable node|no space left/i;

/** A task's own words, and where they were said. */
export function wordsOf(task: SwarmTask, nodes: readonly SwarmNode[]): string {
  const node = nodes.find(({ id }) => id === task.nodeId)?.hostname;
  const said =
    task.error || (task.exitCode === undefined ? task.state : `${task.state} with exit code ${task.exitCode}`);
  return node === undefined || node === '' ? said : `${said} on ${node}`;
}
