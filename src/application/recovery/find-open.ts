import { isAlive, type ContainerSummary, type ImageSummary, type Container } from '../../domain/container/container.ts';
import {
  judgeRemains,
  type ConfirmedMember,
  type ConfirmedTransaction,
  type JournaledContainer,
} from '../../domain/recovery/judge-remains.ts';
import { hasValidSeal, readJournal, carriesJournal, transactionLabel } from '../../domain/transaction/journal.ts';
import {
  dataOfLabel,
  dataOrderLabel,
  dataOrderSealLabel,
  parseDataOrder,
  type DataOrder,
} from '../../domain/transaction/data-helper.ts';
import {
  helperMarksOf,
  isMarkOf,
  markTextOf,
  transactionMarksOf,
  plainName,
  parseTransactionName,
  type TransactionMark,
} from '../../domain/transaction/transaction-names.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import type { Member } from '../../domain/transaction/facts.ts';
import { memberFromJournal, memberFromMark, type OpenTransaction } from '../transaction/open-transaction.ts';
import { containerOwnLabels } from '../../domain/image/labels.ts';
import { objectErrorOrThrow } from '../engine/listing.ts';
import { imageLabelsIn, indexImages } from '../../domain/container/lookup.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { effectiveSettings, labelValuesOf, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { maxProofMs, stopAndHealthPolicyOf } from '../health/health.ts';

/** An unfinished transaction as the engine shows it. */
export type FoundTransaction = Pick<
  OpenTransaction,
  'id' | 'members' | 'successors' | 'autoRemoveReplicas' | 'marks' | 'dataHelpers'
> & {
  readonly owner: string;
  readonly ownerContainer: string;
  readonly createdAtMs: number;
};

export type Found = {
  readonly open: readonly FoundTransaction[];
  /** Each reason follows the name. `isUnsealed`: only the seal of our key is missing. */
  readonly left: readonly { readonly name: string; readonly reason: string; readonly isUnsealed?: true }[];
  /** See `RemainsVerdict`. */
  readonly stray: readonly TransactionMark[];
  readonly strayHelpers: readonly StrayHelper[];
  readonly images: readonly ImageSummary[];
};

/** The mark of a helper whose update has no other remains. Without a container, only the mark is left. */
type StrayHelper = ReturnType<typeof helperMarksOf>[number] & { readonly container: ContainerSummary | undefined };

type FindOrder = {
  /** Names whose journals are trusted without the seal of our key. */
  readonly unsealed?: readonly string[];
};

