import { readOwnWays, objectErrorOrThrow } from '../engine/listing.ts';
import type { RecoveredTransaction, RecoveryReport } from '../../domain/run/event.ts';
import {
  isAlive,
  restartPolicyOf,
  type ContainerSummary,
  samePolicy,
  noRestart,
} from '../../domain/container/container.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import { imageLabelsIn, indexImages } from '../../domain/container/lookup.ts';
import { isKeptByUpdate, keptAmong, withoutKept, nameIsTaken } from '../../domain/recovery/leftovers.ts';
import {
  isMarkOf,
  keptMarksOf,
  parseKeptName,
  parseTransactionName,
  transactionName,
  type TransactionMark,
} from '../../domain/transaction/transaction-names.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { opened, settleWithinMs, strayAfterMs, untag, type OpenTransaction } from '../transaction/open-transaction.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { findOpen, whyNotOurs, type Found, type FoundTransaction, type OwnerVerdict } from './find-open.ts';
import { removeOverdue } from '../transaction/cleanup.ts';
import {
  helpersIn,
  isHelperOf,
  withRecipients,
  concludeHelpers,
  whyHelperKept,
  type Helper,
  type EndedHelper,
} from './end-helper.ts';
import type { OwnWays, OwnWay } from '../../domain/self-update/own-ways.ts';
import type { StepContext } from '../transaction/create-successor.ts';
import type { BackgroundRepairs, RepairResult } from './background-repairs.ts';
import { policyWhileUnproven } from '../../domain/transaction/member.ts';
import { dataOfLabel, dataVolumeNames } from '../../domain/transaction/data-helper.ts';
import { isFailure } from '../../domain/outside/engine.ts';
import { describeError } from '../../domain/text/errors.ts';
import { followedTag } from '../transaction/facts.ts';
import type { MemberFacts } from '../../domain/transaction/facts.ts';
import {
  failuresOf,
  rememberFailures,
  leftToNextStart,
  describeLostLinks,
  linksOfSuccessors,
} from '../transaction/outcomes.ts';
import { handOver } from '../transaction/hand-over.ts';
import { transact } from '../transaction/transact.ts';

export type RecoveryOrder = {
  /** Names whose journals are trusted without the seal of our key, because a person asked for it. */
  readonly unsealed?: readonly string[];
  /** The choice of a person for these containers, whose data cannot be restored. */
  readonly dataChoice?: { readonly names: readonly string[]; readonly choice: 'keep-new' | 'without-data' };
  /** Set in a helper: the only transaction that it may repair. */
  readonly asHelperFor?: string;
  readonly whyDoorClosed?: StepContext['whyDoorClosed'];
  /** The only transaction that is attended to, by its id. The end of its helper is passed on, and is no event. */
  readonly awaited?: { readonly transaction: string; readonly onEnded: (ended: EndedHelper) => void };
  /** Set when this process has tried before. */
  readonly isAgain?: boolean;
  /** Time already spent waiting for the helper of our own container. */
  readonly waitedMs?: number;
  /** Called with the listed containers before any repair. */
  readonly onListed?: ((containers: readonly ContainerSummary[]) => void) | undefined;
  /** Called before the repair of each transaction; the returned function is called after it. */
  readonly onRepair?: (() => () => void) | undefined;
  /** Set in a service: where repairs go on that wait for containers. Absent: the recovery waits for their ends. */
  readonly background?: BackgroundOrder | undefined;
};

type BackgroundOrder = {
  readonly repairs: BackgroundRepairs;
  /** Called with the result of a repair that was reported as under way. */
  readonly onEnd: (transaction: RecoveredTransaction) => void;
};

/**
 * Finishes or undoes interrupted updates, from the engine's state alone. Without remains it changes nothing. Throws a
 * `ServiceError` when the engine cannot be read.
 */
