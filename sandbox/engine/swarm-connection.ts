import type { CallOutcome } from '../../src/domain/outside/engine-writer.ts';
import type { ServiceCallOutcome, ServiceEdit, Swarm, SwarmState } from '../../src/domain/outside/swarm.ts';
import type { SwarmService } from '../../src/domain/swarm/swarm-service.ts';
import { Refusal } from '../base/refusal.ts';
import type { Calls } from './calls.ts';
import { outOfSequence, rollBackService, updateService } from '../swarm/services.ts';
import { viewService, viewTask } from '../swarm/swarm-view.ts';
import type { Membership, SandboxService, SandboxServiceSpec } from '../swarm/swarm-world.ts';

/** A `Swarm` over the sandbox: the connection of one caller. */
export function createSwarmConnection(membership: Membership, calls: Calls): Swarm {
  const { swarm: world } = membership;
  const read = <Answer>(look: () => Answer): Promise<Answer> =>
    calls.read(() => {
      asManager(membership);
      return look();
    });
  return {
    state: () => calls.read(() => stateOf(membership)),
    services: () =>
      read(() => [...world.services.values()].map((service) => viewService(world, service, { isCounted: true }))),
    service: (id) =>
      read(() => {
        const service = world.services.get(id);
        return service && viewService(world, service, { isCounted: false });
      }),
    tasks: (ids) =>
      read(() => [...world.tasks.values()].filter(({ serviceId }) => ids.includes(serviceId)).map(viewTask)),
    nodes: () => read(() => [...world.nodes.values()].map((node) => ({ ...node }))),
    failures: () => read(() => [...world.failures.values()]),
    change: (service, edit) =>
      calls.change<ServiceCallOutcome>({ kind: 'changeService', target: service.name, detail: edit.image }, () =>
        inTurn(membership, service, (found) => {
          const { credentials } = edit;
          const version = Number(service.version);
          updateService(world, found, { spec: edited(service, edit), version, ...(credentials && { credentials }) });
        }),
      ),
    rollBack: (service) =>
      calls.change<ServiceCallOutcome>({ kind: 'revertService', target: service.name, detail: 'previous' }, () =>
        inTurn(membership, service, (found) => rollBackService(world, found, Number(service.version))),
      ),
    noteFailure: (failure) =>
      calls.change<CallOutcome>({ kind: 'noteFailure', target: failure.serviceName, detail: failure.digest }, () => {
        asManager(membership);
        const isStored = [...world.failures.values()].some(
          ({ serviceId, digest }) => serviceId === failure.serviceId && digest === failure.digest,
        );
        if (isStored) return { kind: 'noop' };
        const configId = world.newId('config').slice(0, 25);
        world.failures.set(configId, { ...failure, atMs: Math.floor(failure.atMs / 1000) * 1000, configId });
        return { kind: 'done' };
      }),
    forgetFailure: ({ configId, serviceName, digest }) =>
      calls.change<CallOutcome>({ kind: 'forgetFailure', target: serviceName, detail: digest }, () => {
        asManager(membership);
        return { kind: world.failures.delete(configId) ? 'done' : 'noop' };
      }),
  };
}

function stateOf({ place, swarm }: Membership): SwarmState {
  if (place === 'manager') return { kind: 'manager', clusterId: swarm.id };
  return place === 'leaderless' ? { kind: place, message: noLeader } : { kind: place };
}

const noLeader =
  "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are online. Make sure more than half of the managers are online.";

function asManager({ place }: Membership): void {
  if (place === 'manager') return;
  if (place === 'leaderless') throw new Refusal(500, noLeader);
  throw new Refusal(
    503,
    "This node is not a swarm manager. Worker nodes can't be used to view or modify cluster state. Please run this command on a manager node or promote the current node to a manager.",
  );
}

function inTurn(
  membership: Membership,
  { id }: SwarmService,
  act: (service: SandboxService) => void,
): ServiceCallOutcome {
  asManager(membership);
  const service = membership.swarm.services.get(id);
  if (service === undefined) throw new Refusal(404, `service ${id} not found`);
  try {
    act(service);
  } catch (error) {
    if (error instanceof Refusal && error.message === outOfSequence) return { kind: 'conflict' };
    throw error;
  }
  return { kind: 'done' };
}

function edited(service: SwarmService, { image, labels, platforms }: ServiceEdit): SandboxServiceSpec {
  const spec = JSON.parse(service.spec) as SandboxServiceSpec;
  spec.TaskTemplate.ContainerSpec.Image = image;
  spec.Labels = { ...spec.Labels, ...labels };
  if (platforms !== undefined)
    spec.TaskTemplate.Placement = {
      ...spec.TaskTemplate.Placement,
      Platforms: platforms.map(({ os, architecture }) => ({ Architecture: architecture, OS: os })),
    };
  return spec;
}
