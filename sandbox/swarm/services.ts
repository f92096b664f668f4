import type { RegistryCredentials } from '../../src/domain/outside/registry.ts';
import { Refusal } from '../base/refusal.ts';
import { wantedPlaces } from './orchestrator.ts';
import { beginUpdate, revert } from './updater.ts';
import type { SandboxService, SandboxServiceSpec, SwarmState } from './swarm-world.ts';

/** `docker service create`; returns the id. */
export function createService(
  world: SwarmState,
  spec: SandboxServiceSpec,
  credentials?: RegistryCredentials,
): SandboxService {
  if ([...world.services.values()].some(({ spec: { Name } }) => Name === spec.Name))
    throw new Refusal(
      409,
      `rpc error: code = AlreadyExists desc = name conflicts with an existing object: service ${spec.Name} already exists`,
    );
  const service: SandboxService = {
    id: world.newId('service').slice(0, 25),
    createdAtMs: world.clock.nowMs(),
    spec: structuredClone(spec),
    previous: undefined,
    version: (world.index += 1),
    status: undefined,
    credentials,
    updater: undefined,
  };
  world.services.set(service.id, service);
  world.announce('create', service);
  world.settle();
  return service;
}

/** Replaces the whole spec, as clients send it, for the version that they have read. */
export function updateService(
  world: SwarmState,
  service: SandboxService,
  {
    spec,
    version,
    credentials,
  }: { readonly spec: SandboxServiceSpec; readonly version: number; readonly credentials?: RegistryCredentials },
): void {
  inSequence(service, version);
  const isSameTasks = JSON.stringify(spec.TaskTemplate) === JSON.stringify(service.spec.TaskTemplate);
  service.previous = service.spec;
  service.spec = structuredClone(spec);
  service.credentials = credentials ?? service.credentials;
  service.version = world.index += 1;
  service.status = undefined;
  service.updater = undefined;
  world.announce('update', service);
  if (!isSameTasks) {
    const places = isJob(service) ? [] : wantedPlaces(world, service);
    beginUpdate(world, service, { kind: 'update', places, message: 'update in progress' });
  }
  world.settle();
}

/** `rollback=previous`. */
export function rollBackService(world: SwarmState, service: SandboxService, version: number): void {
  inSequence(service, version);
  if (service.previous === undefined)
    throw new Refusal(
      400,
      `rpc error: code = FailedPrecondition desc = service ${service.id} does not have a previous spec`,
    );
  service.status = undefined;
  revert(world, service, { message: 'manually requested rollback', keepsPrevious: true });
  service.version = world.index += 1;
  world.announce('update', service);
  world.settle();
}

export function removeService(world: SwarmState, service: SandboxService): void {
  world.services.delete(service.id);
  world.announce('remove', service);
  for (const task of [...world.tasks.values()])
    if (task.serviceId === service.id) {
      task.callOff();
      world.tasks.delete(task.id);
    }
  world.settle();
}

/** A manager's message; a conflict is a fault with its own status. */
export const outOfSequence = 'rpc error: code = Unknown desc = update out of sequence';

function inSequence(service: SandboxService, version: number): void {
  if (service.version !== version) throw new Refusal(500, outOfSequence);
}

function isJob({ spec: { Mode } }: SandboxService): boolean {
  return Mode?.ReplicatedJob !== undefined || Mode?.GlobalJob !== undefined;
}
