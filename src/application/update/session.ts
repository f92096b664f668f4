import { linesOf } from '../../domain/notes/notes.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, Session, OutcomeKind, Outcomes } from '../../domain/run/session.ts';
import { announceRun } from '../events/event-log.ts';
import { defined } from '../../domain/text/plain-data.ts';
import type { MadePlan, UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import type { CheckReport } from '../check/check.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { untouched } from './run-plan.ts';
import { versionsBetween } from '../../domain/image/image-labels.ts';
import { versionFactsOf, type ImageIndex } from '../../domain/container/lookup.ts';
import { shortDigest } from '../../domain/image/image-reference.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { stoppedError } from '../async/concurrency.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { isParkedName, transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import type { ComposeKeeper } from './compose-files.ts';
import { listAll, type Listing } from '../engine/listing.ts';
import type { RecoverServices } from '../swarm/follow-service.ts';
import { isSettled, type RepairNews } from '../recovery/background-repairs.ts';
import { recoverTransactions, type RecoveryOrder } from '../recovery/recover.ts';

/** Runs an operation as a session: publishes its begin, its times and its end, also when it throws. */
export async function runSession(
  outside: Pick<Outside, 'publish' | 'clock' | 'newId'>,
  origin: Pick<Session, 'trigger' | 'by'>,
  work: (runId: string) => Promise<readonly ContainerOutcome[]>,
  runId?: string,
): Promise<Session> {
  const run = announceRun(outside, 'update', origin, runId);
  run.begin();
  try {
    return run.end({ containers: await work(run.runId) });
  } catch (error) {
    throw run.fail(error);
  }
}

/** The outcome of every container of a run, from its transaction or else from its check. */
export function inListingOrder(
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
    ...(status === 'held' && hold !== undefined && { hold }),
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
export function namingVersions(outside: Outside, { containers }: Pick<CheckReport, 'containers'>): Outside {
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

/** Adds the versions of its images to an outcome, if the engine has the images. */
export function withImageVersions(outcome: ContainerOutcome, images: ImageIndex): ContainerOutcome {
  const { image, tagChange, oldImageId, newImageId } = outcome;
  const factsOf = (id: string, reference = image) => versionFactsOf(images.byId(id), { image: reference, digest: id });
  const named = versionsBetween(factsOf(oldImageId, tagChange?.from), factsOf(newImageId, tagChange?.to));
  return { ...outcome, ...defined({ from: named.version, to: named.latestVersion }) };
}

/** Allows one update at a time. The holder must call the returned function once. */
export type UpdateLock = {
  /** Throws `busy` when another update runs or waits. Waits for the end of a repair. */
  readonly enterAlone: (signal?: AbortSignal) => Promise<Leave>;
  /** Like `enterInTurn`, for the repair of an interrupted update. */
  readonly enterForRepair: (signal?: AbortSignal) => Promise<Leave>;
  /** Waits for its turn, first come first served; throws `cancelled` or `timeout` when the signal aborts first. */
  readonly enterInTurn: (signal?: AbortSignal) => Promise<Leave>;
};

type Leave = () => void;

export function createUpdateLock(): UpdateLock {
  const queue: (() => void)[] = [];
  let heldFor: 'an update' | 'a repair' | undefined;

  function take(purpose: typeof heldFor): Leave {
    heldFor = purpose;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      heldFor = undefined;
      queue.shift()?.();
    };
  }

  function enter(purpose: typeof heldFor, signal: AbortSignal | undefined): Promise<Leave> {
    if (signal?.aborted) return Promise.reject(stoppedError(signal, 'update'));
    if (heldFor === undefined) return Promise.resolve(take(purpose));
    if (queue.length >= maxQueue) {
      return Promise.reject(new ServiceError('busy', `Cannot update: ${maxQueue} updates are waiting already`));
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve(take(purpose));
      };
      const giveUp = () => {
        queue.splice(queue.indexOf(begin), 1);
        if (signal !== undefined) reject(stoppedError(signal, 'update'));
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      queue.push(begin);
    });
  }

  return {
    enterAlone(signal) {
      const isNext = heldFor === undefined || (heldFor === 'a repair' && queue.length === 0);
      if (isNext) return enter('an update', signal);
      return Promise.reject(new ServiceError('busy', 'Cannot update: another update is already running'));
    },
    enterForRepair: (signal) => enter('a repair', signal),
    enterInTurn: (signal) => enter('an update', signal),
  };
}

/** More callers than a client with 60 requests a minute can have waiting in ten minutes. */
const maxQueue = 1000;

/** Lists the engine for a run, after the repair of interrupted updates. Throws a `ServiceError`. */
export type ListRepaired = (signal?: AbortSignal) => Promise<Listing>;

type RepairParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly onRepair?: RecoveryOrder['onRepair'];
  readonly background?: RecoveryOrder['background'];
  readonly news: RepairNews;
  readonly recoverServices: RecoverServices;
  readonly composeKeeper: Pick<ComposeKeeper, 'settle'>;
};

/**
 * Finishes or undoes the interrupted updates in a listing, then lists again. A process may run for months, so repairs
 * must not wait for its next start. The caller must hold the update lock, because a repair changes containers.
 */
export function createListRepaired(parts: RepairParts): ListRepaired {
  const { outside, settings, onRepair, background, news, recoverServices, composeKeeper } = parts;

  function report(reported: readonly RecoveredTransaction[]): void {
    for (const { containers, result, reason } of reported) {
      const level = result === 'failed' ? 'error' : 'info';
      outside.log[level]('The remains of an earlier update were checked', { containers, result, reason });
    }
    if (reported.length > 0) outside.publish({ kind: 'earlier_updates_settled', transactions: reported });
  }

  return async (signal) => {
    report(news.of(await recoverServices(signal)));
    const listing = await listAll(outside, signal);
    if (signal?.aborted) return listing;
    if (!hasRemains(listing)) {
      report(news.ofAll([]));
      await composeKeeper.settle();
      return listing;
    }
    const { transactions } = await recoverTransactions(outside, settings, signal, { onRepair, background });
    report(signal?.aborted ? news.of(transactions) : news.ofAll(transactions));
    await composeKeeper.settle();
    const isChanged = transactions.some((one) => isSettled(one) || one.isUnderWay === true);
    return isChanged ? listAll(outside, signal) : listing;
  };
}

function hasRemains({ containers, listedImages }: Listing): boolean {
  return containers.some(({ name }) => isParkedName(name)) || transactionMarksOf(listedImages).length > 0;
}
