import { ServiceError } from '../../domain/text/errors.ts';
import type { CallOutcome, ServiceCallOutcome, Swarm, SwarmState } from '../../domain/outside/engine.ts';
import type { SwarmService } from '../../domain/container/swarm-service.ts';
import type { EngineApplication } from '../application.ts';
import type { EngineNode, ReachedMember } from './members.ts';

export type SharedSwarm = {
  readonly swarm: Swarm;
  readonly inOrder: ServingManager['inOrder'];
  readonly serving: ServingManager['current'];
};

/**
 * One swarm through all of its managers. The first manager that answers serves; after a failure the next one does. A
 * change goes to the manager that the service was read from: a manager of another version drops unknown fields.
 */
export function createSharedSwarm(id: string, managers: () => readonly Manager[]): SharedSwarm {
  const readers = new WeakMap<SwarmService, Manager>();
  const serving = createServingManager(managers);

  /** Asks one manager after the other. If all fail, it throws the first failure. */
  async function read<Answer>(ask: (manager: Manager) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    let failure: ServiceError | undefined;
    for (const manager of serving.servingFirst()) {
      try {
        const answer = await ask(manager);
        serving.serve(manager);
        return answer;
      } catch (error) {
        const latest = failureOf(manager, error, signal);
        failure ??= latest;
      }
    }
    throw failure ?? noManager();
  }

  async function state(signal?: AbortSignal): Promise<SwarmState> {
    let failure: ServiceError | undefined;
    let other: SwarmState | undefined;
    for (const manager of serving.inOrder()) {
      try {
        await manager.application.ready(signal);
        const reported = await manager.node.swarm.state(signal);
        if (reported.kind === 'manager' && reported.clusterId === id) {
          serving.serve(manager);
          return reported;
        }
        if (other?.kind !== 'leaderless') other = reported.kind === 'manager' ? { kind: 'none' } : reported;
      } catch (error) {
        const latest = failureOf(manager, error, signal);
        failure ??= latest;
      }
    }
    if (other !== undefined && (other.kind === 'leaderless' || failure === undefined)) return other;
    throw failure ?? noManager();
  }

  /** Changes a service through the manager that it was read from. A service that was never read is a conflict. */
  async function write(
    service: SwarmService,
    change: (swarm: Swarm) => Promise<ServiceCallOutcome>,
  ): Promise<ServiceCallOutcome> {
    const manager = readers.get(service);
    if (manager === undefined) return { kind: 'conflict' };
    const outcome = await change(manager.node.swarm);
    // A 503 was not sent, or the node is no manager: nothing has changed, so another manager may serve.
    return outcome.kind === 'refused' && outcome.status === 503 && serving.inOrder().length > 1
      ? elsewhere(manager)
      : outcome;
  }

  function elsewhere({ name }: Manager): ServiceCallOutcome {
    const [next] = serving.inOrder().filter((one) => one.name !== name);
    if (next !== undefined) serving.serve(next);
    return { kind: 'conflict' };
  }

  /** Tries one manager after the other. The change may be repeated, because a failure is stored only once. */
  async function writeAnywhere(change: (swarm: Swarm) => Promise<CallOutcome>): Promise<CallOutcome> {
    let last: CallOutcome | undefined;
    for (const { node } of serving.servingFirst()) {
      last = await change(node.swarm);
      if (last.kind === 'done' || last.kind === 'noop') return last;
    }
    return last ?? { kind: 'refused', status: 503, message: noManager().message };
  }

  function readBy(manager: Manager, service: SwarmService): SwarmService {
    readers.set(service, manager);
    return service;
  }

  const swarm: Swarm = {
    state,
    services: (signal) =>
      read(async (manager) => {
        const services = await manager.node.swarm.services(signal);
        return services.map((service) => readBy(manager, service));
      }, signal),
    service: (serviceId, signal) =>
      read(async (manager) => {
        const service = await manager.node.swarm.service(serviceId, signal);
        return service && readBy(manager, service);
      }, signal),
    tasks: (serviceIds, signal) => read(({ node }) => node.swarm.tasks(serviceIds, signal), signal),
    nodes: (signal) => read(({ node }) => node.swarm.nodes(signal), signal),
    failures: (signal) => read(({ node }) => node.swarm.failures(signal), signal),
    change: (service, edit) => write(service, (by) => by.change(service, edit)),
    rollBack: (service) => write(service, (by) => by.rollBack(service)),
    noteFailure: (failure) => writeAnywhere((by) => by.noteFailure(failure)),
    forgetFailure: (failure) => writeAnywhere((by) => by.forgetFailure(failure)),
  };

  return { swarm, inOrder: serving.inOrder, serving: serving.current };
}

/** Marks the manager's engine as unreachable if it is. Rethrows an abort and any error other than a `ServiceError`. */
function failureOf({ reach }: Manager, error: unknown, signal: AbortSignal | undefined): ServiceError {
  if (signal?.aborted || !(error instanceof ServiceError)) throw error;
  // After any other error, the engine itself may still answer.
  if (error.code === 'engine-unreachable') reach.note(error);
  return error;
}

function noManager(): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot ask the swarm: none of the engines manages it any more');
}

/** An engine that manages the swarm. */
export type Manager = Pick<ReachedMember, 'name' | 'reach'> & {
  readonly node: EngineNode;
  readonly application: Pick<EngineApplication, 'ready'>;
};

/** The choice among the managers of a swarm. */
type ServingManager = {
  /** Known unreachable managers come last. Both groups are in configured order. */
  readonly inOrder: () => readonly Manager[];
  /** The same with the serving manager first. */
  readonly servingFirst: () => readonly Manager[];
  /** Notes the manager that answered last. */
  readonly serve: (manager: Manager) => void;
  /** The manager that answered last; `left` aborts when another one replaces it. Undefined without a manager. */
  readonly current: () => { readonly manager: Manager; readonly left: AbortSignal } | undefined;
};

function createServingManager(managers: () => readonly Manager[]): ServingManager {
  let served: { readonly manager: Manager; readonly leaving: AbortController } | undefined;

  function inOrder(): readonly Manager[] {
    const isAway = ({ reach }: Manager) => reach.isReachable() === false;
    const all = managers();
    return [...all.filter((one) => !isAway(one)), ...all.filter(isAway)];
  }

  function servingFirst(): readonly Manager[] {
    const isServing = ({ name }: Manager) => served?.manager.name === name;
    return inOrder().toSorted((one, other) => Number(isServing(other)) - Number(isServing(one)));
  }

  function serve(manager: Manager): void {
    if (served?.manager.name === manager.name) return;
    served?.leaving.abort();
    served = { manager, leaving: new AbortController() };
  }

  function current() {
    const [manager] = servingFirst();
    if (manager === undefined) return undefined;
    serve(manager);
    return served && { manager, left: served.leaving.signal };
  }

  return { inOrder, servingFirst, serve, current };
}
