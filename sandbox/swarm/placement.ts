import { hasEnded, type SandboxNode, type SandboxService, type SandboxTask, type SwarmState } from './swarm-world.ts';

export type Placement =
  | { readonly kind: 'node'; readonly nodeId: string }
  /** With the scheduler's message. */
  | { readonly kind: 'nowhere'; readonly message: string };

/** The suitable node with the fewest tasks; for a task of a global service, its own node. */
export function placeTask(world: SwarmState, service: SandboxService, task: SandboxTask): Placement {
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
