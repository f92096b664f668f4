import { isAlive } from '../../src/domain/container/container.ts';
import { endProcessSilently } from './process-end.ts';
import { removeOrphanedVolumes } from '../world/volumes.ts';
import { emitEvent, emitContainerEvent, engineNowMs, type SandboxContainer, type World } from '../world/world.ts';

/** Kills the process and deletes the container. Removes its volumes only on request, and none in use. */
export function removeContainer(
  world: World,
  container: SandboxContainer,
  { withVolumes }: { readonly withVolumes: boolean },
): void {
  if (world.containers.get(container.id) !== container) return;
  if (container.process !== undefined) {
    container.removing = true;
    emitContainerEvent(world, 'kill', container, { signal: '9' });
    endProcessSilently(world, container, killed);
    emitContainerEvent(world, 'die', container, { exitCode: String(killed) });
  }
  world.containers.delete(container.id);
  if (world.names.get(container.name) === container.id) world.names.delete(container.name);
  if (withVolumes) removeOrphanedVolumes(world, container.mounts);
  emitContainerEvent(world, 'destroy', container);
}

/** `docker container prune`: removes all stopped containers, then sends an event. */
export function pruneContainers(world: World): void {
  for (const container of world.containers.values()) {
    if (!isAlive(container.state.status)) removeContainer(world, container, { withVolumes: false });
  }
  world.prunedAtMs.push(engineNowMs(world));
  emitEvent(world, 'container', 'prune', '', { reclaimed: '0' });
}

/** 128 + SIGKILL: https://tldp.org/LDP/abs/html/exitcodes.html */
export const killed = 137;
