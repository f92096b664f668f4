import { readAnswer } from '../transport/answer.ts';
import { capabilitiesOf } from '../translate/capabilities.ts';
import type { Client } from '../transport/client.ts';
import { isNotFound, refusal } from '../reading/reads.ts';
import { pathSegment } from '../transport/json-fields.ts';

/**
 * Makes Podman run a health check and record the result, as its systemd timer would. Does nothing on an engine that
 * runs the checks itself. https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function probeHealth(client: Client, id: string): Promise<void> {
  if (capabilitiesOf(await client.version()).healthProbes) return;
  const path = `/libpod/containers/${pathSegment(id)}/healthcheck`;
  const patience = { for: 'whole', ms: client.deadlines.changeMs } as const;
  const reply = await client.send({ method: 'GET', path, socket: 'own', patience });
  if (reply.kind === 'ok') await readAnswer(reply.body);
  // 409: the container does not run, which the next inspection shows.
  else if (reply.status !== 409 && !isNotFound(reply)) throw refusal('run a health check', reply);
}
