import { linesOf } from '../../domain/notes/notes.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import { shortDigest } from '../../domain/image/image-reference.ts';
import { defined } from '../../domain/text/plain-data.ts';
import {
  type UpdateRequest,
  type ContainerOutcome,
  type OutcomeKind,
  type Session,
  type Trigger,
  type Outcomes,
  isContainer,
} from '../../domain/run/session.ts';
import { describeError, isBusy, ServiceError } from '../../domain/text/errors.ts';
import { refuseUnmatched, type WatchedContainer } from '../../domain/check/selection.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { readLabels, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { MadePlan, UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { CheckReport, Judge, JudgedReport } from '../check/check.ts';
import type { CheckedContainer, JudgeOrder, InRun } from '../check/checked-container.ts';
import type { createSelectContainers } from '../check/select-containers.ts';
import type { Listing } from '../engine/listing.ts';
import type { FinalHoldCheck } from '../check/decisions.ts';
import { staleIn, type Planner } from '../check/make-plan.ts';
import { runSession, type ListRepaired, type UpdateLock } from './session.ts';
import { cancelledBeforeTurn, runPlan, fetchAhead, isUnpulled, untouched, type PlanRun } from './run-plan.ts';
import type { ImageAhead } from '../transaction/create-successor.ts';
import { type HandedOver, runTransaction } from '../transaction/run-transaction.ts';
import type { ComposeKeeper } from './compose-files.ts';
import type { UnitKeeper } from './units.ts';
import { mapConcurrently, type SharedUse } from '../async/concurrency.ts';
import { orderByNetwork } from '../../domain/plan/order.ts';
import { updateBesideServices } from '../swarm/update-services.ts';
import type { FailedVersion } from '../../domain/check/known-versions.ts';
import { parseKeptName } from '../../domain/transaction/transaction-names.ts';
import { mayHaveCopy, removeOverdueCopies } from './kept-data.ts';
import { cleanUpImages, removeOldVolumes, removeOverdue } from '../transaction/cleanup.ts';
import { forgetFailures } from '../transaction/outcomes.ts';
import type { Labels } from '../../domain/image/labels.ts';
import { runHook, titleOf } from '../health/hooks.ts';

type UpdateParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly listRepaired: ListRepaired;
  readonly select: ReturnType<typeof createSelectContainers>;
  readonly judge: Judge;
  readonly plan: Planner;
  readonly lock: UpdateLock;
  readonly composeKeeper: ComposeKeeper;
  readonly unitKeeper: Pick<UnitKeeper, 'restarting'>;
  /** Whether a container's newer version may still be applied at this moment. */
  readonly whyNotNow: FinalHoldCheck;
  /** The newer version of a container that the last check has shown. */
  readonly lastSeen: NonNullable<JudgeOrder['byPerson']>;
  /** Resolves when a helper that has taken over, and that the run did not wait for, has ended. Never throws. */
  readonly afterHandOver: () => Promise<void>;
  readonly awaitDoorHelper: Extract<HandedOver, { readonly kind: 'door' }>['awaitEnd'];
};

/**
 * One run, from one listing: repair, check, hooks, plan, transactions, tidying, session. Throws when the run as a whole
 * fails. A failure for one container is its outcome.
 */