/** Reads the possible remains of updates. `domain/recovery/judge-remains.ts` decides which are real. */
export async function findOpen(
  outside: Outside,
  containers: readonly ContainerSummary[],
  { unsealed = [] }: FindOrder = {},
): Promise<Found> {
  const images = await outside.engine.listImages();
  const trusted = transactionMarksOf(images).filter((mark) => isSealedMark(outside, mark));
  const suspects = suspectsAmong(containers, images, trusted);
  const inspected = await mapConcurrently(suspects.carriers, inspectionsAtOnce, (summary) =>
    readCarrier(outside, summary),
  );
  const carriers = inspected.flatMap((one) => (one !== undefined && 'journal' in one ? [one] : []));
  const broken = inspected.flatMap((one) => (one !== undefined && 'reason' in one ? [one] : []));
  const isTrusted = ({ container, journal }: JournaledContainer) =>
    hasValidSeal(journal, container.settings.Config.Labels ?? {}, outside.seal) || unsealed.includes(journal.name);
  const { olds, unreadable } = await inspectOlds(outside, carriers);
  const unsealedOnes = carriers.filter((carrier) => !isTrusted(carrier));
  const others = [...suspects.foreign, ...unsealedOnes.map(({ container }) => container.name)].map(plainName);
  const othersKeys = [...suspects.foreignIds, ...unsealedOnes.map(({ journal }) => journal.transaction)];
  const isOthers = (mark: TransactionMark) => othersKeys.some((transaction) => isMarkOf(mark, transaction));
  const { open, left, stray } = judgeRemains({
    containers,
    olds,
    unreadable,
    carriers: carriers.filter(isTrusted),
    marks: trusted.filter((mark) => !isOthers(mark)),
  });
  const isOfOthers = (name: string) => others.includes(plainName(name));
  const orders = dataOrdersAmong(outside, containers);
  const helpers = helperMarksOf(images).filter(
    ({ helperId, transactionKey, seal }) =>
      outside.seal === undefined || outside.seal.verify(`helper-${helperId}.${transactionKey}`, seal),
  );
  const found = open.map((transaction) => foundFrom(transaction, orders, helpers));
  // A transaction has its marks until its helpers are removed.
  const marked = transactionMarksOf(images).filter(({ tag }) => !stray.some((mark) => mark.tag === tag));
  const present = [...carriers.map(({ journal }) => journal.transaction), ...othersKeys, ...found.map(({ id }) => id)];
  const isOver = (mark: Pick<TransactionMark, 'transactionKey'>) =>
    !present.some((transaction) => isMarkOf(mark, transaction)) &&
    !marked.some(({ transactionKey }) => transactionKey === mark.transactionKey);
  const proven = new Set(helperMarksOf(images).map(({ helperId }) => helperId));
  const unprovenHelpers = containers.filter(
    ({ id, labels }) =>
      labels[dataOrderLabel] !== undefined && !proven.has(id) && !present.includes(labels[dataOfLabel] ?? ''),
  );
  return {
    open: found,
    left: [
      ...suspects.foreign.map((name) => ({ name, reason: 'carries a journal that this version cannot read' })),
      ...broken,
      ...unsealedOnes.map(describeUnsealed),
      ...left.filter(({ name }) => !isOfOthers(name)),
      ...unprovenHelpers.map(({ name }) => ({
        name,
        reason: 'has the label of a helper that copies data, but nothing shows that Upkeep made it',
      })),
    ],
    stray,
    strayHelpers: helpers.filter(isOver).flatMap((mark): readonly StrayHelper[] => {
      const container = containers.find(({ id }) => id === mark.helperId);
      const isOfData = container === undefined || container.labels[dataOrderLabel] !== undefined;
      return isOfData ? [{ ...mark, container }] : [];
    }),
    images,
  };
}

function isSealedMark({ seal }: Outside, mark: TransactionMark): boolean {
  return seal === undefined || seal.verify(markTextOf(mark), mark.seal);
}

function describeUnsealed({ container, journal }: JournaledContainer): Found['left'][number] {
  return {
    name: container.name,
    reason: `has a journal without the seal of this instance's key: if that update is yours, run "upkeep recover --unsealed ${journal.name}"`,
    isUnsealed: true,
  };
}

/** The orders of data helpers. They are trusted as far as a mark confirms their transaction, and only without a journal. */
function dataOrdersAmong({ seal }: Outside, containers: readonly ContainerSummary[]): readonly DataOrder[] {
  return containers.flatMap(({ labels }) => {
    const text = labels[dataOrderLabel];
    if (text === undefined || (seal !== undefined && !seal.verify(text, labels[dataOrderSealLabel] ?? ''))) return [];
    const order = parseDataOrder(text);
    return order !== undefined && labels[dataOfLabel] === order.transaction ? [order] : [];
  });
}

function foundFrom(
  { id: known, members }: ConfirmedTransaction,
  orders: readonly DataOrder[],
  helpers: ReturnType<typeof helperMarksOf>,
): FoundTransaction {
  const order = orders.find(({ transaction }) =>
    known === ''
      ? members.some(({ mark }) => mark !== undefined && isMarkOf(mark, transaction))
      : transaction === known,
  );
  const id = known === '' ? (order?.transaction ?? '') : known;
  const carriers = members
    .flatMap(({ successor, autoRemoveReplica }) => [successor, autoRemoveReplica])
    .filter((one) => one !== undefined);
  const journal = carriers[0]?.journal;
  const ids = (part: 'successor' | 'autoRemoveReplica') =>
    new Map(members.flatMap((member) => (member[part] ? [[member.oldId, member[part].container.id] as const] : [])));
  return {
    id,
    members: members.map((member) => withDataOf(partOf(member), known === '' ? order : undefined)),
    dataHelpers: new Map(helpers.filter((mark) => isMarkOf(mark, id)).map(({ helperId, tag }) => [helperId, tag])),
    successors: ids('successor'),
    autoRemoveReplicas: ids('autoRemoveReplica'),
    marks: new Map(members.flatMap(({ oldId, mark }) => (mark ? [[oldId, mark.tag] as const] : []))),
    owner: journal?.owner ?? '',
    ownerContainer: journal?.ownerContainer ?? '',
    createdAtMs: Math.max(0, ...carriers.map(({ container }) => container.createdAtMs)),
  };
}

