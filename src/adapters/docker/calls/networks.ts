import type { CallOutcome, ConnectRequest } from '../../../domain/outside/engine-writer.ts';
import type { Network } from '../../../domain/container/container.ts';
import { errorPatterns } from '../translate/capabilities.ts';
import { change } from './changes.ts';
import type { Client } from '../transport/client.ts';
import { inspectContainer } from './containers.ts';
import { readList } from '../reading/lists.ts';
import { readNetwork } from '../translate/translate.ts';
import { isDefined, pathSegment } from '../transport/json-fields.ts';

export async function listNetworks(client: Client, signal?: AbortSignal): Promise<readonly Network[]> {
  const entries = await readList(client, { thing: 'network', path: '/networks', signal });
  return entries.map(readNetwork).filter(isDefined);
}

/**
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Network/operation/NetworkCreate: below API 1.44 a name
 * is unique only on request.
 */
export async function createNetwork(client: Client, { recipe }: Network): Promise<CallOutcome> {
  const outcome = await change(client, { path: '/networks/create', body: { ...recipe, CheckDuplicate: true } });
  const isTaken = outcome.kind === 'refused' && errorPatterns.networkTaken.test(outcome.message);
  return isTaken ? { kind: 'noop' } : outcome;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Network/operation/NetworkConnect */
export async function connectNetwork(client: Client, request: ConnectRequest): Promise<CallOutcome> {
  const outcome = await change(client, {
    path: `/networks/${pathSegment(request.networkId)}/connect`,
    body: { Container: request.containerId, EndpointConfig: request.endpoint },
  });
  const isRefused = outcome.kind === 'refused' && errorPatterns.alreadyConnected.test(outcome.message);
  return isRefused && (await isConnected(client, request)) ? { kind: 'noop' } : outcome;
}

/** The engine answers the same while another container of that name still has the endpoint. */
async function isConnected(client: Client, { containerId, networkId }: ConnectRequest): Promise<boolean> {
  const container = await inspectContainer(client, containerId).catch(() => undefined);
  const networks = Object.entries(container?.settings.Networks ?? {});
  if (networks.some(([name, { NetworkID }]) => name === networkId || NetworkID === networkId)) return true;
  // Podman reports no network ids here.
  const named = (await listNetworks(client).catch(() => [])).find(({ id }) => id === networkId);
  return networks.some(([name, { NetworkID }]) => NetworkID === '' && name === named?.name);
}
