import { isAlive } from '../../src/domain/container/container.ts';
import { removeContainer } from './remove.ts';
import { announce, engineNowMs, type World } from '../world/world.ts';

/** `docker container prune`: removes all stopped containers, then sends an event. */
export function pruneContainers(world: World): void {
  for (const container of world.containers.values()) {
    if (!isAlive(container.state.status)) removeContainer(world, container, { withVolumes: false });
  }
  world.prunedAtMs.push(engineNowMs(world));
  announce(world, 'container', 'prune', '', { reclaimed: '0' });
}

/** Whether a prune ends between the two times; waits until `untilMs` if there is none. */
export async function hasPruned(
  world: World,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
): Promise<boolean> {
  if (world.prunedAtMs.some((atMs) => atMs >= sinceMs && atMs <= untilMs)) return true;
  const over = new AbortController();
  const late = world.clock.sleep(Math.max(0, untilMs - engineNowMs(world)), over.signal);
  late.then(
    () => over.abort(),
    () => undefined,
  );
  try {
    for await (const event of world.events.listen(over.signal))
      if (event.kind === 'container' && event.action === 'prune') return true;
    return false;
  } finally {
    over.abort();
  }
}