export async function recoverTransactions(
  outside: Outside,
  settings: ServiceSettings,
  signal?: AbortSignal,
  {
    asHelperFor,
    whyDoorClosed,
    awaited,
    waitedMs = 0,
    onListed,
    onRepair,
    unsealed = [],
    isAgain,
    background,
    dataChoice,
  }: RecoveryOrder = {},
): Promise<RecoveryReport> {
  const [info, listed] = await Promise.all([outside.engine.info(signal), outside.engine.listContainers({}, signal)]);
  onListed?.(listed);
  const containers = withoutKept(listed);
  const found = await findOpen(outside, containers, { unsealed });
  const helpers = helpersIn(outside, containers, found.images);
  const own = containers.find(({ id }) => id === outside.instance.containerId);
  const isHelper = asHelperFor !== undefined;
  const ways = isHelper || found.open.length === 0 ? new Map() : await readOwnWays(outside, listed, signal);
  const messageOf = async (error: unknown) => (await objectErrorOrThrow(outside.engine, error, signal)).message;
  const imageLabelsOf = imageLabelsIn(indexImages(found.images));
  const holderOf = ({ order }: Helper) => containers.find(({ name }) => name === order.name);
  let awaitsHelper = false;

  async function recoverTransaction(transaction: FoundTransaction): Promise<readonly RecoveredTransaction[]> {
    const { id, members } = transaction;
    // The update is not interrupted: it runs here, through another name of this engine. A mark alone has no id.
    const isUnderWayHere = id !== '' && outside.instance.transactions.has(id);
    if (signal?.aborted || isUnderWayHere) return [];
    const helper = helpers.find(({ order }) => isHelperOf(order, transaction));
    if (awaited !== undefined && awaited.transaction !== (helper?.order.transaction ?? id)) return [];
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
        : await whyHelperKept(outside, helper, { holder: holderOf(helper), waitedMs }).catch(messageOf);
    const reason = owned?.reason ?? helped;
    if (reason !== undefined) {
      awaitsHelper ||= helper !== undefined && (isOurs(transaction, own) || isAwaitedBy(helper, own));
      return [{ containers: names, result: 'left', reason, ...(owned?.isPending ? { isPending: true } : {}) }];
    }
    const isBackgroundFull = background?.repairs.isFull() === true;
    if (isBackgroundFull) return [{ containers: names, result: 'left', reason: tooMany, isPending: true }];
    const recovered = await repair(transaction, names);
    if (recovered === undefined) return [{ containers: names, result: 'left', reason: goesOn, isUnderWay: true }];
    if (recovered !== 'handed over') return [recovered];
    awaitsHelper = true;
    return [];
  }

  /** Undefined when the repair goes on in the background. No other update begins during the one of Upkeep itself, or of a door. */
  function repair(transaction: FoundTransaction, names: readonly string[]): Promise<RepairResult | undefined> {
    const onRepaired = onRepair?.();
    const choice = dataChoice?.names.some((name) => names.includes(name)) ? dataChoice.choice : undefined;
    // A helper may go on with an update whose mark it removed before it was killed: that update is marked again.
    const isUnmarked = transaction.marks.size === 0 && (!isHelper || transaction.members.every((one) => one.hasNoMark));
    const setsNoMarks = isUnmarked ? true : undefined;
    const order = {
      names,
      transaction: opened({ ...transaction, setsNoMarks }, info),
      isHelper,
      isAgain,
      ways,
      whyDoorClosed,
      choice,
    };
    const isForHelper = isOurs(transaction, own) || concerns(ways, transaction);
    if (background === undefined || isHelper || isForHelper)
      return repairTransaction(outside, settings, { ...order, signal }).finally(onRepaired);
    return background.repairs.begin(
      names,
      ({ ending, ...parts }) =>
        repairTransaction({ ...outside, ending }, settings, { ...order, ...parts }).finally(onRepaired),
      (result) => {
        if (result !== 'handed over') background.onEnd(withRecipients(result, listed, imageLabelsOf));
      },
      signal,
    );
  }

  const attended = await mapConcurrently(found.open, repairsAtOnce, recoverTransaction);
  const marked = keptMarksOf(found.images);
  const left = isHelper
    ? []
    : [...found.left, ...unprovenAmong({ containers: listed, marked, imageLabelsOf, seal: outside.seal })];
  const helpersLeft: RecoveredTransaction[] = [];
  if (own !== undefined && !isHelper)
    await concludeHelpers(outside, own, helpers, { open: found.open, containers, imageLabelsOf, awaited });
  if (!isHelper) {
    const isOfUpdateHere = (mark: Pick<TransactionMark, 'transactionKey'>) =>
      [...outside.instance.transactions].some((id) => isMarkOf(mark, id));
    const readAgain = async () => {
      const again = await outside.engine.listContainers({}, signal);
      const { stray, strayHelpers } = await findOpen(outside, withoutKept(again), { unsealed });
      return {
        marks: stray.filter((mark) => !isOfUpdateHere(mark)),
        helpers: strayHelpers.filter((mark) => !isOfUpdateHere(mark)),
      };
    };
    const { stray: marks, strayHelpers } = found;
    const stray = { marks, helpers: strayHelpers, readAgain, liveRestore: info.liveRestore };
    helpersLeft.push(...(await settleStray(outside, stray, signal)));
    const isKeeping = containers.length < listed.length || marked.size > 0;
    if (isKeeping) await removeOverdue(outside, settings, signal);
  }
  const transactions = [...left.map(leftAlone), ...attended.flat(), ...helpersLeft].map((one) =>
    withRecipients(one, listed, imageLabelsOf),
  );
  return awaitsHelper ? { transactions, awaitsHelper } : { transactions };
}

