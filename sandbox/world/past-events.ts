import type { EngineEvent, PastEventsQuery } from '../../src/domain/outside/engine-reader.ts';
import { engineNowMs, type World } from './world.ts';

/** `GET /events` with an `until`; events between the call and `until` are included. */
export async function pastEvents(
  world: World,
  { ids, sinceMs, untilMs }: PastEventsQuery,
): Promise<readonly EngineEvent[]> {
  const remainingMs = untilMs - engineNowMs(world);
  if (remainingMs > 0) await world.clock.sleep(remainingMs);
  return world.pastEvents.filter(({ id, timeMs }) => ids.includes(id) && timeMs >= sinceMs && timeMs <= untilMs);
}

/** True if a prune ends between the two times. Waits for a prune until `untilMs`. */
export async function hasPruned(world: World, { sinceMs, untilMs }: Omit<PastEventsQuery, 'ids'>): Promise<boolean> {
  if (world.prunedAtMs.some((atMs) => atMs >= sinceMs && atMs <= untilMs)) return true;
  const ending = new AbortController();
  const late = world.clock.sleep(Math.max(0, untilMs - engineNowMs(world)), ending.signal);
  late.then(
    () => ending.abort(),
    () => undefined,
  );
  try {
    for await (const event of world.events.listen(ending.signal))
      if (event.kind === 'container' && event.action === 'prune') return true;
    return false;
  } finally {
    ending.abort();
  }
}