function withDataOf(member: Member, order: DataOrder | undefined): Member {
  const isIts = order?.members.some(({ oldId }) => oldId === member.oldId) === true;
  return isIts && member.data === undefined ? { ...member, data: order.data } : member;
}

function partOf({ name, oldId, successor, autoRemoveReplica, mark }: ConfirmedMember): Member {
  const journal = (successor ?? autoRemoveReplica)?.journal;
  if (journal === undefined) return memberFromMark(name, oldId, mark);
  // A mark cannot be forged, and the mark of a rollback is newer than the journal of the update that it undoes.
  const fromMark = mark && { policy: mark.policy, wasRunning: mark.wasRunning };
  return { ...memberFromJournal(journal), ...fromMark };
}

/**
 * Reads a container's own journal. A journal in the image's labels does not count: an image that was committed from an
 * updated container has one. A container that cannot be inspected stays unrepaired.
 */
async function readCarrier(
  outside: Outside,
  { id, name }: ContainerSummary,
): Promise<JournaledContainer | { readonly name: string; readonly reason: string } | undefined> {
  const container = await inspectAlone(outside, id);
  if (container === undefined || typeof container === 'string')
    return container === undefined ? undefined : { name, reason: `cannot be inspected: ${container}` };
  const reading = readJournal(containerOwnLabels(container.settings.Config.Labels ?? {}, container.imageLabels ?? {}));
  return reading.kind === 'journal' ? { container, journal: reading.journal } : undefined;
}

/** Inspects old containers. Kept ones are not in `containers`, but they still exist. */
async function inspectOlds(
  outside: Outside,
  carriers: readonly JournaledContainer[],
): Promise<{ readonly olds: ReadonlyMap<string, Container>; readonly unreadable: ReadonlySet<string> }> {
  const named = [...new Set(carriers.map(({ journal }) => journal.oldId))];
  const read = await mapConcurrently(named, inspectionsAtOnce, async (id) => ({
    id,
    old: await inspectAlone(outside, id),
  }));
  const olds = read.flatMap(({ id, old }) =>
    old === undefined || typeof old === 'string' ? [] : [[id, old] as const],
  );
  const unreadable = read.flatMap(({ id, old }) => (typeof old === 'string' ? [id] : []));
  return { olds: new Map(olds), unreadable: new Set(unreadable) };
}

/** The engine's error as text, when it answers but not about this container. */
async function inspectAlone({ engine }: Outside, id: string): Promise<Container | string | undefined> {
  try {
    return await engine.inspectContainer(id);
  } catch (error) {
    return (await objectErrorOrThrow(engine, error, undefined)).message;
  }
}

type Suspects = {
  readonly carriers: readonly ContainerSummary[];
  /** Names of containers with an unreadable journal, and the transactions in it. */
  readonly foreign: readonly string[];
  readonly foreignIds: readonly string[];
};

/**
 * Containers that need an inspection. They are few: the journal of a finished update stays on its container without
 * effect.
 */
function suspectsAmong(
  containers: readonly ContainerSummary[],
  images: readonly ImageSummary[],
  marked: readonly TransactionMark[],
): Suspects {
  const imageLabelsOf = imageLabelsIn(indexImages(images));
  const present = new Set([...containers.map(({ id }) => id), ...marked.map(({ oldId }) => oldId)]);
  const carrying = containers.filter(({ labels }) => carriesJournal(labels));
  const read = carrying.map((container) => {
    // An image may have been removed by force while its container exists. The container still starts, and all its
    // labels count as its own.
    const labels = containerOwnLabels(container.labels, imageLabelsOf(container) ?? {});
    return { container, labels, given: parseTransactionName(container.name), reading: readJournal(labels) };
  });
  // Transactions without their old container: the other carrier, at its plain name, shows whether the update is over.
  const withoutOld = new Set<string>();
  for (const { given, reading } of read)
    if (reading.kind === 'journal' && (given?.role === 'bad' || (given && reading.journal.role === 'replica')))
      withoutOld.add(reading.journal.oldId);
  const carriers = read.filter(({ given, reading }) => {
    if (reading.kind !== 'journal') return false;
    const isParked = given?.role === 'old' || given?.role === 'drop';
    // The journal of an earlier update, on a container that this transaction replaces.
    if (isParked && reading.journal.role === 'successor') return false;
    return given !== undefined || present.has(reading.journal.oldId) || withoutOld.has(reading.journal.oldId);
  });
  const foreign = read.filter(({ given, reading }) => given !== undefined && reading.kind === 'foreign');
  return {
    carriers: carriers.map(({ container }) => container),
    foreign: foreign.map(({ container }) => container.name),
    foreignIds: foreign.map(({ labels }) => labels[transactionLabel] ?? ''),
  };
}

