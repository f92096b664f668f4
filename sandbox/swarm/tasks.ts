import type { SwarmTask } from '../../src/domain/container/swarm-service.ts';
import {
  hasEnded,
  tasksOf,
  type SandboxService,
  type SandboxTask,
  type SwarmState,
  type SandboxNode,
} from './swarm-world.ts';

/** Duration of a short step of a task. */
const stepMs = 50;
/** Time after which failed probes make a task unhealthy. */
const unhealthyAfterMs = 600;
/** Swarm waits a minute for a task that never ran, then continues. */
const neverRanMs = 60_000;

type NewTask = {
  readonly slot: number | undefined;
  readonly nodeId?: string;
  /** `ready`: prepared; it starts when the swarm sets it to `running`. */
  readonly desired: 'ready' | 'running';
};

/** Creates a task with the current spec of the service; the world settles after each step of its life. */
export function createTask(
  world: SwarmState,
  service: SandboxService,
  { slot, nodeId = '', desired }: NewTask,
): SandboxTask {
  const task: SandboxTask = {
    id: world.newId('task').slice(0, 25),
    serviceId: service.id,
    slot,
    image: service.spec.TaskTemplate.ContainerSpec.Image,
    createdAtMs: world.clock.nowMs(),
    nodeId,
    state: 'new',
    desired,
    error: '',
    exitCode: undefined,
    stateAtMs: world.clock.nowMs(),
    callOff: () => {},
    behaviour: undefined,
  };
  world.tasks.set(task.id, task);
  trimHistory(world, service, task);
  assign(world, service, task);
  return task;
}

/** Assigns a node. Called again after every change for a task that waits for one. */
export function assign(world: SwarmState, service: SandboxService, task: SandboxTask): void {
  if (task.state !== 'new' && task.state !== 'pending') return;
  const place = placeTask(world, service, task);
  if (place.kind === 'nowhere') {
    task.state = 'pending';
    task.error = place.message;
    return;
  }
  task.nodeId = place.nodeId;
  task.error = '';
  setState(world, task, 'assigned');
  after(world, task, stepMs, () => void prepare(world, task));
}

async function prepare(world: SwarmState, task: SandboxTask): Promise<void> {
  setState(world, task, 'preparing');
  const found = await world.behaviourOf(task.image, world.services.get(task.serviceId)?.credentials);
  if (task.state !== 'preparing') return;
  if (found === undefined) {
    end(world, task, 'rejected', { error: `No such image: ${task.image}` });
    return world.settle();
  }
  task.behaviour = found;
  setState(world, task, 'ready');
  world.settle();
  if (task.desired === 'running') startTask(world, task);
}

/** Starts a ready task at once, another one as soon as it is ready. */
export function startTask(world: SwarmState, task: SandboxTask): void {
  task.desired = 'running';
  if (task.state !== 'ready' || task.behaviour === undefined) return;
  const { behaviour, hasHealthcheck } = task.behaviour;
  if (behaviour.startError !== undefined) {
    end(world, task, 'rejected', { error: `starting container failed: ${behaviour.startError}` });
    return world.settle();
  }
  setState(world, task, 'starting');
  const finish = (state: SwarmTask['state'], how: { readonly error: string; readonly exitCode?: number }) => () => {
    end(world, task, state, how);
    world.settle();
  };
  const exitCode = behaviour.exitCode ?? 0;
  const exit = finish(exitCode === 0 ? 'complete' : 'failed', {
    error: exitCode === 0 ? '' : `task: non-zero exit (${exitCode})`,
    exitCode,
  });
  if (behaviour.exitsAfterMs === 0) return after(world, task, stepMs, exit);
  const { health } = behaviour;
  if (hasHealthcheck && health?.kind === 'unhealthy')
    // The task stops on request.
    return after(world, task, unhealthyAfterMs, finish('complete', { error: '', exitCode: 0 }));
  const healthyAfterMs = hasHealthcheck && health?.kind === 'healthy' ? (health.afterMs ?? 0) : 0;
  after(world, task, stepMs + healthyAfterMs, () => {
    setState(world, task, 'running');
    if (behaviour.exitsAfterMs !== undefined) after(world, task, behaviour.exitsAfterMs, exit);
    world.settle();
  });
}

/** Requests the stop of a task. A node that is down does not receive the request. */
export function stopTask(world: SwarmState, task: SandboxTask): void {
  if (task.desired === 'shutdown') return;
  task.desired = 'shutdown';
  if (hasEnded(task) || isAway(world, task)) return;
  const stop = () => {
    end(world, task, 'shutdown', { error: '' });
    world.settle();
  };
  after(world, task, task.state === 'pending' ? neverRanMs : stepMs + (task.behaviour?.behaviour.stopMs ?? 0), stop);
}

