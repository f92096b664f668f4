import { ServiceError, describeError } from '../../domain/text/errors.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { KeptCopy } from '../update/kept-data.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { Outside, Log } from '../../domain/outside/outside.ts';
import type { Memory } from '../create-application.ts';
import type { Application, EngineApplication, Planned } from '../application.ts';
import { createEventLog, createPublisher, createHistory, eventsOf, type HistoryEntry } from '../events/history.ts';
import { createStatus } from '../inventory/status.ts';
import { createScheduler } from '../async/scheduler.ts';
import {
  createEachEngine,
  withEngine,
  followMember,
  createReachability,
  describeUnreachable,
  chooseEngines,
  type EachEngine,
  type Member,
  type ReachedMember,
} from './members.ts';
import {
  createFleetInventory,
  sumOfKnown,
  failureOfAll,
  hasRun,
  runsOf,
  reportOf,
  createRollBack,
  createRuns,
  isNamed,
  partOfRun,
  type RunParts,
} from './runs.ts';
import { createSwarmMembers, type SwarmOptions, type SwarmMembers } from './swarm-members.ts';
import { planWaves, inAllWaves, type WaveOptions } from './waves.ts';
import type { EngineState } from '../../domain/outside/engine.ts';
import type { Decision, DecisionFault, DecisionRequest } from '../../domain/decision/decisions.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Request } from '../../domain/run/session.ts';
import type { PartOfRun } from '../check/checked-container.ts';

type FleetParts = Pick<Outside, 'clock' | 'log' | 'newId' | 'registry'> & {
  /** Opens the engines in configured order. `onAnswer` is called with the result of each reading of an engine. */
  readonly open: (onAnswer: (name: string, failure: unknown) => void) => readonly Member[];
  readonly history?: Memory['history'];
  readonly enginesAtOnce: number;
  /** Absent: services are not watched. */
  readonly services?: SwarmOptions;
  /** Absent: all engines are one wave. */
  readonly waves?: WaveOptions;
};

/**
 * Several engines as one application. Each member has its own lock, cache, recovery, memory and hooks; a run covers
 * all of them. Members do not wait for each other, except for the bound on engines at work.
 */
