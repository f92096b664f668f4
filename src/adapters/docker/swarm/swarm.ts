import type { Swarm } from '../../../domain/outside/swarm.ts';
import type { Client } from '../transport/client.ts';
import { changeService, goBack } from './changes.ts';
import { forgetFailure, listFailures, noteFailure } from './failures.ts';
import { inspectService, listServices } from './services.ts';
import { swarmState } from './state.ts';
import { listNodes, listTasks } from './tasks.ts';

/** The swarm of a manager, over the client of its engine. */
export function createDockerSwarm(client: Client): Swarm {
  return {
    state: (signal) => swarmState(client, signal),
    services: (signal) => listServices(client, signal),
    service: (id, signal) => inspectService(client, id, signal),
    tasks: (serviceIds, signal) => listTasks(client, serviceIds, signal),
    nodes: (signal) => listNodes(client, signal),
    failures: (signal) => listFailures(client, signal),
    change: (service, edit) => changeService(client, service, edit),
    goBack: (service) => goBack(client, service),
    noteFailure: (failure) => noteFailure(client, failure),
    forgetFailure: (failure) => forgetFailure(client, failure),
  };
}
