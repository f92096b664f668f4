import type { CheckRequest, OutcomeKind, Session } from '../domain/run/session.ts';
import type { ServiceEvent, RecoveredTransaction, RecoveryReport } from '../domain/run/event.ts';
import type { ComposeRecord } from '../domain/compose/compose-record.ts';
import type { UnitRecord } from '../domain/container/quadlet.ts';
import type { DecisionRecord } from '../domain/decision/decisions.ts';
import type { SeenTag } from '../domain/check/known-versions.ts';
import type { SharedRecords, Outside } from '../domain/outside/outside.ts';
import type { ServiceSettings } from '../domain/settings/effective-settings.ts';
import { parseKeptName, plainName } from '../domain/transaction/transaction-names.ts';
import type { EngineApplication, PlanRequest } from './application.ts';
import {
  awaitDoorHelper,
  createSelfUpdateState,
  finishUpdate,
  recoverWithHelper,
  watchHelper,
} from './recovery/self-update.ts';
import { createJudge, type CheckReport, type HoldParts, type Judge } from './check/check.ts';
import { createSelectContainers, createUpdaterWarnings } from './check/select-containers.ts';
import type { InRun } from './check/checked-container.ts';
import { createProve } from './check/prove.ts';
import { listAll, createImageConfigs } from './engine/listing.ts';
import {
  createDecisionService,
  createDecisionStore,
  createHoldRules,
  createFinalHoldCheck,
} from './check/decisions.ts';
import type { NotesService } from './check/notes.ts';
import { createTagSightings } from './check/newer.ts';
import { createBackgroundRepairs, createRepairLoop, createRepairNews } from './recovery/background-repairs.ts';
import { createListRepaired, createUpdateLock } from './update/session.ts';
import { createEngineCache, type FollowOptions } from './inventory/engine-cache.ts';
import {
  announceRun,
  createEventLog,
  createPublisher,
  createHistory,
  eventsOf,
  type HistoryEntry,
} from './events/history.ts';
import { createInventory, createUnwatched, createLastOutcomes } from './inventory/inventory.ts';
import { createLastChecks, type StoredCheck } from './inventory/last-checks.ts';
import { createServiceRecovery } from './swarm/follow-service.ts';
import { planServices } from './swarm/update-services.ts';
import { createPlanner, staleIn } from './check/make-plan.ts';
import { createReadiness, createUsability, createStatus } from './inventory/status.ts';
import { rehearsePlan } from './transaction/run-transaction.ts';
import { namingForbidden, watchPermissions, whyNotPossible } from './engine/permissions.ts';
import { createPicture, shareInfo, shareEvents } from './engine/share-engine.ts';
import { listCopies, removeCopies, removeOverdueCopies } from './update/kept-data.ts';
import { createRollback } from './update/rollback.ts';
import { createScheduler } from './async/scheduler.ts';
import { createStartTimes, noStartTimes } from './inventory/listing-reader.ts';
import { createComposeKeeper } from './update/compose-files.ts';
import { createUnitKeeper } from './update/units.ts';
import { createUpdate } from './update/update.ts';

