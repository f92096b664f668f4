import type { Swarm, SwarmState } from '../../../domain/outside/swarm.ts';
import { printable } from '../../../domain/text/printable.ts';
import { readExisting } from '../reading/reads.ts';
import type { Client } from '../transport/client.ts';
import { fields, text } from '../transport/json-fields.ts';
import { changeService, rollBackService } from './changes.ts';
import { forgetFailure, listFailures, recordFailure } from './failures.ts';
import { inspectService, listServices } from './services.ts';
import { listNodes, listTasks } from './tasks.ts';

/** The swarm of an engine, over its client. */
export function createDockerSwarm(client: Client): Swarm {
  return {
    state: (signal) => swarmState(client, signal),
    services: (signal) => listServices(client, signal),
    service: (id, signal) => inspectService(client, id, signal),
    tasks: (serviceIds, signal) => listTasks(client, serviceIds, signal),
    nodes: (signal) => listNodes(client, signal),
    failures: (signal) => listFailures(client, signal),
    change: (service, edit) => changeService(client, service, edit),
    rollBack: (service) => rollBackService(client, service),
    noteFailure: (failure) => recordFailure(client, failure),
    forgetFailure: (failure) => forgetFailure(client, failure),
  };
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemInfo */
async function swarmState(client: Client, signal?: AbortSignal): Promise<SwarmState> {
  const info = fields(await readExisting(client, { doing: 'ask the engine about its swarm', path: '/info', signal }));
  const { LocalNodeState, ControlAvailable, Cluster, Error } = fields(info['Swarm']);
  const error = printable(text(Error), 300);
  switch (text(LocalNodeState)) {
    case '':
    case 'inactive':
      return { kind: 'none' };
    case 'active':
      break;
    case 'locked':
      return { kind: 'leaderless', message: error || 'this node is locked: docker swarm unlock' };
    default:
      return { kind: 'leaderless', message: error || 'this node has not joined it yet' };
  }
  if (ControlAvailable !== true) return { kind: 'worker' };
  if (error !== '') return { kind: 'leaderless', message: error };
  return { kind: 'manager', clusterId: text(fields(Cluster)['ID']) };
}