/** Ends a task whose node is back. The node's failure has stopped its processes. */
export function loseTask(world: SwarmState, task: SandboxTask): void {
  if (!hasEnded(task)) end(world, task, 'failed', { error: 'task: non-zero exit (137)', exitCode: 137 });
}

export function isAway(world: SwarmState, { nodeId }: SandboxTask): boolean {
  return nodeId !== '' && world.nodes.get(nodeId)?.state !== 'ready';
}

function setState(world: SwarmState, task: SandboxTask, state: SwarmTask['state']): void {
  task.state = state;
  task.stateAtMs = world.clock.nowMs();
}

function end(
  world: SwarmState,
  task: SandboxTask,
  state: SwarmTask['state'],
  { error, exitCode }: { readonly error: string; readonly exitCode?: number },
): void {
  task.callOff();
  task.error = error;
  task.exitCode = exitCode;
  setState(world, task, state);
}

/** A task has one scheduled step at a time, and none while its node is down. */
function after(world: SwarmState, task: SandboxTask, ms: number, act: () => void): void {
  task.callOff();
  task.callOff = world.later.in(ms, () => {
    if (!isAway(world, task)) act();
  });
}

/** Drops the oldest ended tasks of the slot beyond the history, which includes the newest. */
function trimHistory(world: SwarmState, service: SandboxService, { slot, nodeId }: SandboxTask): void {
  const others = tasksOf(world, service).filter((task) =>
    slot === undefined ? task.nodeId === nodeId : task.slot === slot,
  );
  const surplus = others.length - Math.max(1, world.taskHistory);
  for (const task of others.filter(hasEnded).slice(0, Math.max(0, surplus))) world.tasks.delete(task.id);
}

type Placement =
  | { readonly kind: 'node'; readonly nodeId: string }
  /** With the scheduler's message. */
  | { readonly kind: 'nowhere'; readonly message: string };

/** The suitable node with the fewest tasks; for a task of a global service, its own node. */
function placeTask(world: SwarmState, service: SandboxService, task: SandboxTask): Placement {
  const alive = [...world.nodes.values()].filter(
    ({ state, availability, id }) =>
      state === 'ready' && availability === 'active' && (task.nodeId === '' || task.nodeId === id),
  );
  const fitting = alive.filter((node) => fits(node, service));
  if (fitting.length === 0) return nowhere(`scheduling constraints not satisfied on ${alive.length} nodes`);
  const free = fitting.filter((node) => !hostPorts(service).some((port) => isTaken(world, node, port, task)));
  if (free.length === 0) return nowhere(`host-mode port already in use on ${fitting.length} nodes`);
  const load = ({ id }: SandboxNode) => onNode(world, id).filter(({ serviceId }) => serviceId === service.id).length;
  const [first] = free.toSorted((one, other) => load(one) - load(other));
  return { kind: 'node', nodeId: first?.id ?? '' };
}

/** Nodes on which a global service has a task, except for missing ones. */
export function nodesFor(world: SwarmState, service: SandboxService): readonly SandboxNode[] {
  return [...world.nodes.values()].filter(
    (node) => node.state === 'ready' && node.availability === 'active' && fits(node, service),
  );
}

function nowhere(why: string): Placement {
  return { kind: 'nowhere', message: `no suitable node (${why})` };
}

/** https://docs.docker.com/reference/cli/docker/service/create/#constraint, for the attributes that the sandbox has. */
function fits(node: SandboxNode, { spec }: SandboxService): boolean {
  return (spec.TaskTemplate.Placement?.Constraints ?? []).every((constraint) => {
    const [, key = '', operator = '==', value = ''] = /^\s*(\S+?)\s*(==|!=)\s*(\S+)\s*$/.exec(constraint) ?? [];
    return (factOf(node, key) === value) === (operator === '==');
  });
}

function factOf(node: SandboxNode, key: string): string | undefined {
  if (key === 'node.hostname') return node.hostname;
  if (key === 'node.role') return node.role;
  if (key === 'node.id') return node.id;
  return key.startsWith('node.labels.') ? node.labels[key.slice('node.labels.'.length)] : undefined;
}

function hostPorts({ spec }: SandboxService): readonly number[] {
  return (spec.EndpointSpec?.Ports ?? []).flatMap(({ PublishMode, PublishedPort }) =>
    PublishMode === 'host' && PublishedPort !== undefined ? [PublishedPort] : [],
  );
}

function isTaken(world: SwarmState, node: SandboxNode, port: number, own: SandboxTask): boolean {
  return onNode(world, node.id).some(({ id, serviceId }) => {
    const service = world.services.get(serviceId);
    return id !== own.id && service !== undefined && hostPorts(service).includes(port);
  });
}

function onNode(world: SwarmState, nodeId: string): readonly SandboxTask[] {
  return [...world.tasks.values()].filter((task) => task.nodeId === nodeId && !hasEnded(task));
}
