import type { UpdateRequest } from '../../domain/run/request.ts';
import { describeError, ServiceError } from '../../domain/errors.ts';
import type { FailedVersion } from '../../domain/check/failed-version.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, OutcomeKind, Session, Trigger, Outcomes } from '../../domain/run/session.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { parseKeptName } from '../../domain/transaction/transaction-names.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import type { Check, CheckReport } from '../check/check.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { cleanUpImages } from '../cleanup/cleanup.ts';
import { forgetFailures } from '../transaction/failed-versions.ts';
import { runPostCheckHooks, runPreCheckHooks } from '../health/hooks.ts';
import { makePlan, type MadePlan, staleIn } from '../plan/make-plan.ts';
import { removeOverdue } from '../cleanup/kept-containers.ts';
import { removeOldVolumes } from '../cleanup/old-volumes.ts';
import { cancelledBeforeTurn, runPlan, untouched } from './run-plan.ts';
import { runSession } from './run-session.ts';
import type { TransactionRun } from '../transaction/run-transaction.ts';
import { namingVersions, withCheckedVersions } from './outcome-versions.ts';
import type { UpdateLock } from './update-lock.ts';

export type Update = (request: UpdateRequest, signal?: AbortSignal) => Promise<Session>;

export type UpdateParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly check: Check;
  readonly lock: UpdateLock;
  /** Resolves when a helper that our own container was handed over to has come to its end; never throws. */
  readonly afterHandOver: () => Promise<void>;
};

/**
 * One run: lock, check, plan, transactions, clean-up, session. Throws when the run as a whole fails; a
 * failure for one container is its outcome.
 */
export function createUpdate({ outside, settings, check, lock, afterHandOver }: UpdateParts): Update {
  const { publish, clock } = outside;

  return async (request, signal) => {
    const { trigger, images, containers, retryFailed = false } = request;
    const leave = await (isFull(request) ? enterAlone(trigger, signal) : lock.enterInTurn(signal));
    let isHandedOver = false;
    try {
      return await runSession(outside, trigger, async (runId) => {
        request.onBegin?.(runId);
        const onSelected = (selected: readonly WatchedContainer[]) =>
          runPreCheckHooks(outside, settings, selected, signal);
        const report = await check({ runId, images, containers, applyCooldown: true, retryFailed, onSelected }, signal);
        for (const { filter, reason } of report.unmatched) outside.log.warn(reason, { runId, filter });
        const { made, outcomes } = await replaceBetweenHooks(report, runId, signal);
        const onHandedOver = () => (isHandedOver = true);
        const own = await replaceItself(made.plan, { runId, onHandedOver }, signal);
        return inListingOrder(report, made, new Map([...outcomes, ...own]));
      });
    } finally {
      if (isHandedOver) void afterHandOver().finally(leave);
      else leave();
    }
  };

  /** Last of all: from then on this process touches nothing, and is going to be stopped. */
  async function replaceItself({ self }: UpdatePlan, run: TransactionRun, signal?: AbortSignal): Promise<Outcomes> {
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

  async function replaceBetweenHooks(report: CheckReport, runId: string, signal?: AbortSignal) {
    try {
      return await replace(report, runId, signal);
    } finally {
      const names = report.containers.map(({ name }) => name);
      await runPostCheckHooks(outside, settings, names, signal);
    }
  }

  async function replace(
    report: CheckReport,
    runId: string,
    signal?: AbortSignal,
  ): Promise<{ readonly made: MadePlan; readonly outcomes: Outcomes }> {
    const made = await planUnlessStopped(report, signal);
    const outcomes = await runPlan(namingVersions(outside, report), settings, made.plan, { runId }, signal);
    if (report.unwatched.some(({ name }) => parseKeptName(name) !== undefined))
      await removeOverdue(outside, settings, signal);
    await forgetFailures(outside, [...report.obsoleteFailures, ...overcomeFailures(report, outcomes)]);
    if (settings.removeVolumes) await removeOldVolumes(outside, made.plan, outcomes);
    if (settings.cleanup && !settings.monitorOnly && !signal?.aborted) {
      const images = await cleanUpImages(outside, { plan: made.plan, outcomes, checked: report.containers });
      if (images.length > 0) publish({ kind: 'image_cleanup', runId, images, atMs: clock.nowMs() });
    }
    return { made, outcomes };
  }

  async function planUnlessStopped(report: CheckReport, signal: AbortSignal | undefined): Promise<MadePlan> {
    try {
      if (!signal?.aborted) return await makePlan(outside, settings, staleIn(report), signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
    const stale = report.containers.filter(({ status }) => status === 'stale');
    const refused = stale.map(({ id, name }) => ({ id, name, reason: cancelledBeforeTurn }));
    return { plan: { transactions: [], refused, restarts: [] }, listing: [] };
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'busy';
}

function isFull({ images, containers }: UpdateRequest): boolean {
  return images.length === 0 && containers.length === 0;
}

/** Versions that failed before, and did not now. */
function overcomeFailures({ containers }: CheckReport, outcomes: Outcomes): readonly FailedVersion[] {
  return containers.flatMap(({ id, failedVersion }) =>
    failedVersion !== undefined && outcomes.get(id)?.outcome === 'updated' ? [failedVersion] : [],
  );
}

/** Outcome of a container outside every transaction. */
const outcomeOf: Readonly<Record<Staleness, OutcomeKind>> = {
  fresh: 'fresh',
  // There is nothing newer for it, so it counts as fresh, as with other updaters.
  pinned: 'fresh',
  local: 'fresh',
  // Something newer is there, and a wish keeps it back: for good, or (see `heldBack`) for a while.
  held: 'skipped',
  unknown: 'unknown',
  // Refused by the plan.
  stale: 'skipped',
};

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
  const { id, status, digest = '', latestDigest = '', eligibleAtMs, error } = container;
  const outcome = status === 'held' && eligibleAtMs !== undefined ? 'deferred' : outcomeOf[status];
  const refused = plan.refused.find((one) => one.id === id)?.reason;
  return {
    ...untouched(container, outcome, refused ?? error ?? container.reason),
    oldDigest: digest,
    newDigest: latestDigest,
  };
}
