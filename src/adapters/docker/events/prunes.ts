import { capabilitiesOf } from '../translate/capabilities.ts';
import type { Client } from '../transport/client.ts';
import { eventsBetween } from './events-between.ts';

/** Docker announces a prune after it has removed everything. */
export async function hasPruned(
  client: Client,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
): Promise<boolean> {
  if (!capabilitiesOf(await client.version()).tellsOfPrunes) return false;
  const filters = { type: ['container'], event: ['prune'] };
  const aheadMs = Math.max(0, untilMs - sinceMs);
  for await (const event of eventsBetween(client, { sinceMs, untilMs, filters, aheadMs })) {
    if (event.kind === 'container' && event.action === 'prune') return true;
  }
  return false;
}
