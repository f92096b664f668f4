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
