import { ServiceError } from '../../domain/errors.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { EngineState } from '../../domain/fleet/engine-state.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { Memory } from '../create-application.ts';
import type { Application } from '../application.ts';
import { createEventLog } from '../events/event-log.ts';
import { createHistory } from '../events/history.ts';
import { createPublisher } from '../events/publisher.ts';
import { createRunWatch } from '../inventory/run-under-way.ts';
import { createStatus } from '../inventory/status.ts';
import { createScheduler } from '../schedule/scheduler.ts';
import { createEachEngine } from './run/each-engine.ts';
import { createEngineSlots } from './run/engine-slots.ts';
import { createFleetDecisions } from './decisions.ts';
import { createFleetInventory } from './inventory.ts';
import { createFleetRecovery } from './recovery.ts';
import { createLastRuns, ofEngine } from './events.ts';
import type { Member, ReachedMember } from './member/member.ts';
import { createPlans } from './run/plans.ts';
import { createReach, sayAway } from './member/reach.ts';
import { planWaves, type WaveOptions } from './run/wave-plan.ts';
import { failureOfAll, hasRun } from './run/merge.ts';
import { createRollBack } from './run/roll-back.ts';
import { createRuns } from './run/runs.ts';

export type FleetParts = Pick<Outside, 'clock' | 'log' | 'newId' | 'registry'> & {
  /** In configured order. `onAnswer` is to hear the result of each reading of the engine. */
  readonly open: (onAnswer: (name: string, failure: unknown) => void) => readonly Member[];
  readonly history?: Memory['history'];
  readonly enginesAtOnce: number;
  /** Absent: all engines are one wave. */
  readonly waves?: WaveOptions;
};

/**
 * Many engines as one application: each member has its own lock, mirror, recovery, memory and hooks, and a run is one
 * run of all of them. No member waits for another, but for the bound on how many work at once.
 */
export function createFleet({ open, history: kept, enginesAtOnce, waves, ...outside }: FleetParts): Application {
  const { clock, log } = outside;
  const { publish, subscribe } = createPublisher<ServiceEvent>(log);
  const closing = new AbortController();
  const lastRuns = createLastRuns();
  const reaches = new Map<string, ReachedMember['reach']>();
  const members = open((name, failure) => reaches.get(name)?.note(failure)).map((member): ReachedMember => {
    const onReturn = () => void recovery.afterReturn(reached, closing.signal);
    const reached: ReachedMember = { ...member, reach: createReach(member, { clock, publish, onReturn }) };
    reaches.set(member.name, reached.reach);
    member.application.subscribe((event) => {
      const told = ofEngine(event, member.name);
      if (told !== undefined) publish(told);
    });
    return reached;
  });
  const each = createEachEngine({ clock, slots: createEngineSlots(enginesAtOnce) });
  const recovery = createFleetRecovery(members, { each, log });
  const plan = planWaves(
    members.map(({ name }) => name),
    waves,
  );
  const parts = { ...outside, members, each, publish, plan };
  const runs = createRuns(parts);
  const { check, update } = runs;
  const scheduler = createScheduler({
    ...{ clock, log },
    opensAfter: (ms) => firstOpening(members, ms),
    update: (trigger, signal, names = []) =>
      update({ images: [], containers: names.map((name) => name.replaceAll('.', String.raw`\.`)), trigger }, signal),
  });
  let isReady = false;
  const { inventory, unwatched } = createFleetInventory(members, () => isReady);
  const history = createHistory(kept);
  const runWatch = createRunWatch();
  const isRepairing = () => members.some(({ application }) => application.status().repairing);
  const status = createStatus({ history, inventory, scheduler, run: runWatch, isRepairing });
  const eventLog = createEventLog(log);
  for (const { hear } of [history, status, runWatch, eventLog, lastRuns]) subscribe(hear);

  return {
    check,
    ...createPlans(parts),
    update,
    rollBack: createRollBack(parts, runs),
    recover: recovery.recover,
    finishUpdate: () => Promise.reject(new ServiceError('invalid-input', 'Cannot finish an update on several engines')),
    updatesItself: () => members.some(({ application }) => application.updatesItself()),
    subscribe,
    keepUpdating: scheduler.keepUpdating,
    async follow(signal) {
      await history.load();
      const followed = members.map((member) => follow(member, signal));
      await Promise.all(followed);
      isReady = true;
    },
    inventory,
    unwatched,
    engineVersion: () => undefined,
    inventoryFailure() {
      const failures = members.map(({ application }) => application.inventoryFailure());
      return failures.every((failure) => failure !== undefined) ? failures[0] : undefined;
    },
    history: history.entries,
    status: status.read,
    eventLog,
    decisions: createFleetDecisions(members),
    async containerNames(signal) {
      const work = ({ application }: ReachedMember) => application.containerNames(signal);
      const answers = await each(members, { work, isNamed: false, signal });
      if (!hasRun(answers)) throw failureOfAll(answers, 'list containers');
      return [...new Set(answers.flatMap(({ result = [] }) => result))];
    },
    ready: (signal) => anyReady(members, signal),
    engines: () => members.map((member) => stateOf(member, lastRuns.of(member.name))),
    async close() {
      closing.abort();
      await Promise.all([...members.map(({ application }) => application.close()), history.settled()]);
    },
  };

  /** Resolves once the engine is listed, or it is known that it cannot be now; it goes on to be followed. */
  async function follow({ application, reach }: ReachedMember, signal: AbortSignal | undefined): Promise<void> {
    const done = new AbortController();
    const either = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
    const listed = application.follow(either).catch(() => undefined);
    const answered = application.ready(either).then(
      () => listed,
      (error: unknown) => reach.note(error),
    );
    await Promise.race([listed, answered]);
    done.abort();
  }
}

/** An orchestrator asks often: engines that are away are asked again by those who follow them. */
async function anyReady(members: readonly ReachedMember[], signal: AbortSignal | undefined): Promise<void> {
  const answering = members.filter(({ reach }) => reach.isReachable() !== false);
  const asked = answering.length > 0 ? answering : members;
  try {
    await Promise.any(asked.map(({ application }) => application.ready(signal)));
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

/** The earliest of all engines, with the names that are due then. */
function firstOpening(members: readonly ReachedMember[], ms: number) {
  const openings = members.flatMap(({ application }) => application.opensAfter(ms) ?? []);
  const atMs = Math.min(...openings.map((opening) => opening.atMs));
  const names = openings.filter((opening) => opening.atMs === atMs).flatMap((opening) => opening.names);
  return names.length === 0 ? undefined : { atMs, names: [...new Set(names)] };
}

function stateOf({ name, address, application, reach }: ReachedMember, lastRunAtMs: number | undefined): EngineState {
  const { containers, updatesAvailable } = application.inventory();
  const failure = reach.failure();
  return {
    ...{ name, address, lastRunAtMs },
    ...{ kind: reach.about()?.kind, version: reach.about()?.version },
    ...{ reachable: reach.isReachable(), sinceMs: reach.sinceMs() },
    error: failure === undefined ? undefined : sayAway(failure),
    ...{ containers: containers.length, updatesAvailable },
  };
}