export function createFleet({
  open,
  history: kept,
  enginesAtOnce,
  services,
  waves,
  ...outside
}: FleetParts): Application {
  const { clock, log } = outside;
  const { publish, subscribe } = createPublisher<ServiceEvent>(log);
  const closing = new AbortController();
  const lastRuns = createLastRuns();
  const noteId = createSharedIds(log);
  const reaches = new Map<string, ReachedMember['reach']>();
  const onAnswer = (name: string, failure: unknown) => {
    reaches.get(name)?.note(failure);
    if (failure === undefined) swarms.heard(name);
  };
  const members = open(onAnswer).map((member): ReachedMember => {
    const onReturn = () => {
      for (const one of [reached, ...swarms.managedBy(member.name)]) void recovery.afterReturn(one, closing.signal);
    };
    const onId = (id: string) => noteId(member.name, id);
    const reached: ReachedMember = { ...member, reach: createReachability(member, { clock, publish, onReturn, onId }) };
    reaches.set(member.name, reached.reach);
    member.application.subscribe((event) => {
      const tagged = withEngine(event, member.name);
      if (tagged !== undefined) publish(tagged);
    });
    return reached;
  });
  const each = createEachEngine(clock, enginesAtOnce);
  const swarms = createSwarmMembers({ members, options: services, clock, log, publish });
  const all = () => [...members, ...swarms.known()];
  const recovery = createFleetRecovery(members, { each, log, swarms });
  const plan = planWaves(
    members.map(({ name }) => name),
    waves,
  );
  const parts = { ...outside, members, swarms, each, publish, plan };
  const { check, update } = createRuns(parts);
  const plans = createPlans(parts);
  const scheduler = createScheduler({
    clock,
    log,
    update,
    opensAfter: (ms) => firstOpening(all(), ms),
    // The pause between two waves goes on over a restart.
    ...(plan && { lookAtStart: (signal) => plans.plan({ images: [], containers: [] }, signal) }),
  });
  let isReady = false;
  const { inventory, unwatched } = createFleetInventory(all, () => isReady);
  const history = createHistory(kept, noteOther);
  let followedHistory: Promise<void> | undefined;
  const isRepairing = () => all().some(({ application }) => application.status().repairing);
  const status = createStatus({ history, inventory, scheduler, isRepairing });
  const eventLog = createEventLog(log);
  for (const { onEvent } of [history, status, eventLog, lastRuns]) subscribe(onEvent);

  return {
    check,
    ...plans,
    update,
    rollBack: createRollBack(parts),
    recover: recovery.recover,
    ...createKeptCopies(members, each),
    finishUpdate: () => Promise.reject(new ServiceError('invalid-input', 'Cannot finish an update on several engines')),
    updatesItself: () => members.some(({ application }) => application.updatesItself()),
    subscribe,
    keepUpdating: async (order, signal) => {
      const repairs = members.map(({ application }) => application.keepRepairing(signal));
      await Promise.all([scheduler.keepUpdating(order, signal), ...repairs]);
    },
    async follow(signal) {
      await history.load();
      followedHistory ??= history.follow(clock, closing.signal);
      const followed = members.map((member) => followMember(member, signal));
      await Promise.all([...followed, swarms.follow(signal)]);
      isReady = true;
    },
    inventory,
    unwatched,
    engineVersion: () => undefined,
    inventoryFailure() {
      const failures = members.map(({ application }) => application.inventoryFailure());
      return failures.every((failure) => failure !== undefined) ? failures[0] : undefined;
    },
    missingPermissions() {
      for (const { name, application } of members) {
        const missing = application.missingPermissions();
        if (missing !== undefined) return { ...missing, message: `${name}: ${missing.message}` };
      }
      return undefined;
    },
    history: history.entries,
    refreshHistory: history.refresh,
    status: status.read,
    eventLog,
    decisions: createFleetDecisions(all, swarms.searched),
    notesOf(container, engine) {
      const found = chooseEngines(all(), engine === undefined ? [] : [engine]).flatMap((member) => {
        const notes = member.application.notesOf(container);
        return notes === undefined || notes === 'several' ? [] : [{ ...notes, engine: member.name }];
      });
      return found.length > 1 ? 'several' : found[0];
    },
    async readNotes(container, signal) {
      await Promise.all(all().map(({ application }) => application.readNotes(container, signal)));
    },
    async containerNames(signal) {
      const work = ({ application }: ReachedMember) => application.containerNames(signal);
      const asked = [...members, ...(await swarms.of(members, signal))];
      const answers = await each(asked, { work, isNamed: false, signal });
      if (!hasRun(answers)) throw failureOfAll(answers, 'list containers');
      return [...new Set(answers.flatMap(({ result = [] }) => result))];
    },
    ready: (signal) => anyReady(members, signal),
    engines: () => statesOf(members, swarms.known(), lastRuns.of),
    async close() {
      closing.abort();
      const applications = members.map(({ application }) => application.close());
      await Promise.all([...applications, swarms.close(), followedHistory, history.flush()]);
    },
  };

  /** Each member hears of its own containers, the log of events of all. */
  function noteOther(run: HistoryEntry, isEarlier: boolean): void {
    if (!isEarlier) for (const event of eventsOf(run)) eventLog.onEvent(event);
    for (const { name, application } of all()) {
      const own = run.containers.flatMap(({ engine, ...outcome }) => (engine === name ? [outcome] : []));
      if (own.length > 0) application.noteOther({ ...run, containers: own }, isEarlier);
    }
  }
}

/**
 * Orchestrators call this often, so only `follow` retries unreachable engines. A process that has asked none yet, such
 * as a health check, asks the first one alone, because the others may be connections over SSH.
 */
async function anyReady(members: readonly ReachedMember[], signal: AbortSignal | undefined): Promise<void> {
  const answering = members.filter(({ reach }) => reach.isReachable() !== false);
  const asked = answering.length > 0 ? answering : members;
  const isNew = members.every(({ reach }) => reach.isReachable() === undefined);
  const rounds = isNew ? [asked.slice(0, 1), asked.slice(1)] : [asked];
  let failure: unknown;
  for (const round of rounds.filter(({ length }) => length > 0)) {
    try {
      return await Promise.any(round.map(({ application }) => application.ready(signal)));
    } catch (error) {
      failure ??= error instanceof AggregateError ? error.errors[0] : error;
    }
  }
  throw failure;
}

/** The earliest opening among all engines, with the container names of that time. */
function firstOpening(members: readonly ReachedMember[], ms: number) {
  const openings = members.flatMap(({ application }) => application.opensAfter(ms) ?? []);
  const atMs = Math.min(...openings.map((opening) => opening.atMs));
  const names = openings.filter((opening) => opening.atMs === atMs).flatMap((opening) => opening.names);
  return names.length === 0 ? undefined : { atMs, names: [...new Set(names)] };
}

/** When the last run on each engine ended, milliseconds since the epoch. */
function createLastRuns(): {
  readonly onEvent: (event: ServiceEvent) => void;
  readonly of: (engine: string) => number | undefined;
} {
  const times = new Map<string, number>();
  return {
    onEvent(event) {
      if (event.kind !== 'scan_completed') return;
      for (const { name, result } of event.session?.engines ?? []) if (result === 'ran') times.set(name, event.atMs);
    },
    of: (engine) => times.get(engine),
  };
}

