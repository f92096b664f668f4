import { capabilitiesOf } from './capabilities.ts';
import type { Client } from './client.ts';
import { jsonLines } from './json-lines.ts';
import { refusal } from './reads.ts';
import { readEvent } from './translate.ts';

/**
 * Docker tells of a prune once all is removed, and with `until` ends the answer then.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemEvents
 */
export async function hasPruned(
  client: Client,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
): Promise<boolean> {
  if (!capabilitiesOf(await client.version()).tellsOfPrunes) return false;
  const reply = await client.send({
    method: 'GET',
    path: '/events',
    query: {
      since: seconds(sinceMs),
      until: seconds(untilMs),
      filters: JSON.stringify({ type: ['container'], event: ['prune'] }),
    },
    socket: 'own',
    patience: { for: 'whole', ms: Math.max(0, untilMs - sinceMs) + client.deadlines.readMs },
  });
  if (reply.kind === 'error') throw refusal('ask for events', reply);
  for await (const line of jsonLines(reply.body)) {
    const event = readEvent(line);
    if (event?.kind === 'container' && event.action === 'prune') return true;
  }
  return false;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}
