import type { EngineEvent, PastEventsQuery } from '../../src/domain/outside/engine-reader.ts';
import { engineNowMs, type World } from './world.ts';

/** `GET /events` with an `until`; events between the call and `until` are included. */
export async function pastEvents(
  world: World,
  { ids, sinceMs, untilMs }: PastEventsQuery,
): Promise<readonly EngineEvent[]> {
  const leftMs = untilMs - engineNowMs(world);
  if (leftMs > 0) await world.clock.sleep(leftMs);
  return world.pastEvents.filter(({ id, timeMs }) => ids.includes(id) && timeMs >= sinceMs && timeMs <= untilMs);
}

/** Whether a prune ends between the two times; waits until `untilMs` if there is none. */
export async function hasPruned(world: World, { sinceMs, untilMs }: Omit<PastEventsQuery, 'ids'>): Promise<boolean> {
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
