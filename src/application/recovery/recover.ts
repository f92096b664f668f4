import type { MemberFacts } from '../../domain/transaction/facts.ts';
import type { RecoveryReport, RecoveredTransaction } from '../../domain/run/recovery-report.ts';
import { type ContainerSummary, isAlive } from '../../domain/container/container.ts';
import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import { type ImageLabelsOf, imageLabelsIn, indexImages } from '../../domain/container/image-index.ts';
import { isKeptByUpdate, keptAmong, withoutKept } from '../../domain/rollback/kept-containers.ts';
import { keptMarksOf } from '../../domain/transaction/transaction-mark.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { failuresOf, rememberFailures } from '../transaction/failed-versions.ts';
import { opened, type OpenTransaction } from '../transaction/facts/facts.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { type Found, findOpen, type FoundTransaction } from './find-open.ts';
import { handOver } from '../transaction/hand-over.ts';
import { removeOverdue } from '../cleanup/kept-containers.ts';
import { concludeHelper, dismissHelper, type Helper, helpersIn, isHelperOf, lastWordsOf } from './helpers.ts';
import { objectErrorOrThrow } from '../engine/object-error.ts';
import { linksOfSuccessors, describeLostLinks } from '../transaction/lost-links.ts';
import { longestTransactionMs, type OwnerVerdict, whyNotOurs } from './owners.ts';
import { withRecipients } from './recipients.ts';
import { settleStrayMarks } from './stray-marks.ts';
import { transact } from '../transaction/transact.ts';

export type RecoveryOrder = {
  /** Names whose journals are trusted without the seal of our key, because a person asked for it. */
  readonly unsealed?: readonly string[];
  /** Set in a helper: the only transaction that it may repair. */
  readonly asHelperFor?: string;
  /** Time already spent waiting for the helper of our own container. */
  readonly waitedMs?: number;
  /** Called with the listed containers before any repair. */
  readonly onListed?: ((containers: readonly ContainerSummary[]) => void) | undefined;
  /** Called before the repair of each transaction; the returned function is called after it. */
  readonly onRepair?: (() => () => void) | undefined;
};

/**
 * Finishes or undoes interrupted updates, from the engine's state alone. Without remains it changes nothing. Throws a
 * `ServiceError` when the engine cannot be read.
 */
export async function recoverTransactions(
  outside: Outside,
  settings: ServiceSettings,
  signal?: AbortSignal,
  { asHelperFor, waitedMs = 0, onListed, onRepair, unsealed = [] }: RecoveryOrder = {},
): Promise<RecoveryReport> {
  const [info, listed] = await Promise.all([outside.engine.info(signal), outside.engine.listContainers({}, signal)]);
  onListed?.(listed);
  const containers = withoutKept(listed);
  const found = await findOpen(outside, containers, { unsealed });
  const helpers = helpersIn(outside, containers, found.images);
  const own = containers.find(({ id }) => id === outside.instance.containerId);
  const isHelper = asHelperFor !== undefined;
  const messageOf = async (error: unknown) => (await objectErrorOrThrow(outside.engine, error, signal)).message;
  let awaitsHelper = false;

  async function recoverTransaction(transaction: FoundTransaction): Promise<readonly RecoveredTransaction[]> {
    const { id, members } = transaction;
    if (signal?.aborted) return [];
    const helper = helpers.find(({ order }) => isHelperOf(order, transaction));
    const isOurOrder = id === asHelperFor || (helper !== undefined && helper.container === own);
    if (isHelper && !isOurOrder) return [];
    const names = members.map(({ name }) => name);
    const owned: OwnerVerdict | undefined = isHelper
      ? undefined
      : await whyNotOurs(outside, settings, transaction, info.nowMs).catch(
          async (error: unknown): Promise<OwnerVerdict> => ({ reason: await messageOf(error), isPending: true }),
        );
    const helped =
      isHelper || owned !== undefined || helper === undefined
        ? undefined
        : await whyHelperKept(outside, helper, { own, waitedMs }).catch(messageOf);
    const reason = owned?.reason ?? helped;
    if (reason !== undefined) {
      awaitsHelper ||= helper !== undefined && isOurs(transaction, own);
      return [{ containers: names, result: 'left', reason, ...(owned?.isPending ? { isPending: true } : {}) }];
    }
    const onRepaired = onRepair?.();
    const recovered = await recoverOne(outside, settings, names, opened(transaction, info), isHelper).finally(
      onRepaired,
    );
    if (recovered !== 'handed over') return [recovered];
    awaitsHelper = true;
    return [];
  }

  const attended = await mapConcurrently(found.open, repairsAtOnce, recoverTransaction);
  const imageLabelsOf = imageLabelsIn(indexImages(found.images));
  const marked = keptMarksOf(found.images);
  const left = isHelper ? [] : [...found.left, ...unprovenAmong({ containers: listed, marked, imageLabelsOf })];
  const transactions = [...left.map(leftAlone), ...attended.flat()].map((one) =>
    withRecipients(one, listed, imageLabelsOf),
  );
  if (own !== undefined) await concludeHelpers(outside, own, helpers, { open: found.open, imageLabelsOf });
  if (!isHelper) {
    const readAgain = async () => {
      const again = await outside.engine.listContainers({}, signal);
      return (await findOpen(outside, withoutKept(again), { unsealed })).stray;
    };
    const { stray: marks } = found;
    await settleStrayMarks(outside, { marks, readAgain, liveRestore: info.liveRestore }, signal);
    const isKeeping = containers.length < listed.length || marked.size > 0;
    if (isKeeping) await removeOverdue(outside, settings, signal);
  }
  return awaitsHelper ? { transactions, awaitsHelper } : { transactions };
}

