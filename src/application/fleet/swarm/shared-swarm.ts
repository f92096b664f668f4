import { ServiceError } from '../../../domain/errors.ts';
import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import type { ServiceCallOutcome, Swarm, SwarmState } from '../../../domain/outside/swarm.ts';
import type { SwarmService } from '../../../domain/swarm/swarm-service.ts';
import type { EngineApplication } from '../../application.ts';
import type { EngineNode, ReachedMember } from '../member/member.ts';

/** A manager that can be asked. */
export type Manager = Pick<ReachedMember, 'name' | 'reach'> & {
  readonly node: EngineNode;
  readonly application: Pick<EngineApplication, 'ready'>;
};

export type SharedSwarm = {
  readonly swarm: Swarm;
  /** Managers that are not known to be away come first, each group in configured order. */
  readonly inOrder: () => readonly Manager[];
  /** The manager that has answered last, until another one does; undefined without any manager. */
  readonly serving: () => { readonly manager: Manager; readonly left: AbortSignal } | undefined;
};

/**
 * One swarm through all of its managers: the first that answers serves, and after a failure the next. A change goes to
 * the manager that has read the service, because another one may be of another version and drop what it does not know.
 */
export function createSharedSwarm(id: string, managers: () => readonly Manager[]): SharedSwarm {
  const readers = new WeakMap<SwarmService, Manager>();
  let served: { readonly manager: Manager; readonly leaving: AbortController } | undefined;

  function serve(manager: Manager): void {
    if (served?.manager.name === manager.name) return;
    served?.leaving.abort();
    served = { manager, leaving: new AbortController() };
  }

  function inOrder(): readonly Manager[] {
    const isAway = ({ reach }: Manager) => reach.isReachable() === false;
    const all = managers();
    return [...all.filter((one) => !isAway(one)), ...all.filter(isAway)];
  }

  /** The one that serves first. */
  function fromServing(): readonly Manager[] {
    const all = inOrder();
    return all.toSorted((one, other) => Number(isServing(other)) - Number(isServing(one)));
  }

  function isServing({ name }: Manager): boolean {
    return served?.manager.name === name;
  }

  /** Asks one manager after the other; throws the failure of the first. */
  async function read<Answer>(look: (manager: Manager) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    let failure: ServiceError | undefined;
    for (const manager of fromServing()) {
      try {
        const answer = await look(manager);
        serve(manager);
        return answer;
      } catch (error) {
        const told = failureOf(manager, error, signal);
        failure ??= told;
      }
    }
    throw failure ?? noManager();
  }

  async function state(signal?: AbortSignal): Promise<SwarmState> {
    let failure: ServiceError | undefined;
    let other: SwarmState | undefined;
    for (const manager of inOrder()) {
      try {
        await manager.application.ready(signal);
        const told = await manager.node.swarm.state(signal);
        if (told.kind === 'manager' && told.clusterId === id) {
          serve(manager);
          return told;
        }
        if (other?.kind !== 'leaderless') other = told.kind === 'manager' ? { kind: 'none' } : told;
      } catch (error) {
        const told = failureOf(manager, error, signal);
        failure ??= told;
      }
    }
    if (other !== undefined && (other.kind === 'leaderless' || failure === undefined)) return other;
    throw failure ?? noManager();
  }

  /** Of what nobody has read here nothing can be said: the next read tells. */
  async function write(
    service: SwarmService,
    change: (swarm: Swarm) => Promise<ServiceCallOutcome>,
  ): Promise<ServiceCallOutcome> {
    const manager = readers.get(service);
    if (manager === undefined) return { kind: 'conflict' };
    const outcome = await change(manager.node.swarm);
    // Not sent, or not to a manager: nothing has happened, and another manager may be asked.
    return outcome.kind === 'refused' && outcome.status === 503 && inOrder().length > 1 ? elsewhere(manager) : outcome;
  }

  function elsewhere({ name }: Manager): ServiceCallOutcome {
    const [next] = inOrder().filter((one) => one.name !== name);
    if (next !== undefined) serve(next);
    return { kind: 'conflict' };
  }

  /** A memory that is written twice is there once. */
  async function writeAnywhere(change: (swarm: Swarm) => Promise<CallOutcome>): Promise<CallOutcome> {
    let last: CallOutcome | undefined;
    for (const { node } of fromServing()) {
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

  function serving() {
    const [first] = fromServing();
    if (first === undefined) return undefined;
    serve(first);
    return served && { manager: first, left: served.leaving.signal };
  }

  return { swarm, inOrder, serving };
}

/** Notes that the engine is away, where it is; throws what is no answer of a manager. */
function failureOf({ reach }: Manager, error: unknown, signal: AbortSignal | undefined): ServiceError {
  if (signal?.aborted || !(error instanceof ServiceError)) throw error;
  // Whatever else a manager cannot say of its swarm, its engine may answer.
  if (error.code === 'engine-unreachable') reach.note(error);
  return error;
}

function noManager(): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot ask the swarm: none of the engines manages it any more');
}
