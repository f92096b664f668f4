import type { RegistryCredentials } from '../../src/domain/outside/registry.ts';
import { amd64 } from '../registry/release.ts';
import { createService, removeService, updateService } from './services.ts';
import { loseTask } from './tasks.ts';
import type { Membership, SandboxNode, SandboxServiceSpec } from './swarm-world.ts';

/** Actions of people on the swarm, and failures. These are not counted as calls. */
export type SwarmControl = {
  /** `docker swarm init`, with a number of nodes. The first one is this engine and a manager. */
  readonly form: (nodes?: number) => void;
  readonly place: (place: Membership['place']) => void;
  /** `docker service create`; returns the id. */
  readonly create: (spec: SandboxServiceSpec, credentials?: RegistryCredentials) => string;
  /** `docker service update`: reads, changes and sends the spec. */
  readonly update: (id: string, edit: (spec: SandboxServiceSpec) => void) => void;
  readonly remove: (id: string) => void;
  /** The node with this number, from 1, fails with its tasks. */
  readonly loseNode: (number: number) => void;
  readonly keepHistory: (tasks: number) => void;
  /** Removes all services and their history; all nodes are back. */
  readonly reset: () => void;
};

export function createSwarmControl(membership: Membership): SwarmControl {
  const { swarm: world } = membership;
  const nodeWith = (number: number): SandboxNode => {
    const node = [...world.nodes.values()][number - 1];
    if (node === undefined) throw new Error(`There is no node ${number}`);
    return node;
  };
  const serviceWith = (id: string) => {
    const service = world.services.get(id);
    if (service === undefined) throw new Error(`There is no service ${id}`);
    return service;
  };
  const returnNode = (node: SandboxNode): void => {
    if (node.state === 'ready') return;
    node.state = 'ready';
    for (const task of world.tasks.values()) if (task.nodeId === node.id) loseTask(world, task);
    world.settle();
  };
  return {
    form: (nodes = 3) => {
      membership.place = 'manager';
      for (let number = 1; number <= nodes; number += 1) {
        const id = world.newId('node').slice(0, 25);
        const role = number === 1 ? 'manager' : 'worker';
        world.nodes.set(id, {
          id,
          role,
          hostname: `n${number}`,
          state: 'ready',
          availability: 'active',
          platform: amd64,
          labels: {},
        });
      }
    },
    place: (place) => void (membership.place = place),
    create: (spec, credentials) => createService(world, spec, credentials).id,
    update: (id, edit) => {
      const service = serviceWith(id);
      const spec = structuredClone(service.spec);
      edit(spec);
      updateService(world, service, { spec, version: service.version });
    },
    remove: (id) => removeService(world, serviceWith(id)),
    loseNode: (number) => {
      const node = nodeWith(number);
      node.state = 'down';
      for (const task of world.tasks.values()) if (task.nodeId === node.id) task.callOff();
      world.settle();
    },
    keepHistory: (tasks) => void (world.taskHistory = tasks),
    reset: () => {
      for (const service of [...world.services.values()]) removeService(world, service);
      world.failures.clear();
      for (const node of world.nodes.values()) returnNode(node);
      world.later.callOffAll();
    },
  };
}