const goesOn = 'the health of its new version is being checked; other containers can be updated meanwhile';

const tooMany = 'repair pending: too many other repairs wait for their containers';

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

function concerns(ways: OwnWays, { members, successors }: FoundTransaction): boolean {
  return members.some(({ oldId }) => ways.has(oldId) || ways.has(successors.get(oldId) ?? ''));
}

function isAwaitedBy({ order }: Helper, own: ContainerSummary | undefined): boolean {
  return own !== undefined && order.waiting === own.name;
}

/** Whether the transaction concerns our own container, as the old one or as its successor. */
function isOurs({ id, members }: FoundTransaction, own: ContainerSummary | undefined): boolean {
  if (own === undefined) return false;
  const reading = readJournal(own.labels);
  return (
    members.some(({ oldId }) => oldId === own.id) || (reading.kind === 'journal' && reading.journal.transaction === id)
  );
}

type StrayRemains = { readonly marks: readonly TransactionMark[]; readonly helpers: Found['strayHelpers'] };

type Stray = StrayRemains & {
  /** Reads again, after the pause, what is stray. */
  readonly readAgain: () => Promise<StrayRemains>;
  readonly liveRestore: boolean;
};

/**
 * Removes marks without any other remains: the update died before it had created a container, or a person has removed
 * the successor. The tag and the policy that the update had changed are restored. A mark that another instance has just
 * set stays. Then removes helpers that copied data for such an update, and returns those that are left.
 */
async function settleStray(
  outside: Outside,
  stray: Stray,
  signal?: AbortSignal,
): Promise<readonly RecoveredTransaction[]> {
  if (stray.marks.length === 0 && stray.helpers.length === 0) return [];
  const left: RecoveredTransaction[] = [];
  try {
    await outside.clock.sleep(strayAfterMs, signal);
    const before = new Set([...stray.marks, ...stray.helpers].map(({ tag }) => tag));
    const readAtMs = outside.clock.monotonicMs();
    const again = await stray.readAgain();
    for (const mark of again.marks) {
      if (!before.has(mark.tag) || signal?.aborted) continue;
      await settle(outside, mark, { ...stray, untilMs: readAtMs + settleWithinMs });
    }
    for (const helper of again.helpers) {
      if (!before.has(helper.tag) || signal?.aborted) continue;
      const reason = await removeStrayHelper(outside, helper);
      if (reason !== undefined && helper.container !== undefined)
        left.push({ containers: [helper.container.name], result: 'left', reason, isPending: true });
    }
  } catch (error) {
    if (!signal?.aborted) outside.log.warn('Marks of interrupted updates stay', { error: describeError(error) });
  }
  return left;
}

/**
 * Removes a helper of data, its mark and the reserve of its update. A copy stays: it may be all that is left of the
 * data. A helper that runs is left to its end, because a restore must not be interrupted. Resolves to the reason if
 * it stays.
 */