/** Warns once of engines with the same id: one engine under two names, or clones of one machine. */
function createSharedIds(log: Pick<Log, 'warn'>): (engine: string, id: string) => void {
  const ids = new Map<string, string>();
  const warned = new Set<string>();
  return (engine, id) => {
    ids.set(engine, id);
    const others = [...ids].filter(([name, other]) => name !== engine && other === id).map(([name]) => name);
    if (id === '' || others.length === 0 || warned.has(engine)) return;
    for (const name of [engine, ...others]) warned.add(name);
    log.warn(
      'Two engines have the same id: one engine under two names, or clones of one machine. Upkeep updates both',
      { engine, others },
    );
  };
}

/** The state of each engine. Its counts include the services of the swarms under its name. */
function statesOf(
  members: readonly ReachedMember[],
  swarms: readonly ReachedMember[],
  lastRunOf: (engine: string) => number | undefined,
): readonly EngineState[] {
  return members.map(({ name, address, application, reach }) => {
    const own = [application, ...swarms.filter((swarm) => swarm.name === name).map((swarm) => swarm.application)];
    const inventories = own.map((each) => each.inventory());
    const failure = reach.failure();
    return {
      name,
      address,
      lastRunAtMs: lastRunOf(name),
      kind: reach.about()?.kind,
      version: reach.about()?.version,
      reachable: reach.isReachable(),
      sinceMs: reach.sinceMs(),
      error: failure === undefined ? undefined : describeUnreachable(failure),
      containers: inventories.reduce((sum, { containers }) => sum + containers.length, 0),
      updatesAvailable: sumOfKnown(inventories.map(({ updatesAvailable }) => updatesAvailable)),
    };
  });
}

type FleetRecovery = {
  readonly recover: Application['recover'];
  /** Recovers an engine that answers again. */
  readonly afterReturn: (member: ReachedMember, signal: AbortSignal) => Promise<void>;
};

/** Recovers each engine on its own. A start does not wait for an unreachable engine: its recovery follows later. */
function createFleetRecovery(
  members: readonly ReachedMember[],
  { each, log, swarms }: { readonly each: EachEngine; readonly log: Log; readonly swarms: Pick<SwarmMembers, 'of'> },
): FleetRecovery {
  return {
    async recover(signal, order) {
      const work = ({ application }: ReachedMember) => application.recover(signal, order);
      const chosen = chooseEngines(members, order?.engines);
      const ofEngines = each(chosen, { work, isNamed: true, signal });
      const ofSwarms = swarms.of(chosen, signal).then((found) => each(found, { work, isNamed: true, signal }));
      const answers = [...(await ofEngines), ...(await ofSwarms)];
      if (!hasRun(answers)) throw failureOfAll(answers, 'look for interrupted updates');
      const awaitsHelper = answers.some(({ result }) => result?.awaitsHelper);
      return {
        transactions: answers.flatMap(({ member, result }) =>
          (result?.transactions ?? []).map((one) => ({ ...one, engine: member.name })),
        ),
        ...(awaitsHelper && { awaitsHelper }),
        engines: runsOf(answers),
      };
    },
    async afterReturn({ name, application }, signal) {
      try {
        const { transactions } = await application.recover(signal);
        for (const { containers, result, reason } of transactions)
          log.info('The remains of an earlier update were checked', { engine: name, containers, result, reason });
      } catch (error) {
        if (!signal.aborted)
          log.warn('The engine is back, but its interrupted updates cannot be checked', {
            engine: name,
            error: describeError(error),
          });
      }
    },
  };
}

/** Decisions of all engines. A container name that several engines have must come with an engine. */
function createFleetDecisions(
  membersNow: () => readonly ReachedMember[],
  /** Resolves after the first search for swarms. */
  searched: () => Promise<void>,
): Application['decisions'] {
  const waiting = (container: string, engine?: string) =>
    chooseEngines(membersNow(), engine === undefined ? [] : [engine]).filter(
      ({ application }) => application.decisions.candidateOf(container) !== undefined,
    );

  return {
    candidateOf(container, engine) {
      const [first, ...others] = waiting(container, engine);
      return others.length > 0 ? undefined : first?.application.decisions.candidateOf(container);
    },
    async list() {
      await searched();
      const lists = await Promise.all(
        membersNow().map(async ({ name, application }) => {
          const decisions = await application.decisions.list();
          return decisions.map((decision): Decision => ({ ...decision, engine: name }));
        }),
      );
      return lists.flat().toSorted((one, other) => one.atMs - other.atMs);
    },
    async take(request) {
      const found = waiting(request.container, request.engine);
      const [member = chooseEngines(membersNow(), engineOf(request))[0], ...others] = found;
      if (member === undefined || others.length > 0) return severalHave(found);
      const taken = await member.application.decisions.take(request);
      return 'fault' in taken ? taken : { ...taken, engine: member.name };
    },
    async withdraw(id, by) {
      await searched();
      for (const { name, application } of membersNow()) {
        const withdrawn = await application.decisions.withdraw(id, by);
        if (withdrawn !== undefined) return { ...withdrawn, engine: name };
      }
      return undefined;
    },
  };
}

