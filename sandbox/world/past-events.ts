import type { EngineEvent, PastEventsQuery } from '../../src/domain/outside/outside.ts';
import { engineNowMs, type World } from './world.ts';

/** `GET /events` with an `until`: what comes before that has passed is told too. */
export async function pastEvents(
  world: World,
  { ids, sinceMs, untilMs }: PastEventsQuery,
): Promise<readonly EngineEvent[]> {
  const leftMs = untilMs - engineNowMs(world);
  if (leftMs > 0) await world.clock.sleep(leftMs);
  return world.pastEvents.filter(({ id, timeMs }) => ids.includes(id) && timeMs >= sinceMs && timeMs <= untilMs);
}