async function removeStrayHelper(
  outside: Outside,
  { helperId, tag, container, ...mark }: Found['strayHelpers'][number],
): Promise<string | undefined> {
  const { engine, log } = outside;
  const current = container && (await engine.inspectContainer(helperId));
  if (current !== undefined && isAlive(current.state.status))
    return 'repair pending: this helper of an update still copies data, and is removed when it has ended';
  const removed = current && (await engine.removeContainer(helperId));
  if (removed !== undefined && isFailure(removed)) return `repair pending: it cannot be removed: ${removed.message}`;
  await untag(outside, tag);
  const copies: string[] = [];
  for (const { name, labels } of await engine.listVolumes(dataOfLabel)) {
    const transaction = labels[dataOfLabel] ?? '';
    if (!isMarkOf(mark, transaction)) continue;
    const leader = name.slice(0, -mark.transactionKey.length - 1).replace(/^upkeep-[a-z]+-/, '');
    const names = dataVolumeNames({ leader, transaction });
    if (name === names.reserve) await engine.removeVolume(name);
    if (name === names.copy) copies.push(name);
  }
  log.info('A helper that copied data for an interrupted update was removed', {
    ...(container && { container: container.name }),
    ...(copies.length > 0 && { copies }),
  });
  return undefined;
}

type Settling = Pick<Stray, 'liveRestore'> & {
  /** By the monotonic clock. After this time the mark may have a container, so only the next start settles it. */
  readonly untilMs: number;
};

async function settle(outside: Outside, mark: TransactionMark, { liveRestore, untilMs }: Settling): Promise<void> {
  const { engine, clock, log } = outside;
  const isLate = () => clock.monotonicMs() > untilMs;
  const old = await engine.inspectContainer(mark.oldId);
  const isInPlace =
    old !== undefined && parseTransactionName(old.name) === undefined && parseKeptName(old.name) === undefined;
  if (isInPlace) {
    const waiting = policyWhileUnproven(mark.policy, liveRestore);
    const isOurs = !samePolicy(waiting, mark.policy) && samePolicy(restartPolicyOf(old), waiting);
    if (isOurs && !isLate()) await engine.updateRestartPolicy(old.id, mark.policy);
    const reference = followedTag(old);
    const mayHaveMoved = reference !== '' && mark.imageId !== old.imageId;
    const tagged = mayHaveMoved ? (await engine.inspectImage(reference))?.id : undefined;
    if (tagged === mark.imageId && !isLate()) await engine.tagImage(old.imageId, reference);
  }
  if (isLate()) return;
  const outcome = await untag(outside, mark.tag);
  log.debug('The mark of an interrupted update was removed', { mark: mark.tag, outcome });
}

type Repair = {
  /** Of its containers. */
  readonly names: readonly string[];
  readonly transaction: OpenTransaction;
  readonly isHelper: boolean;
  /** It was tried before by this process. */
  readonly isAgain?: boolean | undefined;
  readonly ways: OwnWays;
  readonly whyDoorClosed?: StepContext['whyDoorClosed'];
  readonly choice?: NonNullable<RecoveryOrder['dataChoice']>['choice'] | undefined;
  /** See `TransactOptions`. */
  readonly onWait?: (() => void) | undefined;
  /** An abort ends only the wait for an engine that is gone. */
  readonly signal?: AbortSignal | undefined;
};