export function createUpdate(
  parts: UpdateParts,
): (request: InRun<UpdateRequest>, signal?: AbortSignal) => Promise<Session> {
  const { outside, settings, listRepaired, select, judge, lock, composeKeeper, unitKeeper, afterHandOver } = parts;
  const perform = composeKeeper.keeping(unitKeeper.restarting(runTransaction));
  const { publish, clock } = outside;

  return async (request, signal) => {
    const { trigger, retryFailed = false, ignoreWindows = false } = request;
    const leave = await (isFull(request) ? enterAlone(trigger, signal) : lock.enterInTurn(signal));
    let isHandedOver = false;
    const { network = unsharedNetwork } = request.part ?? {};
    const onPulled = await network.share();
    try {
      const update = async (runId: string) => {
        request.onBegin?.(runId);
        const selected = await select(await listRepaired(signal), { ...request, runId }, signal);
        if (request.refuseUnmatched) refuseUnmatched(selected, 'update');
        await runPreCheckHooks(outside, settings, selected.watched, signal);
        const { part } = request;
        const byPerson = request.byPerson === true ? parts.lastSeen : undefined;
        const order = { runId, applyCooldown: true, retryFailed, ignoreWindows, byPerson, part };
        const report = await judge(selected, order, signal);
        for (const { filter, reason } of report.unmatched) outside.log.warn(reason, { runId, filter });
        const { within } = request;
        const { alone } = network;
        const isShared = part !== undefined;
        const checked = { report, listing: selected.listing, runId, isShared, onPulled, alone, within };
        const replaceContainers = () => replaceBetweenHooks(checked, signal);
        const { replaced, services } = await updateBesideServices(
          outside,
          settings,
          { ...checked, beforeOwn: part?.beforeSelf, whyNotNow: holdCheckFor(report) },
          replaceContainers,
          signal,
        );
        const { made, ahead, outcomes } = replaced;
        const onTaken = () => (isHandedOver = true);
        const run = { runId, perform, whyNotNow: holdCheckFor(report), ahead };
        if (made.plan.self !== undefined || made.plan.doors !== undefined) await part?.beforeSelf();
        const doors = await replaceDoors(made, run, onTaken, signal);
        // Another helper would need the engine too.
        const handedOver = { kind: 'self', onTaken } as const;
        const own = isHandedOver ? [] : await replaceItself(made.plan, { ...run, handedOver }, signal);
        return inListingOrder(report, made, new Map([...outcomes, ...services, ...doors, ...own]));
      };
      return await runSession(outside, request, update, request.part?.runId);
    } finally {
      onPulled();
      if (isHandedOver) void afterHandOver().finally(leave);
      else leave();
    }
  };

  function holdCheckFor({ containers }: CheckReport) {
    return (ids: readonly string[]) => parts.whyNotNow(containers.filter(({ id }) => ids.includes(id)));
  }

  /** One after another, because each cuts the way to the engine, and last those whose socket helpers of others mount. */
  async function replaceDoors(
    { plan, ways }: MadePlan,
    run: PlanRun,
    onTaken: () => void,
    signal?: AbortSignal,
  ): Promise<Outcomes> {
    const outcomes = new Map<string, ContainerOutcome>();
    let isAtWork = false;
    const onLeft = () => {
      isAtWork = true;
      onTaken();
    };
    const doors = (plan.doors ?? []).map((door) => ({ door, socketOf: ways?.get(door.id)?.socketOf }));
    doors.sort((one, other) => Number(one.socketOf === one.door.id) - Number(other.socketOf === other.door.id));
    for (const { door, socketOf } of doors) {
      if (socketOf === undefined) continue;
      const handedOver = { kind: 'door', socketOf, awaitEnd: parts.awaitDoorHelper, onLeft } as const;
      const restarts = plan.restarts.filter(({ because }) => because.some(({ id }) => id === door.id));
      const alone = { transactions: [door], refused: [], restarts };
      const reached = await runPlan(outside, settings, alone, { ...run, handedOver }, signal);
      for (const [id, outcome] of reached) outcomes.set(id, outcome);
      if (isAtWork) break;
    }
    return outcomes;
  }

  /** The last step of a run. This process changes nothing after it, and it will be stopped. */
  async function replaceItself({ self }: UpdatePlan, run: PlanRun, signal?: AbortSignal): Promise<Outcomes> {
    if (self === undefined) return new Map();
    return runPlan(outside, settings, { transactions: [self], refused: [], restarts: [] }, run, signal);
  }

  async function enterAlone(trigger: Trigger, signal: AbortSignal | undefined): Promise<() => void> {
    try {
      return await lock.enterAlone(signal);
    } catch (error) {
      if (!isBusy(error)) throw error;
      publish({ kind: 'scan_skipped', trigger, reason: describeError(error), atMs: clock.nowMs() });
      throw error;
    }
  }

  async function replaceBetweenHooks(checked: Checked, signal?: AbortSignal) {
    try {
      const made = await planUnlessStopped(checked, signal);
      const named = namingVersions(outside, checked.report);
      const ahead = await pullAhead(named, made.plan, checked, signal);
      const order = await orderOf(made.plan, checked, ahead, signal);
      checked.onPulled();
      const { runId, alone } = checked;
      const run = { runId, perform, alone, whyNotNow: holdCheckFor(checked.report), ahead, ...(order && { order }) };
      const outcomes = await composeKeeper.finish(await runPlan(named, settings, made.plan, run, signal));
      const report = withoutServices(checked.report);
      const mayHaveCopies = settings.dataKeepMs > 0 || checked.listing.containers.some(mayHaveCopy);
      await cleanUp(outside, settings, { ...checked, report, plan: made.plan, outcomes, mayHaveCopies }, signal);
      return { made, ahead, outcomes };
    } finally {
      const names = withoutServices(checked.report).containers.map(({ name }) => name);
      await runPostCheckHooks(outside, settings, names, signal);
    }
  }

  async function pullAhead(
    named: Outside,
    plan: UpdatePlan,
    { report, listing, runId, isShared }: Checked,
    signal?: AbortSignal,
  ) {
    const { transactions, doors = [], self } = plan;
    const bytes = new Map(report.containers.map(({ id, downloadBytes }) => [id, downloadBytes]));
    const order = {
      runId,
      isShared,
      transactions: [...transactions, ...doors, ...(self === undefined ? [] : [self])],
      downloadOf: (id: string) => bytes.get(id),
      isOnItsHost: isOnItsHost(listing),
    };
    return fetchAhead(named, settings, order, signal);
  }

  function isOnItsHost({ containers }: Listing): boolean {
    const { instance, routes } = outside;
    if (instance.containerId !== undefined) return containers.some(({ id }) => id === instance.containerId);
    return routes?.().own.kind === 'socket';
  }

  async function orderOf(
    plan: UpdatePlan,
    { listing: { containers } }: Checked,
    ahead: ReadonlyMap<string, ImageAhead>,
    signal?: AbortSignal,
  ) {
    if (plan.transactions.length === 0 || signal?.aborted) return undefined;
    const unpulled = plan.transactions.filter(({ members }) => isUnpulled(members, ahead)).map(({ id }) => id);
    return orderByNetwork({ plan, containers, engine: await outside.engine.info(signal), unpulled: new Set(unpulled) });
  }

  async function planUnlessStopped(
    { report, listing, within }: Checked,
    signal: AbortSignal | undefined,
  ): Promise<MadePlan> {
    try {
      if (report.made !== undefined && within === undefined) return report.made;
      if (!signal?.aborted) return await parts.plan(staleIn(report, settings), listing, signal, within);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
    const stale = report.containers.filter(({ status }) => status === 'stale');
    const refused = stale.map(({ id, name }) => ({ id, name, reason: cancelledBeforeTurn }));
    return { plan: { transactions: [], refused, restarts: [] }, listing: [] };
  }
}

type Checked = {
  readonly report: JudgedReport;
  readonly listing: Listing;
  readonly runId: string;
  /** Whether the run is of several engines. */
  readonly isShared: boolean;
  /** Called when this engine of a run has pulled its images. */
  readonly onPulled: () => void;
  readonly alone: SharedUse['alone'];
  readonly within: UpdateRequest['within'];
};

/** Of one engine, which replaces nothing before it has pulled. */
const unsharedNetwork: SharedUse = { share: () => Promise.resolve(() => {}), alone: (work) => work() };

function isFull({ images, containers, within }: UpdateRequest): boolean {
  return images.length === 0 && containers.length === 0 && within === undefined;
}

/** Removes overdue kept containers and outdated failures, and also old volumes and images if the settings say so. */
async function cleanUp(
  outside: Outside,
  settings: ServiceSettings,
  {
    runId,
    report,
    plan,
    outcomes,
    mayHaveCopies,
  }: {
    readonly runId: string;
    readonly report: CheckReport;
    readonly plan: UpdatePlan;
    readonly outcomes: Outcomes;
    /** Otherwise the engine is not asked for copies of data. */
    readonly mayHaveCopies: boolean;
  },
  signal?: AbortSignal,
): Promise<void> {
  const isKeeping = report.unwatched.some(({ name }) => parseKeptName(name) !== undefined);
  if (isKeeping) await removeOverdue(outside, settings, signal);
  if (mayHaveCopies) await removeOverdueCopies(outside, settings, signal);
  await forgetFailures(outside, [...report.obsoleteFailures, ...overcomeFailures(report, outcomes)]);
  if (settings.removeVolumes) await removeOldVolumes(outside, plan, outcomes);
  if (settings.cleanup && !settings.monitorOnly && !signal?.aborted) {
    const images = await cleanUpImages(outside, { plan, outcomes, checked: report.containers });
    if (images.length > 0) outside.publish({ kind: 'image_cleanup', runId, images, atMs: outside.clock.nowMs() });
  }
}

/** Versions that have failed before and were applied now. */
function overcomeFailures({ containers }: CheckReport, outcomes: Outcomes): readonly FailedVersion[] {
  return containers.flatMap(({ id, failedVersion }) =>
    failedVersion !== undefined && outcomes.get(id)?.outcome === 'updated' ? [failedVersion] : [],
  );
}

type HookBearer = Pick<WatchedContainer, 'container' | 'labelSettings'>;

/** Runs the hooks before a run. Their results do not affect the run. */
async function runPreCheckHooks(
  outside: Outside,
  settings: ServiceSettings,
  watched: readonly HookBearer[],
  signal?: AbortSignal,
): Promise<void> {
  if (settings.lifecycleHooks) await runCheckHooks(outside, settings, 'preCheck', watched, signal);
  else logDisabledHooks(outside, watched);
}

/** Runs the hooks after a run, in the containers that then have these names. */
async function runPostCheckHooks(
  outside: Outside,
  settings: ServiceSettings,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  if (!settings.lifecycleHooks || names.length === 0) return;
  const wanted = new Set(names);
  try {
    const containers = (await outside.engine.listContainers({}, signal)).filter(({ name }) => wanted.has(name));
    // Hooks in the image's labels count too.
    const labelSettingsIn = (labels: Labels) => readLabels(labels, undefined).labelSettings;
    const bearers = containers.map((container) => ({ container, labelSettings: labelSettingsIn(container.labels) }));
    await runCheckHooks(outside, settings, 'postCheck', bearers, signal);
  } catch (error) {
    if (signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    outside.log.warn(`The post-check hooks could not be run: ${describeError(error)}`);
  }
}

async function runCheckHooks(
  outside: Outside,
  settings: ServiceSettings,
  hook: 'preCheck' | 'postCheck',
  bearers: readonly HookBearer[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const hooked = bearers.filter(({ labelSettings }) => labelSettings.hooks[hook] !== undefined);
  await mapConcurrently(hooked, hooksAtOnce, async ({ container: { id, name } }) => {
    if (signal?.aborted) return;
    try {
      const container = await outside.engine.inspectContainer(id, signal);
      if (container !== undefined) await runHook(outside, settings, hook, container, signal);
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      outside.log.warn(`The ${titleOf(hook, { name })} could not be run: ${describeError(error)}`);
    }
  });
}

/** A hook that hangs must not block all others, and the engine gets few requests at once. */
const hooksAtOnce = 4;

/** Logs which hooks are disabled. */
function logDisabledHooks({ log }: Outside, bearers: readonly HookBearer[]): void {
  for (const { container, labelSettings } of bearers) {
    if (Object.values(labelSettings.hooks).every((wish) => wish === undefined)) continue;
    const about = { container: container.name };
    log.debug('The lifecycle hooks of a container are not run without --enable-lifecycle-hooks', about);
  }
}

/** The outcome of every container of a run, from its transaction or else from its check. */
function inListingOrder(
  report: CheckReport,
  { plan, listing }: MadePlan,
  outcomes: Outcomes,
): readonly ContainerOutcome[] {
  const checked = new Map(report.containers.map((container) => [container.id, container]));
  const ids = new Set([...listing, ...checked.keys()]);
  const reached = [...ids].flatMap((id) => {
    const container = checked.get(id);
    const acted = outcomes.get(id);
    if (container === undefined) return acted ?? [];
    const { cooldown } = container;
    const outcome = { ...(acted ?? withoutTransaction(container, plan)), ...(cooldown && { cooldown }) };
    return withCheckedVersions(outcome, container);
  });
  const acted = new Set([...outcomes.values()].map(({ name }) => name));
  const held = report.unfinished.filter(({ name, isParked }) => isParked && !acted.has(name));
  const isHeld = new Set(held.map(({ name }) => name));
  return [
    ...reached.filter(({ name }) => !isHeld.has(name)),
    ...held.map((container) => untouched(container, 'deferred', container.reason)),
  ];
}

function withoutTransaction(container: CheckedContainer, plan: UpdatePlan): ContainerOutcome {
  const { id, status, hold, digest = '', latestDigest = '', eligibleAtMs, error } = container;
  const refused = plan.refused.find((one) => one.id === id);
  const isDeferred =
    (status === 'held' && (eligibleAtMs !== undefined || hold === 'wave')) || refused?.isDeferred === true;
  const kind = isDeferred ? 'deferred' : refused?.isFailure === true ? 'failed' : outcomeOf[status];
  return {
    ...untouched(container, kind, refused?.reason ?? error ?? container.reason),
    oldDigest: digest,
    newDigest: latestDigest,
    ...(status !== 'fresh' && status !== 'stale' && { verdict: status }),
    ...((status === 'held' || status === 'unknown') && hold !== undefined && { hold }),
  };
}

/** Outcome of a container outside every transaction. */
const outcomeOf: Readonly<Record<Staleness, OutcomeKind>> = {
  fresh: 'fresh',
  // Without a newer version it counts as fresh, as in other updaters.
  pinned: 'fresh',
  local: 'fresh',
  // A newer version exists, but a setting holds it back. With a temporary reason the outcome is `deferred`.
  held: 'skipped',
  unknown: 'unknown',
  // Refused by the plan.
  stale: 'skipped',
};

/** Adds the versions that the check has named to an outcome. */
function withCheckedVersions(outcome: ContainerOutcome, checked: CheckedContainer | undefined): ContainerOutcome {
  if (checked === undefined) return outcome;
  const { version, latestVersion, latestDigest, pullDigest, updateAvailable, kind, sourceUrl } = checked;
  const isEarlier = pullDigest !== undefined && pullDigest !== latestDigest;
  const next = updateAvailable ? (isEarlier ? shortDigest(pullDigest) : latestVersion) : undefined;
  const to = outcome.outcome === 'restarted' ? version : next;
  const notes = checked.notes && linesOf(checked.notes);
  return { ...outcome, ...defined({ from: version, to, kind, sourceUrl, notes }) };
}

/** The same outside, but published outcomes get the versions of the check. */
function namingVersions(outside: Outside, { containers }: Pick<CheckReport, 'containers'>): Outside {
  const byId = new Map(containers.map((container) => [container.id, container]));
  return {
    ...outside,
    publish: (event) => {
      if (!('outcome' in event)) return outside.publish(event);
      const outcome = withCheckedVersions(event.outcome, byId.get(event.outcome.containerId ?? ''));
      outside.publish({ ...event, outcome });
    },
  };
}

/** The same report with containers only, for the steps after an update of containers. */
function withoutServices<Report extends Pick<CheckReport, 'containers'>>(report: Report): Report {
  const containers = report.containers.filter(isContainer);
  return containers.length === report.containers.length ? report : { ...report, containers };
}
