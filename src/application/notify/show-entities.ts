import { fleetKeyOf } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { type Entities, entitiesOf } from '../../domain/home-assistant/entities.ts';
import type { Inventory } from '../../domain/inventory/inventory.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import type { Listen } from '../events/publisher.ts';

export type ShowEntitiesParts = {
  readonly inventory: () => Inventory;
  readonly subscribe: Listen<ServiceEvent>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly show: (fleet: Entities) => void;
};

/** Shows the watched containers, and shows them again after each change, until the signal aborts. */
export async function showEntities(
  { inventory, subscribe, clock, show }: ShowEntitiesParts,
  signal: AbortSignal,
): Promise<void> {
  const updating = new Set<string>();
  let isChanged = true;
  let shownRevision = -1;
  const leave = subscribe((event) => {
    if (event.kind === 'update_started')
      updating.add(fleetKeyOf(event.engine, { name: event.container, kind: event.entryKind }));
    else if ('outcome' in event) updating.delete(fleetKeyOf(event.engine, event.outcome));
    else if (event.kind === 'scan_completed' || event.kind === 'scan_failed') updating.clear();
    else return;
    isChanged = true;
  });
  try {
    while (!signal.aborted) {
      const now = inventory();
      const fleet = isChanged || now.revision !== shownRevision ? entitiesOf(now, updating) : undefined;
      if (fleet !== undefined) {
        show(fleet);
        isChanged = false;
        shownRevision = now.revision;
      }
      await clock.sleep(pollIntervalMs, signal).catch(() => undefined);
    }
  } finally {
    leave();
  }
}

/**
 * People look at these entities, so a second is soon enough. A check of five hundred containers then takes few updates.
 */
const pollIntervalMs = 1000;
