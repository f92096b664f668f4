import { findContainer } from '../world/lookup.ts';
import { Refusal } from '../base/refusal.ts';
import type { SandboxContainer, World } from '../world/world.ts';

/**
 * The container with the shared network must run; its host name is shared, too. It is found by id, or by a name that
 * did not exist at the create.
 */
export function joinSharedNetwork(world: World, container: SandboxContainer): void {
  const target = sharedWith(container.hostConfig.NetworkMode);
  if (target === undefined) return;
  const neighbour = findContainer(world, target);
  if (neighbour === undefined)
    throw new Refusal(world.profile.statusOfMissingNeighbour, `No such container: ${target}`);
  if (neighbour === container) throw new Refusal(500, 'cannot join own network');
  if (!neighbour.process) throw new Refusal(409, `cannot join network of a non running container: ${neighbour.id}`);
  const { Hostname = '', Domainname = '' } = neighbour.config;
  container.config = { ...container.config, Hostname, Domainname };
}

/** Legacy links work on the default network only. */
export function checkLinks({ links }: SandboxContainer): void {
  for (const { name, endpoints } of links.values()) {
    if (!endpoints.has('bridge'))
      throw new Refusal(500, `Cannot link to /${name}, as it does not belong to the default network`);
  }
}

/** Refuses the start unless the containers with its shared namespaces and the targets of its links run. */
export function checkNamespaces(world: World, { name, links, hostConfig }: SandboxContainer): void {
  for (const [alias, linked] of links) {
    if (!linked.process)
      throw new Refusal(500, `Cannot link to a non running container: /${linked.name} AS /${name}/${alias}`);
  }
  joinMemory(world, sharedWith(hostConfig.IpcMode));
  joinProcesses(world, sharedWith(hostConfig.PidMode));
}

function joinMemory(world: World, target: string | undefined): void {
  if (target === undefined) return;
  const cannot = (why: string, status = 500) => new Refusal(status, `can't join IPC of container ${target}: ${why}`);
  const neighbour = findContainer(world, target);
  if (neighbour === undefined) throw cannot(`No such container: ${target}`);
  if (!neighbour.process) throw cannot(`container ${target} is not running`, world.profile.statusOfIdleNeighbour);
  if (neighbour.hostConfig.IpcMode !== 'shareable')
    throw cannot('non-shareable IPC (hint: use IpcMode:shareable for the donor container)');
}

function joinProcesses(world: World, target: string | undefined): void {
  if (target === undefined) return;
  const neighbour = findContainer(world, target);
  if (neighbour === undefined)
    throw new Refusal(500, `cannot join PID of a non running container: ${target}: No such container: ${target}`);
  if (!neighbour.process) throw new Refusal(world.profile.statusOfIdleNeighbour, `container ${target} is not running`);
}

function sharedWith(mode = ''): string | undefined {
  return mode.startsWith('container:') ? mode.slice('container:'.length) : undefined;
}
