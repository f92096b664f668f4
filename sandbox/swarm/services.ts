import type { RegistryCredentials } from '../../src/domain/outside/registry.ts';
import { Refusal } from '../base/simulation.ts';
import { wantedPlaces, beginUpdate, revert } from './orchestrator.ts';
import {
  hasEnded,
  monitorMs,
  nsToMs,
  tasksOf,
  type SandboxService,
  type SandboxServiceSpec,
  type SwarmState,
  type SandboxTask,
  type Membership,
  type SandboxNode,
} from './swarm-world.ts';
import { normalisePlatform } from '../../src/domain/image/platform.ts';
import type { RawSpec, SwarmService, SwarmTask } from '../../src/domain/container/swarm-service.ts';
import { amd64 } from '../registry/registry-store.ts';
import { loseTask } from './tasks.ts';

/** `docker service create`; returns the id. */
function createService(world: SwarmState, spec: SandboxServiceSpec, credentials?: RegistryCredentials): SandboxService {
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

function removeService(world: SwarmState, service: SandboxService): void {
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

/** A service as in a manager's answer; with `isCounted`, with the manager's own count of its tasks. */
export function viewService(
  world: SwarmState,
  service: SandboxService,
  { isCounted }: { readonly isCounted: boolean },
): SwarmService {
  const { id, spec, previous, status, version } = service;
  const { ContainerSpec, Placement } = spec.TaskTemplate;
  return {
    id,
    name: spec.Name,
    version: String(version),
    image: ContainerSpec.Image,
    labels: { ...spec.Labels },
    containerLabels: { ...ContainerSpec.Labels },
    createdAtMs: service.createdAtMs,
    mode: modeOf(spec),
    replicas: spec.Mode?.Replicated?.Replicas,
    count: isCounted ? count(world, service) : undefined,
    update: status,
    order: spec.UpdateConfig?.Order === 'start-first' ? 'start-first' : 'stop-first',
    failureAction: failureAction(spec.UpdateConfig?.FailureAction),
    monitorMs: monitorMs(spec.UpdateConfig),
    pauseMs: nsToMs(spec.UpdateConfig?.Delay, 0) + nsToMs(ContainerSpec.StopGracePeriod, 10_000),
    hasHostPorts: (spec.EndpointSpec?.Ports ?? []).some(({ PublishMode }) => PublishMode === 'host'),
    constraints: Placement?.Constraints ?? [],
    platforms: Placement?.Platforms?.map(({ OS, Architecture }) =>
      normalisePlatform({ os: OS, architecture: Architecture }),
    ),
    previous: previous && {
      image: previous.TaskTemplate.ContainerSpec.Image,
      labels: { ...previous.Labels },
    },
    spec: JSON.stringify(spec) as RawSpec,
  };
}

export function viewTask({ callOff: _, behaviour: __, ...task }: SandboxTask): SwarmTask {
  return task;
}

/** As an engine counts: a task on a node that is down still counts as running. */
function count(world: SwarmState, service: SandboxService): NonNullable<SwarmService['count']> {
  const running = tasksOf(world, service).filter((task) => task.state === 'running' && !hasEnded(task));
  return { running: running.length, wanted: wantedPlaces(world, service).length };
}

function modeOf({ Mode }: SandboxServiceSpec): SwarmService['mode'] {
  if (Mode?.ReplicatedJob !== undefined) return 'replicated-job';
  if (Mode?.GlobalJob !== undefined) return 'global-job';
  return Mode?.Global === undefined ? 'replicated' : 'global';
}

function failureAction(word: string | undefined): SwarmService['failureAction'] {
  return word === 'continue' || word === 'rollback' ? word : 'pause';
}

/** Actions of people on the swarm, and failures. These are not counted as calls. */
export type SwarmControl = {
  /** `docker swarm init`, with a number of nodes. The first one is this engine and a manager. */
  readonly form: (nodes?: number) => void;
  readonly place: (place: Membership['place']) => void;
  /** `docker service create`; returns the id. */
  readonly create: (spec: SandboxServiceSpec, credentials?: RegistryCredentials) => string;
  /** `docker service update`: reads, changes and sends the spec. */
  readonly update: (id: string, edit: (spec: SandboxServiceSpec) => void) => void;
  readonly remove: (id: string) => void;
  /** The node with this number, from 1, fails with its tasks. */
  readonly loseNode: (number: number) => void;
  readonly keepHistory: (tasks: number) => void;
  /** Removes all services and their history; all nodes are back. */
  readonly reset: () => void;
};

export function createSwarmControl(membership: Membership): SwarmControl {
  const { swarm: world } = membership;
  const nodeWith = (number: number): SandboxNode => {
    const node = [...world.nodes.values()][number - 1];
    if (node === undefined) throw new Error(`There is no node ${number}`);
    return node;
  };
  const serviceWith = (id: string) => {
    const service = world.services.get(id);
    if (service === undefined) throw new Error(`There is no service ${id}`);
    return service;
  };
  const returnNode = (node: SandboxNode): void => {
    if (node.state === 'ready') return;
    node.state = 'ready';
    for (const task of world.tasks.values()) if (task.nodeId === node.id) loseTask(world, task);
    world.settle();
  };
  return {
    form: (nodes = 3) => {
      membership.place = 'manager';
      for (let number = 1; number <= nodes; number += 1) {
        const id = world.newId('node').slice(0, 25);
        const role = number === 1 ? 'manager' : 'worker';
        world.nodes.set(id, {
          id,
          role,
          hostname: `n${number}`,
          state: 'ready',
          availability: 'active',
          platform: amd64,
          labels: {},
        });
      }
    },
    place: (place) => void (membership.place = place),
    create: (spec, credentials) => createService(world, spec, credentials).id,
    update: (id, edit) => {
      const service = serviceWith(id);
      const spec = structuredClone(service.spec);
      edit(spec);
      updateService(world, service, { spec, version: service.version });
    },
    remove: (id) => removeService(world, serviceWith(id)),
    loseNode: (number) => {
      const node = nodeWith(number);
      node.state = 'down';
      for (const task of world.tasks.values()) if (task.nodeId === node.id) task.callOff();
      world.settle();
    },
    keepHistory: (tasks) => void (world.taskHistory = tasks),
    reset: () => {
      for (const service of [...world.services.values()]) removeService(world, service);
      world.failures.clear();
      for (const node of world.nodes.values()) returnNode(node);
      world.later.callOffAll();
    },
  };
}
