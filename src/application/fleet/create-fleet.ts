import { ServiceError } from '../../domain/errors.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { Memory } from '../create-application.ts';
import type { Application } from '../application.ts';
import { createEventLog } from '../events/event-log.ts';
import { createHistory, eventsOf, type HistoryEntry } from '../events/history.ts';
import { createPublisher } from '../events/publisher.ts';
import { createStatus } from '../inventory/status.ts';
import { createScheduler } from '../schedule/scheduler.ts';
import { createEachEngine } from './run/each-engine.ts';
import { createFleetDecisions } from './decisions.ts';
import { createFleetInventory } from './inventory.ts';
import { createFleetRecovery } from './recovery.ts';
import { createLastRuns } from './last-runs.ts';
import { statesOf } from './engine-states.ts';
import { withEngine } from './member/of-engine.ts';
import { followMember } from './member/follow-member.ts';
import type { Member, ReachedMember } from './member/member.ts';
import { createPlans } from './run/plans.ts';
import { createReachability } from './member/reachability.ts';
import { createSharedIds } from './member/shared-ids.ts';
import { createSwarmMembers, type SwarmOptions } from './swarm/swarm-members.ts';
import { planWaves, type WaveOptions } from './run/wave-plan.ts';
import { failureOfAll, hasRun } from './run/merge.ts';
import { createRollBack } from './run/roll-back.ts';
import { createRuns } from './run/runs.ts';

export type FleetParts = Pick<Outside, 'clock' | 'log' | 'newId' | 'registry'> & {
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
  for (const { hear } of [history, status, eventLog, lastRuns]) subscribe(hear);

  return {
    check,
    ...plans,
    update,
    rollBack: createRollBack(parts),
    recover: recovery.recover,
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
      await Promise.all([...applications, swarms.close(), followedHistory, history.settled()]);
    },
  };

  /** Each member hears of its own containers, the log of events of all. */
  function noteOther(run: HistoryEntry, isEarlier: boolean): void {
    if (!isEarlier) for (const event of eventsOf(run)) eventLog.hear(event);
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
