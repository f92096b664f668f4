import type { SwarmNode, SwarmService, SwarmTask } from '../../container/swarm-service.ts';

/** Why an update must not begin, before any change. Undefined without an obstacle. */
export type ServiceRefusal = { readonly outcome: 'skipped' | 'deferred'; readonly reason: string };

export function whyNotUpdated(
  service: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): ServiceRefusal | undefined {
  const { mode, update, order, hasHostPorts } = service;
  if (isJob(service)) return { outcome: 'skipped', reason: 'It is a job, and an update would run it again' };
  if (update?.state === 'updating' || update?.state === 'rollback_started') {
    return { outcome: 'deferred', reason: 'The swarm is executing another update of it' };
  }
  if (order === 'start-first' && hasHostPorts && service.replicas !== 0) {
    const taken = new Set(tasks.filter(({ desired }) => desired === 'running').map(({ nodeId }) => nodeId));
    const free = nodes.filter((node) => isUsable(node) && fits(node, service.constraints) && !taken.has(node.id));
    if (mode === 'global' || free.length === 0) {
      const reason =
        'It publishes a port in host mode and starts first, and every node that fits has a task of it: the swarm would wait without end. Set update_config.order to stop-first, or add a node';
      return { outcome: 'skipped', reason };
    }
  }
  return undefined;
}

export function isJob({ mode }: Pick<SwarmService, 'mode'>): boolean {
  return mode === 'replicated-job' || mode === 'global-job';
}

function isUsable({ state, availability }: SwarmNode): boolean {
  return state === 'ready' && availability === 'active';
}

/**
 * A constraint that cannot be read here counts as met; the swarm decides.
 * https://docs.docker.com/engine/swarm/services/#placement-constraints
 */
function fits(node: SwarmNode, constraints: readonly string[]): boolean {
  return constraints.every((constraint) => {
    const [, key = '', operator = '', wanted = ''] = /^\s*(\S+?)\s*(==|!=)\s*(.*?)\s*$/.exec(constraint) ?? [];
    const value = valueOf(node, key);
    if (value === undefined) return true;
    return (value.toLowerCase() === wanted.toLowerCase()) === (operator === '==');
  });
}

function valueOf({ id, hostname, role, labels, platform }: SwarmNode, key: string): string | undefined {
  if (key.startsWith('node.labels.')) return labels[key.slice('node.labels.'.length)] ?? '';
  const values = { 'node.id': id, 'node.hostname': hostname, 'node.role': role, 'node.platform.os': platform.os };
  return new Map(Object.entries(values)).get(key);
}