function engineOf({ engine }: DecisionRequest): readonly string[] {
  return engine === undefined ? [] : [engine];
}

function severalHave(members: readonly ReachedMember[]): DecisionFault {
  const names = members.map(({ name }) => name).join(', ');
  return { kind: 'invalid', fault: `it is on several engines (${names}): name one of them with engine` };
}

/** Plans and rehearsals of all engines, one after the other in configured order. */
function createPlans(parts: RunParts): Pick<Application, 'plan' | 'rehearse'> {
  const { members, clock, newId, registry } = parts;

  async function planned<Result extends Planned>(
    request: Request,
    work: (application: EngineApplication, part: PartOfRun) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Planned & { readonly results: readonly Result[] }> {
    const meant = chooseEngines(members, request.engines);
    const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
    const part = partOfRun(newId(), registry);
    const order = { work, part, applyCooldown: true, isNamed: isNamed(request) };
    const answers = await inAllWaves(meant, parts, order, signal);
    if (!hasRun(answers)) throw failureOfAll(answers, 'plan an update');
    const results = answers.flatMap(({ result }) => result ?? []);
    const reports = answers.map(({ result, ...answer }) => ({ ...answer, ...(result && { result: result.report }) }));
    const times = { startedAtMs, durationMs: clock.monotonicMs() - beganMs };
    return { report: reportOf(reports, request, times), plan: joined(results.map(({ plan }) => plan)), results };
  }

  return {
    async plan(request, signal) {
      const { report, plan } = await planned(request, (one, part) => one.plan({ ...request, part }, signal), signal);
      return { report, plan };
    },
    async rehearse(request, signal) {
      const work = (one: EngineApplication, part: PartOfRun) => one.rehearse({ ...request, part }, signal);
      const { report, plan, results } = await planned(request, work, signal);
      return { report, plan, rehearsals: results.flatMap(({ rehearsals }) => rehearsals) };
    },
  };
}

function joined(plans: readonly UpdatePlan[]): UpdatePlan {
  const services = plans.flatMap((plan) => plan.services ?? []);
  const doors = plans.flatMap((plan) => plan.doors ?? []);
  const canaries = plans.flatMap((plan) => plan.canaries ?? []);
  const self = plans.find((plan) => plan.self !== undefined)?.self;
  return {
    transactions: plans.flatMap(({ transactions }) => transactions),
    refused: plans.flatMap(({ refused }) => refused),
    restarts: plans.flatMap(({ restarts }) => restarts),
    ...(canaries.length > 0 && { canaries }),
    ...(services.length > 0 && { services }),
    ...(doors.length > 0 && { doors }),
    ...(self && { self }),
  };
}

/** The kept copies of data of all engines. */
function createKeptCopies(
  members: readonly ReachedMember[],
  each: EachEngine,
): Pick<Application, 'keptCopies' | 'removeKeptCopies'> {
  async function keptCopies(signal?: AbortSignal): Promise<readonly KeptCopy[]> {
    const work = ({ application }: ReachedMember) => application.keptCopies(signal);
    const answers = await each(members, { work, isNamed: false, signal });
    if (!hasRun(answers)) throw failureOfAll(answers, 'list copies of data');
    return answers.flatMap(({ run, result = [] }) => result.map((copy) => ({ ...copy, engine: run.name })));
  }

  return {
    keptCopies,
    async removeKeptCopies(names, signal) {
      const found = await keptCopies(signal);
      const removed: KeptCopy[] = [];
      for (const name of names) {
        const owners = [...new Set(found.flatMap(({ container, engine }) => (container === name ? engine : [])))];
        const owner = members.find((member) => member.name === owners[0]);
        const why = owner === undefined ? 'none is kept' : `several engines have one: ${owners.join(', ')}`;
        if (owner === undefined || owners.length > 1)
          throw new ServiceError('not-found', `Cannot remove the copy of ${quoted(name)}: ${why}`, {
            remedy: 'upkeep data list shows all copies; --host chooses one engine',
          });
        removed.push(...(await owner.application.removeKeptCopies([name], signal)));
      }
      return removed;
    },
  };
}
