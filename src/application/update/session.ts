import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, Session } from '../../domain/run/session.ts';
import { announceRun } from '../events/history.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { versionsBetween } from '../../domain/image/labels.ts';
import { versionFactsOf, type ImageIndex } from '../../domain/container/lookup.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { stoppedError } from '../async/concurrency.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { isParkedName, transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import type { ComposeKeeper } from './compose-files.ts';
import type { UnitKeeper } from './units.ts';
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
  readonly unitKeeper: Pick<UnitKeeper, 'settle'>;
};

/**
 * Finishes or undoes the interrupted updates in a listing, then lists again. A process may run for months, so repairs
 * must not wait for its next start. The caller must hold the update lock, because a repair changes containers.
 */
export function createListRepaired(parts: RepairParts): ListRepaired {
  const { outside, settings, onRepair, background, news, recoverServices, composeKeeper, unitKeeper } = parts;

  function report(reported: readonly RecoveredTransaction[]): void {
    for (const { containers, result, reason } of reported) {
      const level = result === 'failed' ? 'error' : 'info';
      outside.log[level]('The remains of an earlier update were checked', { containers, result, reason });
    }
    if (reported.length > 0) outside.publish({ kind: 'earlier_updates_settled', transactions: reported });
  }

  return async (signal) => {
    const others = [...(await recoverServices(signal)), ...(await unitKeeper.settle(signal))];
    report(news.of(others));
    const open = others.filter((one) => !isSettled(one));
    const listing = await listAll(outside, signal);
    if (signal?.aborted) return listing;
    if (!hasRemains(listing)) {
      report(news.ofAll(open));
      await composeKeeper.settle();
      return listing;
    }
    const { transactions } = await recoverTransactions(outside, settings, signal, { onRepair, background });
    report(signal?.aborted ? news.of(transactions) : news.ofAll([...open, ...transactions]));
    await composeKeeper.settle();
    const isChanged = transactions.some((one) => isSettled(one) || one.isUnderWay === true);
    return isChanged ? listAll(outside, signal) : listing;
  };
}

function hasRemains({ containers, listedImages }: Listing): boolean {
  return containers.some(({ name }) => isParkedName(name)) || transactionMarksOf(listedImages).length > 0;
}
