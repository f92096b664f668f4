import { type ContainerSummary, isAlive } from '../domain/container.ts';
import { describeError } from '../domain/errors.ts';
import type { EngineInfo, Outside } from '../domain/outside.ts';
import { readJournal } from '../domain/journal.ts';
import { withoutKept } from '../domain/kept-containers.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import type { MemberFacts } from '../domain/transaction.ts';
import { rememberFailures } from './failed-versions.ts';
import type { OpenTransaction } from './facts.ts';
import { findOpen, type FoundTransaction } from './find-open.ts';
import { handOver } from './hand-over.ts';
import { removeOverdue } from './kept-containers.ts';
import { concludeHelper, dismissHelper, type Helper, helpersIn, isHelperOf, lastWordsOf } from './helpers.ts';
import { longestTransactionMs, whyNotOurs } from './owners.ts';
import { transact } from './transact.ts';

/** What a start found of interrupted updates, and what became of each. */
export type RecoveryReport = {
  readonly transactions: readonly RecoveredTransaction[];
  /** A helper is at our own container: whoever begins something new waits for its end. */
  readonly awaitsHelper?: true;
};

export type RecoveredTransaction = {
  readonly containers: readonly string[];
  /** `finished`: the new version runs; `undone`: the old one; `left`: not ours to touch now; `failed`: tried in vain. */
  readonly result: 'finished' | 'undone' | 'left' | 'failed';
  readonly reason: string;
};

export type RecoveryOrder = {
  /** We are the helper that was made for this transaction, and that is all we do. */
  readonly asHelperFor?: string;
  /** How long we have waited for the helper of our own container. */
  readonly waitedMs?: number;
  /** Hears what the engine holds before anything is done. */
  readonly onListed?: ((containers: readonly ContainerSummary[]) => void) | undefined;
};

/**
 * Finishes or undoes what interrupted updates left, from the engine's state alone. Where nothing was
 * left it makes no state-changing call. Throws a `ServiceError` when the engine cannot be read.
 */
export async function recoverTransactions(
  outside: Outside,
  settings: ServiceSettings,
  signal?: AbortSignal,
  { asHelperFor, waitedMs = 0, onListed }: RecoveryOrder = {},
): Promise<RecoveryReport> {
  const [info, listed] = await Promise.all([outside.engine.info(signal), outside.engine.listContainers({}, signal)]);
  onListed?.(listed);
  const containers = withoutKept(listed);
  const found = await findOpen(outside, containers, info.nowMs);
  const helpers = helpersIn(containers);
  const own = containers.find(({ id }) => id === outside.instance.containerId);
  const transactions: RecoveredTransaction[] = asHelperFor === undefined ? [...found.left] : [];
  let awaitsHelper = false;
  for (const transaction of found.open) {
    const { id, members, owner, ownerContainer, createdAtMs } = transaction;
    if (signal?.aborted) break;
    const helper = helpers.find(({ order }) => isHelperOf(order, transaction));
    const isHelper = asHelperFor !== undefined;
    const isOurOrder = id === asHelperFor || (helper !== undefined && helper.container === own);
    if (isHelper && !isOurOrder) continue;
    const names = members.map(({ name }) => name);
    const reason = isHelper
      ? undefined
      : ((await whyNotOurs(outside, { owner, ownerContainer, ageMs: info.nowMs - createdAtMs })) ??
        (helper && (await whyHelperStays(outside, helper, { own, waitedMs }))));
    if (reason !== undefined) {
      transactions.push({ containers: names, result: 'left', reason });
      awaitsHelper ||= helper !== undefined && isOurs(transaction, own);
      continue;
    }
    const recovered = await recoverOne(outside, settings, names, openOf(transaction, info), isHelper);
    if (recovered === 'handed over') awaitsHelper = true;
    else transactions.push(recovered);
  }
  if (own !== undefined) await concludeHelpers(outside, own, helpers, found.open);
  const isSweeper = asHelperFor === undefined && containers.length < listed.length;
  if (isSweeper) await removeOverdue(outside, settings, signal);
  return awaitsHelper ? { transactions, awaitsHelper } : { transactions };
}

function openOf({ id, members }: FoundTransaction, { liveRestore, abilities }: EngineInfo): OpenTransaction {
  const { changesRestartPolicies } = abilities;
  return { id, members, liveRestore, changesRestartPolicies, successors: new Map(), standIns: new Map() };
}