/** Finishes or undoes one interrupted update. Never throws: an error is the reason of its result. */
async function repairTransaction(
  outside: Outside,
  settings: ServiceSettings,
  { names, transaction, isHelper, isAgain = false, ways, whyDoorClosed, choice, onWait, signal }: Repair,
): Promise<RepairResult> {
  if (!isHelper)
    outside.log[isAgain ? 'debug' : 'info']('An interrupted update was found, repairing it', { containers: names });
  try {
    const links = await linksOfSuccessors(outside, transaction.successors);
    const { result, reason, facts, failedImages, logs, data } = await transact({
      outside,
      settings,
      transaction,
      ways,
      onWait,
      whyDoorClosed,
      dataChoice: choice,
      signal,
      mode: { kind: isHelper ? 'finish-as-helper' : 'recover' },
      onPhase: () => {},
    });
    if (result === 'left') return { containers: names, result: 'left', reason: leftToNextStart, isPending: true };
    if (result === 'needsHelper') {
      const ids = facts?.members.flatMap(({ old, new: successor }) => [old?.id ?? '', successor?.id ?? '']) ?? [];
      const way = ids.map((id) => ways.get(id)).find((found) => found !== undefined);
      return await handOverToHelper(outside, { names, transaction, way, selfUpdate: settings.selfUpdate });
    }
    for (const log of logs.values()) outside.log.warn('The last lines that the new version has written', { log });
    await rememberFailures(outside, failuresOf(transaction, failedImages));
    const restored = data.isRestored ? 'its data restored' : '';
    const withRestored = (why: string) => [why, restored].filter((text) => text !== '').join('; ');
    if (result === 'stuck') return { containers: names, result: 'failed', reason: withRestored(reason) };
    const displaced = facts?.members.find(
      ({ nameHeldBy, old }) => (nameHeldBy === 'stranger' || nameHeldBy === 'copy') && old !== undefined,
    );
    if (displaced !== undefined) {
      return {
        containers: names,
        result: 'left',
        reason: withRestored(
          nameIsTaken(displaced.name, {
            name: transactionNameOf(displaced),
            status: displaced.old?.status ?? 'exited',
          }),
        ),
        isPending: true,
      };
    }
    const isFinished =
      result === 'committed' ||
      (facts?.members.every(isReplaced) === true && !(await isReplicaBack(outside, transaction)));
    const why = reason === '' && !isHelper ? 'the update had been interrupted' : reason;
    const lost = isFinished
      ? []
      : await Promise.all(transaction.members.map(({ oldId }) => describeLostLinks(outside, oldId, links.get(oldId))));
    return { containers: names, result: isFinished ? 'finished' : 'undone', reason: withRestored(why) + lost.join('') };
  } catch (error) {
    outside.log.error('An interrupted update could not be repaired', { containers: names, error });
    return { containers: names, result: 'failed', reason: describeError(error) };
  }
}

function transactionNameOf({ name, policy = noRestart, wasRunning, old }: MemberFacts): string {
  return transactionName({ role: 'old', name, policy, wasRunning, hasData: old?.hasData === true });
}

/** True if the old container cannot come back because a later version has its name. */
function isReplaced({ old, new: successor, nameHeldBy }: MemberFacts): boolean {
  const hasSuccessor = successor?.place === 'name' || nameHeldBy === 'new' || nameHeldBy === 'rival';
  return old === undefined && hasSuccessor;
}

/** Whether a stand-in has the name of its container, so that an earlier repair has undone the update. */
async function isReplicaBack({ engine }: Outside, { id, members }: OpenTransaction): Promise<boolean> {
  const holders = await Promise.all(members.map(({ name }) => engine.inspectContainer(name)));
  return holders.some((holder) => {
    const reading = readJournal(holder?.settings.Config.Labels ?? {});
    return reading.kind === 'journal' && reading.journal.role === 'replica' && reading.journal.transaction === id;
  });
}

type Aside = Pick<Repair, 'names' | 'transaction'> &
  Pick<ServiceSettings, 'selfUpdate'> & {
    /** The door that the next step would stop; undefined for our own container. */
    readonly way: OwnWay | undefined;
  };

/** Hands the transaction to a helper, because its next step would stop our own container, or the engine's door. */
async function handOverToHelper(
  outside: Outside,
  { names, transaction: { id, members }, way, selfUpdate }: Aside,
): Promise<RepairResult> {
  const [member] = members;
  const isPossible = way === undefined || (way.socketOf !== undefined && selfUpdate !== 'off');
  if (member === undefined || id === '' || !isPossible) {
    const reason = way === undefined ? 'it is Upkeep itself' : `it ${way.reason}: ${byHand}`;
    return { containers: names, result: 'left', reason, ...(way !== undefined && { isPending: true }) };
  }
  const { name, oldId, oldImageId, newImageId, reference, files = [] } = member;
  const order = { transaction: id, name, oldId, oldImageId, newImageId, reference };
  const needs = way?.socketOf === undefined ? { files } : { socketOf: way.socketOf };
  const failure = await handOver(outside, order, needs);
  return failure === undefined ? 'handed over' : { containers: names, result: 'failed', reason: failure };
}

const byHand = 'run "upkeep recover" on the host of the engine, with its own socket';
