import { groupBySwarm, type SwarmOfEngines } from '../../domain/engine-address.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { Clock, Log, Engine } from '../../domain/outside/outside.ts';
import type { EngineApplication } from '../application.ts';
import { withEngine, followMember, type EngineNode, type ReachedMember, type Reachability } from './members.ts';
import type { Swarm, SwarmState, EngineReader, CallOutcome, ServiceCallOutcome } from '../../domain/outside/engine.ts';
import { mapConcurrently, waitAtMost } from '../async/concurrency.ts';
import { swarmTaskLabel } from '../../domain/check/selection.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { SwarmService } from '../../domain/container/swarm-service.ts';

/** Settings for the services of swarms. */
export type SwarmOptions = {
  /** Opens the application of one swarm. `owner` returns the name of the engine that its services are shown under. */
  readonly open: (swarm: {
    readonly id: string;
    readonly node: EngineNode;
    readonly owner: () => string;
  }) => EngineApplication;
  /** The id of Upkeep's own container. */
  readonly ownId: string | undefined;
};

type SwarmParts = {
  readonly members: readonly ReachedMember[];
  /** Absent: services are not watched. */
  readonly options: SwarmOptions | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly publish: (event: ServiceEvent) => void;
};

export type SwarmMembers = {
  /** The known swarms, each as a member under the name of its owner. */
  readonly known: () => readonly ReachedMember[];
  /** The swarms that the engine manages. */
  readonly managedBy: (engine: string) => readonly ReachedMember[];
  /** The swarms under the names of these engines, after a search. Empty if services are not watched. */
  readonly of: (owners: readonly ReachedMember[], signal?: AbortSignal) => Promise<readonly ReachedMember[]>;
  /** Resolves after the first search. */
  readonly searched: () => Promise<void>;
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** Called when an engine has answered. */
  readonly heard: (engine: string) => void;
  readonly close: () => Promise<void>;
};

/**
 * The swarms that several engines manage. Each swarm is one member with its own lock, cache, decisions and memory, even
 * if several of its managers are among the engines. It has the name of its first manager in configured order, also
 * while that manager is unreachable and another one serves.
 */
export function createSwarmMembers({ members, options, clock, log, publish }: SwarmParts): SwarmMembers {
  const opened = new Map<string, Opened>();
  let isFollowed = false;
  let hasWarned = false;
  let isClosed = false;
  let first: Promise<unknown> | undefined;
  const search = createSwarmSearch(options === undefined ? [] : members, clock, refresh);

  /** Opens new swarms, and closes swarms that no engine manages any more. */
  function refresh(): void {
    if (isClosed) return;
    const known = search.known();
    for (const [id, { close }] of opened) {
      if (known.some((swarm) => swarm.id === id)) continue;
      opened.delete(id);
      void close();
    }
    for (const { id } of known) {
      if (options === undefined || opened.has(id)) continue;
      const swarm = openSwarm(id, options);
      opened.set(id, swarm);
      if (isFollowed) void swarm.application.follow().catch(() => undefined);
    }
  }

  function openSwarm(id: string, { open, ownId }: SwarmOptions): Opened {
    const owned = () => search.known().find((swarm) => swarm.id === id);
    const managers = (): readonly Manager[] =>
      (owned()?.managers ?? []).flatMap(({ node, ...member }) => (node === undefined ? [] : [{ ...member, node }]));
    const shared = createSharedSwarm(id, managers);
    const [first] = managers();
    if (first === undefined) throw new Error(`No engine manages the swarm ${id}`);
    const owner = () => owned()?.managers[0].name ?? first.name;
    const engine = createSwarmEngine(first.node.engine, { shared, members, ownId });
    const node = { engine, swarm: shared.swarm };
    const application = onlyServices(open({ id, node, owner }), shared.swarm);
    const unsubscribe = application.subscribe((event) => {
      const tagged = withEngine(event, owner());
      if (tagged !== undefined) publish(tagged);
    });
    return {
      application,
      close: async () => {
        unsubscribe();
        await application.close();
      },
    };
  }

  function membersOf(swarms: readonly SwarmOfEngines<ReachedMember>[]): readonly ReachedMember[] {
    return swarms.flatMap((swarm) => {
      const application = opened.get(swarm.id)?.application;
      return application === undefined ? [] : [asMember(swarm, application)];
    });
  }

  async function find(signal: AbortSignal | undefined): Promise<readonly ReachedMember[]> {
    if (options === undefined) return [];
    await search.ask(signal);
    const found = membersOf(search.known());
    if (found.length === 0 && !hasWarned) log.warn('No engine that answers manages a swarm: --swarm finds no services');
    hasWarned = true;
    return found;
  }

  return {
    known: () => membersOf(search.known()),
    managedBy: (engine) =>
      membersOf(search.known().filter(({ managers }) => managers.some(({ name }) => name === engine))),
    async of(owners, signal) {
      const names = new Set(owners.map(({ name }) => name));
      return (await find(signal)).filter(({ name }) => names.has(name));
    },
    async searched() {
      await (first ??= find(undefined));
    },
    async follow(signal) {
      isFollowed = true;
      const found = await find(signal);
      await Promise.all(found.map((member) => followMember(member, signal)));
    },
    heard: search.heard,
    close: async () => {
      isClosed = true;
      await Promise.all([...opened.values()].map(({ close }) => close()));
    },
  };
}