/** Builds the use cases. One lock serves every change of containers, and one publisher serves every event. */
export function createApplication(
  world: Omit<Outside, 'publish'>,
  settings: ServiceSettings,
  memory: Memory = {},
  follow: LifeOptions = {},
): EngineApplication {
  const { publish, subscribe } = createPublisher<ServiceEvent>(world.log);
  const permissions = watchPermissions(shareInfo(shareEvents(world.engine), world.clock), world.log);
  const { engine, configs } = createImageConfigs({ ...world, engine: askingAgain(permissions.engine) });
  const outside: Outside = { ...world, configs, ...createPicture(engine, world.clock), publish };
  const { clock } = world;
  const lock = createUpdateLock();
  const repairs = countRepairs();
  const checks = createLastChecks((changed) => {
    if (changed.length > 0) void memory.checks?.append(changed);
  }, settings);
  const outcomes = createLastOutcomes();
  const warnAboutUpdaters = memory.isReader === true ? () => {} : createUpdaterWarnings(outside, settings);
  const select = createSelectContainers(outside, settings, warnAboutUpdaters);
  const selectInSilence = createSelectContainers({ ...outside, publish: () => {} }, settings, () => {});
  const decisionStore = createDecisionStore(memory.decisions);
  const { notes } = follow;
  const holdBack = createHoldRules(settings, notes);
  const tags = createTagSightings({ clock, store: memory.seenTags });
  const planner = createPlanner(outside, settings);
  const planStale: HoldParts['plan'] = (containers, listing, signal) =>
    planner(staleIn({ containers }, settings), listing, signal);
  const known = { holdBack, decisions: decisionStore, tags, plan: planStale, notes };
  const judge = notingChecks(createJudge(outside, settings, known));
  const reconsider = () => checks.reconsider((one) => holdBack.again(one, decisionStore.known(), clock.nowMs()));
  notes?.onChange(() => {
    reconsider();
    publish({ kind: 'notes_read', atMs: clock.nowMs() });
  });
  const tellChange = () => publish({ kind: 'results_changed', atMs: clock.nowMs() });
  const decisionService = createDecisionService({
    ...outside,
    store: decisionStore,
    candidateOf: checks.candidateOf,
    onChange: () => void (reconsider() && tellChange()),
  });
  const closing = new AbortController();
  const repairsAside = createBackgroundRepairs(world);
  const news = createRepairNews({ clock, isUnderWay: (names) => repairsAside.whyNotNow(names) !== undefined });
  const background = follow.isService === true ? { repairs: repairsAside, onEnd: tellRepaired } : undefined;
  const recoverServices = createServiceRecovery(outside, settings, background);
  const composeKeeper = createComposeKeeper(outside, memory.composeRecords);
  const unitKeeper = createUnitKeeper(outside, settings, memory.unitRecords, background);
  const whyHeldNow = createFinalHoldCheck({ store: decisionStore, holdBack, clock });
  const update = createUpdate({
    outside,
    settings,
    listRepaired: createListRepaired({
      ...{ outside, settings, background, news, recoverServices, composeKeeper, unitKeeper },
      onRepair: repairs.begin,
    }),
    select,
    judge,
    plan: planner,
    lock,
    composeKeeper,
    unitKeeper,
    whyNotNow: async (containers) =>
      repairsAside.whyNotNow(containers.map(({ name }) => name)) ?? whyHeldNow(containers),
    lastSeen: checks.candidateOf,
    afterHandOver: () => watchHelper(outside, settings, closing.signal),
    awaitDoorHelper: (order, signal) => awaitDoorHelper(outside, settings, order, signal),
  });
  const self = createSelfUpdateState(outside, settings);
  const scheduler = createScheduler({ ...outside, opensAfter: checks.opensAfter, update });
  const startTimes = follow.tellsStartTimes === true ? createStartTimes(outside) : noStartTimes;
  const onAnswer: FollowOptions['onAnswer'] = (failure) => {
    follow.onAnswer?.(failure);
    if (failure === undefined) noticeAbandoned();
  };
  const engineCache = createEngineCache(outside, { ...follow, onAnswer }, startTimes);
  const inventory = createInventory({
    settings,
    instance: world.instance,
    seal: world.seal,
    listing: engineCache.listing,
    readings: engineCache.readings,
    checks,
    outcomes,
    startTimes,
  });
  const unwatched = createUnwatched({ settings, instance: world.instance, listing: engineCache.listing });
  const noteOther: EngineApplication['noteOther'] = (run, isEarlier) => {
    const heard = isEarlier ? [outcomes] : [checks, outcomes, eventLog];
    for (const event of eventsOf(run)) for (const { onEvent } of heard) onEvent(event);
  };
  const history = createHistory(memory.history, noteOther);
  let followedHistory: Promise<unknown> | undefined;
  const status = createStatus({ history, inventory, scheduler, isRepairing: repairs.areUnderWay });
  const eventLog = createEventLog(world.log);
  for (const { onEvent } of [history, status, checks, outcomes, eventLog]) subscribe(onEvent);
  subscribe(({ kind }) => {
    const isEnd = kind === 'update_completed' || kind === 'update_failed' || kind === 'update_deferred';
    if (isEnd && world.instance.transactions.size === 0) engineCache.hurry();
  });

  const ping = createReadiness(outside);
  const usability = createUsability(outside);
  const naming = <Result>(work: () => Promise<Result>) => namingForbidden(outside, work);
  const rollBack = createRollback({ outside, settings, plan: planner, lock, composeKeeper });
  const hasLeftovers = () => {
    const { containers = [] } = engineCache.listing() ?? {};
    return permissions.hindersRemovals() && containers.some(({ name }) => parseKeptName(name) !== undefined);
  };
  const repair = (signal: AbortSignal) => recover(signal, { isAgain: true });
  const repairLoop = createRepairLoop({ ...outside, repair, hasLeftovers });
  subscribe(repairLoop.onEvent);
  let abandoned: ReadonlySet<string> = new Set();

  return {
    check: (request, signal) => naming(() => check(request, signal)),
    plan: (request, signal) => naming(() => plan(request, runIdOf(request), signal)),
    rehearse: async (request, signal) => {
      const leave = await lock.enterInTurn(signal);
      try {
        const runId = runIdOf(request);
        const planned = await naming(() => plan(request, runId, signal));
        // systemd makes the others as their units say.
        const transactions = planned.plan.transactions.filter(({ members }) => members.every(({ unit }) => !unit));
        const made = { ...planned.plan, transactions };
        return { ...planned, rehearsals: await rehearsePlan(outside, settings, made, { runId }, signal) };
      } finally {
        leave();
      }
    },
    update: async (request, signal) => shown(await naming(() => update(request, signal)), signal),
    rollBack: async (names, signal, order) => shown(await naming(() => rollBack(names, signal, order)), signal),
    recover,
    keptCopies: (signal) => listCopies(outside, signal),
    removeKeptCopies: async (names, signal) => {
      const leave = await lock.enterInTurn(signal);
      try {
        return await naming(() => removeCopies(outside, names, signal));
      } finally {
        leave();
      }
    },
    finishUpdate: (transaction) => finishUpdate(outside, settings, transaction),
    updatesItself: self.isOn,
    subscribe,
    keepRepairing,
    keepUpdating: async (order, signal) => {
      if (!settings.monitorOnly) void outside.engine.forbiddenCalls(signal).catch(() => undefined);
      await Promise.all([scheduler.keepUpdating(order, signal), keepRepairing(signal)]);
    },
    follow: async (signal) => {
      await Promise.all([history.load(), readResults()]);
      followedHistory ??= Promise.all([history.follow(clock, closing.signal), followResults(closing.signal)]);
      await engineCache.follow(signal);
    },
    inventory,
    unwatched,
    engineVersion: engineCache.engineVersion,
    inventoryFailure: () => engineCache.failure() ?? usability.failure(),
    missingPermissions: permissions.missing,
    history: history.entries,
    refreshHistory: history.refresh,
    noteOther,
    status: status.read,
    eventLog,
    decisions: decisionService,
    notesOf: (name) => {
      const checked = checks.checkedOf(name);
      return checked?.updateAvailable === true ? notes?.about(checked) : undefined;
    },
    readNotes: async (name, signal) => {
      const { notesAt } = checks.checkedOf(name) ?? {};
      if (notesAt !== undefined) await notes?.readNow([notesAt], signal);
    },
    containerNames: async (signal) => {
      const listed = await world.engine.listContainers({}, signal);
      return [...new Set(listed.map(({ name }) => plainName(name)))];
    },
    unmatched: async (request, signal) => {
      const order = { ...request, runId: '' };
      return (await selectInSilence(await listAll(outside, signal), order, signal)).unmatched;
    },
    prove: createProve(outside, settings, { tags }),
    opensAfter: checks.opensAfter,
    ready: async (signal) => {
      await ping(signal);
      const failure = engineCache.failure();
      if (failure?.code === 'engine-denied') throw failure;
      await usability.prove(signal);
    },
    close: async () => {
      closing.abort();
      await repairsAside.close();
      await Promise.all([engineCache.close(), followedHistory, history.flush(), tags.flush()]);
    },
  };

  /** The result of a run, once the inventory shows what it has changed. */
  async function shown<Run extends Pick<Session, 'containers'>>(
    run: Run,
    signal: AbortSignal | undefined,
  ): Promise<Run> {
    if (run.containers.some(({ outcome }) => !unchanged.includes(outcome))) await engineCache.catchUp(signal);
    return run;
  }

  /** The remains of a command beside this service are repaired as its own are. */
  function noticeAbandoned(): void {
    const names = inventory().unfinished.flatMap(({ name, isAbandoned }) => (isAbandoned ? [name] : []));
    if (names.some((name) => !abandoned.has(name))) repairLoop.begin();
    abandoned = new Set(names);
    repairLoop.noteLeftovers();
  }

  /** Reads what other processes have found and people have decided there. Returns whether a result has changed. */
  async function readResults(): Promise<boolean> {
    const before = decisionStore.known();
    const [stored, decided] = await Promise.all([memory.checks?.read() ?? [], decisionStore.refresh()]);
    const isNew = checks.restore(stored);
    const isDecided = (isNew || decided !== before) && reconsider();
    return isNew || isDecided;
  }

  async function followResults(signal: AbortSignal): Promise<void> {
    if (memory.checks === undefined && memory.decisions === undefined) return;
    while (!signal.aborted) {
      await clock.sleep(readAgainMs, signal).catch(() => undefined);
      if (!signal.aborted && (await readResults())) tellChange();
      // The end of a process causes no event of the engine.
      noticeAbandoned();
    }
  }

  async function keepRepairing(signal: AbortSignal): Promise<void> {
    await Promise.all([repairLoop.run(signal), settings.monitorOnly || removeForgottenCopies(signal)]);
  }

  /** A run asks for copies of data only if a container shows that there may be some, and it may have been removed. */
  async function removeForgottenCopies(signal: AbortSignal): Promise<void> {
    const leave = await lock.enterForRepair(signal).catch(() => undefined);
    if (leave === undefined) return;
    await removeOverdueCopies(outside, settings, signal).finally(leave);
  }

  async function recover(
    signal?: AbortSignal,
    order: Parameters<EngineApplication['recover']>[1] = {},
  ): Promise<RecoveryReport> {
    const leave = await lock.enterForRepair(signal);
    try {
      const recovery = { onListed: warnAboutUpdaters, onRepair: repairs.begin, background, ...order };
      const report = await usability.noting(() => naming(() => recoverWithHelper(outside, settings, signal, recovery)));
      const others = [...(await recoverServices(signal)), ...(await unitKeeper.settle(signal))];
      const transactions = [...report.transactions, ...others];
      await composeKeeper.settle();
      const isWhole = !signal?.aborted && report.awaitsHelper !== true;
      tell((isWhole ? news.ofAll : news.of)(transactions));
      await self.look(signal);
      return { ...report, transactions };
    } finally {
      leave();
    }
  }

  function tellRepaired(transaction: RecoveredTransaction): void {
    const { containers, result, reason } = transaction;
    const [level, message] = result === 'failed' || result === 'left' ? endings.open : endings.over;
    world.log[level](message, { containers, result, reason });
    tell(news.of([transaction]));
  }

  /** Nothing else reports these again before a day has passed. */
  function tell(transactions: readonly RecoveredTransaction[]): void {
    for (const { containers, result, reason } of transactions)
      if (result === 'solved') world.log.info('An interrupted update needs no repair now', { containers, reason });
    if (transactions.length > 0) publish({ kind: 'earlier_updates_settled', transactions });
  }

  async function plan(request: InRun<PlanRequest>, runId: string, signal: AbortSignal | undefined) {
    const { retryFailed = false, ignoreWindows = false, ignoreWaves = false, asApproved = false } = request;
    const selected = await select(await listAll(outside, signal), { ...request, runId }, signal);
    const exceptions = { retryFailed, ignoreWindows, ignoreWaves, asApproved };
    const order = { runId, applyCooldown: true, isDryRun: true, ...exceptions, part: request.part };
    const report = await judge(selected, order, signal);
    const { within } = request;
    const known = within === undefined ? report.made : undefined;
    const { plan: made } = known ?? (await planner(staleIn(report, settings), selected.listing, signal, within));
    const services = planServices(report, selected.listing, world.instance);
    return { report, plan: { ...made, ...(services.length > 0 && { services }) } };
  }

  function runIdOf({ part }: InRun<object>): string {
    return part?.runId ?? world.newId();
  }

  function notingChecks(ask: Judge): Judge {
    return async (selected, order, signal) => {
      const report = await ask(selected, order, signal);
      const answered = report.asScheduled.filter((container) => !signal?.aborted || container.status !== 'unknown');
      checks.noteChecked(answered, clock.nowMs(), selected.listing.begunAt.wallMs);
      notes?.consider(answered.flatMap(({ updateAvailable, notesAt }) => (updateAvailable && notesAt) || []));
      if (order.applyCooldown && memory.endsDecisions !== false) await decisionService.endObsoleteDecisions(answered);
      return report;
    };
  }

  async function check(request: InRun<CheckRequest>, signal?: AbortSignal): Promise<CheckReport> {
    const run = announceRun(outside, 'check', request, request.part?.runId);
    const { runId } = run;
    run.begin();
    try {
      const selected = await select(await listAll(outside, signal), { ...request, runId }, signal);
      const isDryRun = request.asScheduled === true;
      const oneFirst = request.trigger === 'start';
      const order = { runId, applyCooldown: false, oneFirst, isDryRun, part: request.part };
      const judged = await judge(selected, order, signal);
      const report = isDryRun ? { ...judged, containers: judged.asScheduled } : judged;
      run.endCheck(report.containers);
      const isStale = report.containers.some(({ status }) => status === 'stale');
      const notPossible = isStale ? await whyNotPossible(outside, signal) : undefined;
      return { ...report, ...(notPossible !== undefined && { notPossible }) };
    } catch (error) {
      throw run.fail(error);
    }
  }
}