/** Of the container that we run in, whether as the old one or as its successor. */
function isOurs({ id, members }: FoundTransaction, own: ContainerSummary | undefined): boolean {
  if (own === undefined) return false;
  const reading = readJournal(own.labels);
  return (
    members.some(({ oldId }) => oldId === own.id) || (reading.kind === 'journal' && reading.journal.transaction === id)
  );
}

type Waiting = { readonly own: ContainerSummary | undefined; readonly waitedMs: number };

/**
 * A helper that runs is left to its work. One that does not even begin, or does not come to an end,
 * is given up by the Upkeep whose container it is about; one that does not run, by all.
 */
async function whyHelperStays(
  outside: Outside,
  helper: Helper,
  { own, waitedMs }: Waiting,
): Promise<string | undefined> {
  const { container, order } = helper;
  const hasBegun = own?.id !== order.oldId || own.name !== order.name;
  const isOverdue = waitedMs > (hasBegun ? longestTransactionMs : longestTakeUpMs);
  if (isAlive(container.status) && !isOverdue) return `its helper "${container.name}" is at it`;
  const words = await lastWordsOf(outside, container.id);
  const why = await dismissHelper(outside, helper);
  const fields = { helper: container.name, status: container.status, log: words };
  if (why === undefined) outside.log.warn('The helper that was to update Upkeep itself is given up', fields);
  return why;
}

/** A container starts in seconds, also on a small machine under load. */
const longestTakeUpMs = 120_000;

async function concludeHelpers(
  outside: Outside,
  own: ContainerSummary,
  helpers: readonly Helper[],
  open: readonly FoundTransaction[],
): Promise<void> {
  for (const helper of helpers) {
    const isOver = !open.some((transaction) => isHelperOf(helper.order, transaction));
    if (isOver && helper.order.name === own.name) await concludeHelper(outside, helper, own);
  }
}

async function recoverOne(
  outside: Outside,
  settings: ServiceSettings,
  names: readonly string[],
  transaction: OpenTransaction,
  isHelper: boolean,
): Promise<RecoveredTransaction | 'handed over'> {
  if (!isHelper) outside.log.info('an interrupted update was found, repairing it', { containers: names });
  try {
    const { result, reason, facts, failedImages, logs } = await transact({
      outside,
      settings,
      transaction,
      prepared: undefined,
      handedOver: isHelper ? 'taken' : undefined,
      onPhase: () => {},
    });
    if (result === 'aside') return await handOn(outside, names, transaction);
    for (const log of logs.values()) outside.log.warn('The last lines that the new version has written', { log });
    const failures = transaction.members.flatMap(({ name, oldId, oldImageId }) => {
      const failedImageId = failedImages.get(oldId);
      return failedImageId === undefined ? [] : [{ name, oldImageId, failedImageId }];
    });
    await rememberFailures(outside, failures);
    if (result === 'stuck') return { containers: names, result: 'failed', reason };
    const displaced = facts?.members.find((member) => member.nameHeldBy === 'stranger' && member.old !== undefined);
    if (displaced !== undefined) {
      return {
        containers: names,
        result: 'left',
        reason: `another container holds the name "${displaced.name}"; the old one stays parked and stopped beside it`,
      };
    }
    return {
      containers: names,
      result: result === 'committed' || facts?.members.every(isReplaced) ? 'finished' : 'undone',
      reason: reason === '' && !isHelper ? 'the update had been interrupted' : reason,
    };
  } catch (error) {
    outside.log.error('an interrupted update could not be repaired', { containers: names, error });
    return { containers: names, result: 'failed', reason: describeError(error) };
  }
}

/** Nothing of the old one was left to bring back: what has its name is the version that came after it. */
function isReplaced({ old, new: successor, nameHeldBy }: MemberFacts): boolean {
  return old === undefined && (successor?.place === 'name' || nameHeldBy !== 'nobody');
}

/** What is left to do would stop the container that we run in. */
async function handOn(
  outside: Outside,
  names: readonly string[],
  { id, members }: OpenTransaction,
): Promise<RecoveredTransaction | 'handed over'> {
  const [member] = members;
  if (member === undefined || id === '') return { containers: names, result: 'left', reason: 'it is Upkeep itself' };
  const { name, oldId, oldImageId, newImageId, reference } = member;
  const failure = await handOver(outside, { transaction: id, name, oldId, oldImageId, newImageId, reference });
  return failure === undefined ? 'handed over' : { containers: names, result: 'failed', reason: failure };
}