type Opened = { readonly application: EngineApplication; readonly close: () => Promise<void> };

/** The application without Upkeep's own container, which its own engine shows. */
function onlyServices(application: EngineApplication, { services }: Pick<Swarm, 'services'>): EngineApplication {
  return {
    ...application,
    containerNames: async (signal) => (await services(signal)).map(({ name }) => name),
    unwatched: () => application.unwatched().filter(({ kind }) => kind !== 'swarm task'),
  };
}

/** A swarm as a member of the fleet, under the name of its first manager. */
function asMember({ managers }: SwarmOfEngines<ReachedMember>, application: EngineApplication): ReachedMember {
  const [{ name, address, info }] = managers;
  return { name, address, info, application, reach: reachOf(managers) };
}

/** A swarm is reachable as long as one of its managers is. */
function reachOf(managers: SwarmOfEngines<ReachedMember>['managers']): Reachability {
  const [{ reach: ofOwner }] = managers;
  const answers = managers.map(({ reach }) => reach.isReachable());
  const isReachable = answers.every((one) => one === false) ? false : answers.includes(true) || undefined;
  return {
    isReachable: () => isReachable,
    sinceMs: ofOwner.sinceMs,
    failure: ofOwner.failure,
    about: ofOwner.about,
    note: () => {},
  };
}

type SwarmSearch = {
  /** Swarms by each engine's last answer. An unreachable engine, or one without a leader, keeps its earlier answer. */
  readonly known: () => readonly SwarmOfEngines<ReachedMember>[];
  /** Asks all engines except known unreachable ones. Waits 5 s at most; later answers still count. Never throws. */
  readonly ask: (signal?: AbortSignal) => Promise<void>;
  /** Asks one engine, unless it was asked within the last minute. */
  readonly heard: (engine: string) => void;
};

/** Finds the swarms and the engines that manage them. */
function createSwarmSearch(members: readonly ReachedMember[], clock: Clock, onAnswer: () => void): SwarmSearch {
  const swarms = new Map<string, string>();
  const asked = new Map<string, Asked>();

  function note(name: string, state: SwarmState): void {
    if (state.kind === 'manager' && state.clusterId !== '') swarms.set(name, state.clusterId);
    else if (state.kind !== 'leaderless') swarms.delete(name);
    onAnswer();
  }

  function askOne(member: ReachedMember, freshMs: number): Promise<void> {
    const last = asked.get(member.name);
    if (last !== undefined && (last.isOpen || clock.monotonicMs() - last.atMs < freshMs)) return last.answer;
    const asking: Asked = { isOpen: true, atMs: clock.monotonicMs(), answer: answerOf(member) };
    asked.set(member.name, asking);
    return asking.answer;
  }

  async function answerOf({ name, application, node }: ReachedMember): Promise<void> {
    try {
      await application.ready();
      if (node !== undefined) note(name, await node.swarm.state());
      asked.set(name, { isOpen: false, atMs: clock.monotonicMs(), answer: Promise.resolve() });
    } catch {
      // The engine's own part of a run reports the reason.
      asked.delete(name);
    }
  }

  return {
    known: () => groupBySwarm(members, ({ name }) => swarms.get(name)),
    async ask(signal) {
      const reachable = members.filter(({ node, reach }) => node !== undefined && reach.isReachable() !== false);
      const answers = mapConcurrently(reachable, enginesAskedAtOnce, (member) => askOne(member, askAgainMs));
      await waitAtMost(answerTimeoutMs, answers, clock, signal);
    },
    heard(engine) {
      const member = members.find(({ name, node }) => name === engine && node !== undefined);
      if (member !== undefined) void askOne(member, staleAfterMs);
    },
  };
}