export type OwnerVerdict = {
  readonly reason: string;
  /** No owner is known to be alive: a later run or a person repairs it. */
  readonly isPending: boolean;
};

/**
 * Why this process must not touch a transaction. Undefined when no other process works on it. An owner that is a
 * process of this machine, or a container of this engine, is looked up there. Any other owner would change something in
 * the engine within its longest wait; after that time without a change it counts as dead.
 */
export async function whyNotOurs(
  outside: Outside,
  settings: ServiceSettings,
  transaction: FoundTransaction,
  nowMs: number,
): Promise<OwnerVerdict | undefined> {
  const { owner, ownerContainer, createdAtMs } = transaction;
  if (owner === '') return undefined;
  const state = outside.instance.ownerState(owner);
  const atWork = { reason: 'another Upkeep instance is updating it', isPending: false };
  if (state === 'alive') return atWork;
  if (state !== 'unknown') return undefined;
  if (ownerContainer !== '') return (await runsInAnother(outside, ownerContainer, createdAtMs)) ? atWork : undefined;
  const { lastSignMs, maxPauseMs } = await lastActivity(outside, settings, transaction);
  const waitMs = lastSignMs + maxPauseMs - nowMs;
  if (lastSignMs > nowMs || waitMs <= 0) return undefined;
  const when = formatDuration(Math.ceil(waitMs / 1000) * 1000);
  return {
    reason: `repair pending: another Upkeep instance may be updating it; it is taken over in ${when}`,
    isPending: true,
  };
}

/**
 * Whether the owner runs in another container of this engine. A container that was started later is not the owner.
 */
async function runsInAnother(
  { engine, instance }: Outside,
  id: string,
  transactionCreatedAtMs: number,
): Promise<boolean> {
  if (id === instance.containerId) return false;
  const container = await engine.inspectContainer(id);
  if (container === undefined || !isAlive(container.state.status)) return false;
  return !(Date.parse(container.state.startedAt) > transactionCreatedAtMs);
}

type Signs = {
  /** The last change to one of its containers, by the engine's clock. */
  readonly lastSignMs: number;
  /** The longest time that an owner waits without a change. */
  readonly maxPauseMs: number;
};

async function lastActivity(
  { engine }: Outside,
  settings: ServiceSettings,
  { members, successors, autoRemoveReplicas, createdAtMs }: FoundTransaction,
): Promise<Signs> {
  let lastSignMs = createdAtMs;
  let maxMs = 0;
  const copiesData = members.some(({ data }) => data !== undefined);
  const ids = [...members.map(({ oldId }) => oldId), ...successors.values(), ...autoRemoveReplicas.values()];
  for (const id of ids) {
    const container = await engine.inspectContainer(id);
    if (container === undefined) continue;
    const { startedAt, finishedAt } = container.state;
    const times = [Date.parse(startedAt), Date.parse(finishedAt)].filter((time) => time > 0);
    lastSignMs = Math.max(lastSignMs, container.createdAtMs, ...times);
    maxMs = Math.max(maxMs, maxSilenceMs(container, settings, copiesData));
  }
  return { lastSignMs, maxPauseMs: maxMs + marginMs };
}

/**
 * The longest wait of a step, in which an update shows no sign of life: for a stop, a copy of the data or a health check.
 * Hooks have their own timeouts, which are usually short.
 */
function maxSilenceMs(container: Container, settings: ServiceSettings, copiesData: boolean): number {
  const policy = stopAndHealthPolicyOf(container, settings);
  const { dataTimeoutMs } = effectiveSettings(settings, labelValuesOf(container));
  return Math.max(policy.stop.timeoutSeconds * 1000, maxProofMs(container, policy), copiesData ? dataTimeoutMs : 0);
}

/** Time for the calls in between on a busy engine. */
const marginMs = 60_000;