/** The same engine, which finds out what else is forbidden where a removal is. */
function askingAgain<Each extends Pick<Outside['engine'], 'removeContainer' | 'forbiddenCalls'>>(engine: Each): Each {
  return {
    ...engine,
    removeContainer: async (id) => {
      const outcome = await engine.removeContainer(id);
      if (outcome.kind === 'refused' && outcome.isForbidden) void engine.forbiddenCalls().catch(() => undefined);
      return outcome;
    },
  };
}

const endings = {
  over: ['info', 'An interrupted update was repaired'],
  open: ['warn', 'An interrupted update is not repaired yet'],
} as const;

/** The outcomes that leave a container as it was. */
const unchanged: readonly OutcomeKind[] = ['fresh', 'skipped', 'deferred', 'unknown'];

/** Reading a shared file again costs one look at its size and time. */
const readAgainMs = 1000;

export type LifeOptions = FollowOptions & {
  /** Whether the process lives on after a run, so that repairs that wait for containers may go on beside others. */
  readonly isService?: boolean;
  /** Shared by all engines. Absent: nobody reads release notes. */
  readonly notes?: NotesService | undefined;
};

/** Stores that outlive the process. An absent store is replaced by memory. */
export type Memory = {
  readonly decisions?: SharedRecords<DecisionRecord>;
  readonly history?: SharedRecords<HistoryEntry>;
  /** The results of the last checks, by container. */
  readonly checks?: SharedRecords<StoredCheck>;
  /** Changes of compose files, begun and done. */
  readonly composeRecords?: SharedRecords<ComposeRecord>;
  /** Updates of containers by restarts of their units. Absent: there are none. */
  readonly unitRecords?: SharedRecords<UnitRecord>;
  /** Times at which digests were first seen behind tags, for cooldowns. */
  readonly seenTags?: SharedRecords<SeenTag>;
  /** The process updates nothing, so another updater is no danger to its work. Default: false. */
  readonly isReader?: boolean;
  /** Whether runs end decisions about versions that no container waits for any more. Default: true. */
  readonly endsDecisions?: boolean;
};

/** How many repairs are under way. */
function countRepairs(): { readonly begin: () => () => void; readonly areUnderWay: () => boolean } {
  let count = 0;
  return {
    begin() {
      count += 1;
      return () => void (count -= 1);
    },
    areUnderWay: () => count > 0,
  };
}
