import { isToRun } from '../../../domain/swarm/service-tasks.ts';
import type { SwarmService } from '../../../domain/swarm/swarm-service.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { pathSegment } from '../transport/json-fields.ts';
import { arrayOf } from '../../../domain/text/json-value.ts';
import { elementsAt, spanAt } from './json-spans.ts';
import { readRaw, readRawList } from './read-raw.ts';
import { readService } from './read-service.ts';
import { listTasks } from './tasks.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceList */
export async function listServices(client: Client, signal?: AbortSignal): Promise<readonly SwarmService[]> {
  const answer = await readRawList(client, {
    doing: 'list the services of the swarm',
    path: '/services',
    query: { status: 'true' },
    signal,
  });
  const spans = elementsAt(answer.text, 0) ?? [];
  const services = arrayOf(answer.value).flatMap((value, index) => {
    const span = spans[index];
    return span === undefined ? [] : (readService(answer.text, span, value) ?? []);
  });
  return await withDelayedTasks(client, services, signal);
}

/**
 * The swarm does not count the tasks of a global service that wait for their restart, so a service whose tasks keep
 * failing has the count of one that no node fits. Only their tasks differ:
 * https://github.com/moby/swarmkit/blob/master/manager/controlapi/service.go
 */
async function withDelayedTasks(
  client: Client,
  services: readonly SwarmService[],
  signal: AbortSignal | undefined,
): Promise<readonly SwarmService[]> {
  const isInDoubt = ({ mode, count }: SwarmService) => mode === 'global' && count?.running === 0 && count.wanted === 0;
  const inDoubt = services.filter(isInDoubt).map(({ id }) => id);
  const toRun = (await listTasks(client, inDoubt, signal)).filter(isToRun);
  return services.map((service) => {
    const wanted = toRun.filter(({ serviceId }) => serviceId === service.id).length;
    return wanted === 0 ? service : { ...service, count: { running: 0, wanted } };
  });
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceInspect */
export async function inspectService(
  client: Client,
  id: string,
  signal?: AbortSignal,
): Promise<SwarmService | undefined> {
  const doing = `read the service ${quoted(id)}`;
  const answer = await readRaw(client, { doing, path: servicePath(id), signal });
  const span = answer && spanAt(answer.text, []);
  const service = span && readService(answer.text, span, answer.value);
  // The engine also finds services by name and by a prefix of the id.
  return service?.id === id ? service : undefined;
}

export function servicePath(id: string): string {
  return `/services/${pathSegment(id)}`;
}