/** Repairs run side by side, because one may wait long for a slow stop. */
const repairsAtOnce = 8;

function unprovenAmong(world: Parameters<typeof isKeptByUpdate>[1]): Found['left'] {
  const reason = 'has the name of a kept container, but nothing shows that Upkeep gave it';
  return keptAmong(world.containers).flatMap((one) =>
    isKeptByUpdate(one, world) ? [] : [{ name: one.container.name, reason }],
  );
}

function leftAlone({ name, reason, isUnsealed }: Found['left'][number]): RecoveredTransaction {
  const kind = isUnsealed ? { isPending: true as const } : { looksAlike: true as const };
  return { containers: [name], result: 'left', reason: `it ${reason}`, ...kind };
}

/** Whether the transaction concerns our own container, as the old one or as its successor. */
function isOurs({ id, members }: FoundTransaction, own: ContainerSummary | undefined): boolean {
  if (own === undefined) return false;
  const reading = readJournal(own.labels);
  return (
    members.some(({ oldId }) => oldId === own.id) || (reading.kind === 'journal' && reading.journal.transaction === id)
  );
}

type Waiting = { readonly own: ContainerSummary | undefined; readonly waitedMs: number };

/**
 * Why the helper stays; undefined after its removal. A running helper stays until it is overdue, which only an Upkeep
 * that waits for it can notice. Every Upkeep removes a stopped one.
 */
async function whyHelperKept(
  outside: Outside,
  helper: Helper,
  { own, waitedMs }: Waiting,
): Promise<string | undefined> {
  const { container, order } = helper;
  const hasBegun = own?.id !== order.oldId || own.name !== order.name;
  const isOverdue = waitedMs > (hasBegun ? longestTransactionMs : longestTakeUpMs);
  if (isAlive(container.status) && !isOverdue) return `its helper "${container.name}" is updating it`;
  const words = await lastWordsOf(outside, container.id);
  const why = await dismissHelper(outside, helper);
  const fields = { helper: container.name, status: container.status, log: words };
  if (why === undefined) outside.log.warn('The helper that was to update Upkeep itself is given up', fields);
  return why;
}

/** A container starts within seconds, even on a small machine under load. */
const longestTakeUpMs = 120_000;

async function concludeHelpers(
  outside: Outside,
  own: ContainerSummary,
  helpers: readonly Helper[],
  { open, imageLabelsOf }: Pick<Found, 'open'> & { readonly imageLabelsOf: ImageLabelsOf },
): Promise<void> {
  for (const helper of helpers) {
    const isOver = !open.some((transaction) => isHelperOf(helper.order, transaction));
    if (isOver && helper.order.name === own.name) await concludeHelper(outside, helper, own, imageLabelsOf);
  }
}

async function recoverOne(
  outside: Outside,
  settings: ServiceSettings,
  names: readonly string[],
  transaction: OpenTransaction,
  isHelper: boolean,
): Promise<RecoveredTransaction | 'handed over'> {
  if (!isHelper) outside.log.info('An interrupted update was found, repairing it', { containers: names });
  try {
    const links = await linksOfSuccessors(outside, transaction.successors);
    const { result, reason, facts, failedImages, logs } = await transact({
      outside,
      settings,
      transaction,
      mode: { kind: isHelper ? 'finish-as-helper' : 'recover' },
      onPhase: () => {},
    });
    if (result === 'aside') return await handOverToHelper(outside, names, transaction);
    for (const log of logs.values()) outside.log.warn('The last lines that the new version has written', { log });
    await rememberFailures(outside, failuresOf(transaction, failedImages));
    if (result === 'stuck') return { containers: names, result: 'failed', reason };
    const displaced = facts?.members.find(
      ({ nameHeldBy, old }) => (nameHeldBy === 'stranger' || nameHeldBy === 'copy') && old !== undefined,
    );
    if (displaced !== undefined) {
      return {
        containers: names,
        result: 'left',
        reason: `another container holds the name "${displaced.name}"; the old container stays parked and stopped`,
      };
    }
    const isFinished = result === 'committed' || facts?.members.every(isReplaced) === true;
    const why = reason === '' && !isHelper ? 'the update had been interrupted' : reason;
    const lost = isFinished
      ? []
      : await Promise.all(transaction.members.map(({ oldId }) => describeLostLinks(outside, oldId, links.get(oldId))));
    return { containers: names, result: isFinished ? 'finished' : 'undone', reason: why + lost.join('') };
  } catch (error) {
    outside.log.error('An interrupted update could not be repaired', { containers: names, error });
    return { containers: names, result: 'failed', reason: describeError(error) };
  }
}

/** True if the old container cannot come back because a later version has its name. */
function isReplaced({ old, new: successor, nameHeldBy }: MemberFacts): boolean {
  const hasSuccessor = successor?.place === 'name' || nameHeldBy === 'new' || nameHeldBy === 'rival';
  return old === undefined && hasSuccessor;
}

/** Hands the transaction to a helper, because its next step would stop our own container. */
async function handOverToHelper(
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