type Asked = { readonly isOpen: boolean; readonly atMs: number; readonly answer: Promise<void> };

/** The longest wait for the answers of all engines. */
const answerTimeoutMs = 5000;

/** The steps of one run share an answer. */
const askAgainMs = 10_000;

/** Nodes rarely join or leave a swarm. Each engine is listed once a minute. */
const staleAfterMs = 55_000;

const enginesAskedAtOnce = 20;

type SwarmEngineParts = {
  readonly shared: SharedSwarm;
  /** All engines. Upkeep's own container may run on any of them. */
  readonly members: readonly ReachedMember[];
  /** The id of Upkeep's own container. */
  readonly ownId: string | undefined;
};

/**
 * The managers of a swarm as one engine. It lists no images and no containers, so it never changes any: each manager's
 * own engine lists those. The exception is Upkeep's own container, listed as a task: its labels name Upkeep's scope and
 * service.
 */
function createSwarmEngine(engine: Engine, { shared, members, ownId }: SwarmEngineParts): Engine {
  let own: ContainerSummary | undefined;
  /** Engines without our own container. A container never moves to another engine. */
  const withoutOwn = new Set<string>();

  async function findOwn(signal: AbortSignal | undefined): Promise<readonly ContainerSummary[]> {
    if (ownId === undefined || own !== undefined) return own === undefined ? [] : [own];
    const asked = members.filter(({ name, reach }) => !withoutOwn.has(name) && reach.isReachable() !== false);
    await mapConcurrently(asked, askedAtOnce, async ({ name, node }) => {
      try {
        const found = await node?.engine.listContainers({ ids: [ownId] }, signal);
        const [summary] = found?.filter(({ id }) => id === ownId) ?? [];
        if (summary === undefined) withoutOwn.add(name);
        else own = { ...summary, labels: { [swarmTaskLabel]: '', ...summary.labels } };
      } catch (error) {
        // The next call asks an unreachable engine again.
        if (signal?.aborted) throw error;
      }
    });
    return own === undefined ? [] : [own];
  }

  async function firstOf<Answer>(ask: (by: Engine) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    try {
      return await Promise.any(shared.inOrder().map(({ node }) => ask(node.engine)));
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof AggregateError ? (error.errors[0] ?? noEngine()) : error;
    }
  }

  async function* events(signal: AbortSignal, onBreak: () => void = () => {}): ReturnType<EngineReader['events']> {
    while (!signal.aborted) {
      const serving = shared.serving();
      if (serving === undefined) return;
      const { manager, left } = serving;
      for await (const event of manager.node.engine.events(AbortSignal.any([signal, left]), onBreak))
        if (event.kind === 'connected' || event.kind === 'service') yield event;
      onBreak();
      // Without a change of the serving manager, a stream ends only when its engine is closed.
      if (!left.aborted) return;
    }
  }

  return {
    ...engine,
    ping: (signal) => firstOf((by) => by.ping(signal), signal),
    info: (signal) => {
      const by = shared.serving()?.manager;
      return by === undefined ? firstOf((one) => one.info(signal), signal) : by.node.engine.info(signal);
    },
    listContainers: (_filter, signal) => findOwn(signal),
    inspectContainer: () => Promise.resolve(undefined),
    listImages: () => Promise.resolve([]),
    inspectImage: () => Promise.resolve(undefined),
    manifestsIn: () => Promise.resolve([]),
    events,
    close: () => Promise.resolve(),
  };
}

const askedAtOnce = 20;

function noEngine(): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot ask the swarm: none of its managers is left');
}

type SharedSwarm = {
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
  return new ServiceError('engine-unreachable', 'Cannot ask the swarm: no engine manages it any longer');
}

/** An engine that manages the swarm. */
type Manager = Pick<ReachedMember, 'name' | 'reach'> & {
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
