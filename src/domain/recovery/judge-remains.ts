import {
  parseTransactionName,
  isMarkOf,
  isAutoRemoveReplicaName,
  parseKeptName,
  type TransactionMark,
  type TransactionName,
} from '../transaction/transaction-names.ts';
import { removesItself, type Journal } from '../transaction/journal.ts';
import { isImageId } from '../check/container-reference.ts';
import { type Container, type ContainerSummary, samePolicy } from '../container/container.ts';
import { sameRepository, tryParseImageReference } from '../image/image-reference.ts';
import { isExcluded, labelValuesOf } from '../settings/effective-settings.ts';

type RemainsVerdict = {
  readonly open: readonly ConfirmedTransaction[];
  /** Containers that look like the remains of an update, and why they are not changed. The reason follows the name. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
  /** Marks of transactions without other remains, or without any change yet. */
  readonly stray: readonly TransactionMark[];
};

export function judgeRemains(remains: Remains): RemainsVerdict {
  const unconfirmed = new Map<string, RemainsVerdict['left'][number]>();
  const confirmed: JournaledContainer[] = [];
  for (const carrier of remains.carriers) {
    const { id, name } = carrier.container;
    const verdict = judgeContainer(carrier, remains);
    if (verdict === 'confirmed') confirmed.push(carrier);
    else if (verdict !== 'finished') unconfirmed.set(id, { name, ...verdict });
  }
  const chosen = chooseOnePerPart(confirmed);
  for (const { container } of confirmed.filter((one) => !chosen.includes(one)))
    unconfirmed.set(container.id, {
      name: container.name,
      reason: 'claims the part of another container in the same update',
    });
  const open = groupByTransaction([...chosen, ...successorsOfLeftOver(chosen, remains)], remains.marks);
  const ours = new Set([...open.flatMap(({ members }) => members.flatMap(idsOf))]);
  for (const { id, name } of remains.containers) {
    const given = parseTransactionName(name);
    if ((given?.role !== 'old' && given?.role !== 'drop') || ours.has(id)) continue;
    const mark = remains.marks.find(({ oldId }) => oldId === id);
    if (mark !== undefined) {
      ours.add(id);
      const member = { name: given.name, oldId: id, successor: undefined, autoRemoveReplica: undefined, mark };
      open.push({ id: '', members: [member] });
    } else if (!unconfirmed.has(id)) {
      unconfirmed.set(id, {
        name,
        reason: 'has the name of a replaced container, but nothing shows that Upkeep gave it',
      });
    }
  }
  for (const id of ours) unconfirmed.delete(id);
  const used = new Set(open.flatMap(({ members }) => members.map(({ mark }) => mark?.tag)));
  const stray = remains.marks.filter(({ tag }) => !used.has(tag));
  return { open, left: [...unconfirmed.values()], stray };
}

function idsOf({ oldId, successor, autoRemoveReplica }: ConfirmedMember): readonly string[] {
  return [oldId, successor?.container.id, autoRemoveReplica?.container.id].filter((id) => id !== undefined);
}

/**
 * `finished`: history without effect, not reported. Otherwise the reason why it is not confirmed, which follows the
 * carrier's name.
 */
type Verdict = 'confirmed' | 'finished' | { readonly reason: string };

/** The verdict on one container with a journal, from the facts of the engine about it. */
function judgeContainer(
  { container, journal }: JournaledContainer,
  { olds, unreadable, carriers, marks: all }: Remains,
): Verdict {
  const old = olds.get(journal.oldId);
  if (unreadable.has(journal.oldId)) return { reason: 'claims to replace a container that cannot be inspected' };
  const ofOld = all.filter(({ oldId }) => oldId === journal.oldId);
  const isMarked = ofOld.some((mark) => isMarkOf(mark, journal.transaction));
  const given = parseTransactionName(container.name);
  if (journal.role === 'replica' && old !== undefined && !removesItself(old))
    return { reason: 'claims to stand in for a container without --rm' };
  if (!isInPlace(container.name, journal) && !isMarked)
    return old === undefined ? 'finished' : { reason: 'has a name that does not match its journal' };
  if (isExcluded(old ?? container)) return { reason: 'is disabled by its label, so no update of it can have begun' };
  if (isMarked) return 'confirmed';
  if (old !== undefined && parseKeptName(old.name) !== undefined)
    return { reason: `claims to replace "${old.name}", which is kept` };
  if (ofOld.length > 0) return { reason: 'claims a container that another update has marked as its own' };
  if (old !== undefined) {
    const reason = whyUnconfirmed(container, journal, old, given);
    return reason === undefined ? 'confirmed' : { reason };
  }
  if (container.name === journal.name) return 'finished';
  if (journal.role === 'replica' && given?.role === 'drop') return 'confirmed';
  if (given?.role === 'bad' && carriers.some((other) => standsInPlace(other, journal))) return 'confirmed';
  return { reason: 'claims to replace a container that is gone, and nothing shows that Upkeep made it' };
}

/**
 * True if a rollback has given this auto-remove replica the plain name. Only the failed successor remains to be removed
 * then.
 */
function standsInPlace({ container, journal }: JournaledContainer, { transaction, oldId, name }: Journal): boolean {
  const isItsAutoRemoveReplica =
    journal.role === 'replica' && journal.transaction === transaction && journal.oldId === oldId;
  return isItsAutoRemoveReplica && journal.name === name && container.name === name;
}

/** Whether a container of this role can have the name by the protocol. */
function isInPlace(actual: string, { name, role }: Journal): boolean {
  if (actual === name) return true;
  const given = parseTransactionName(actual);
  if (given?.name !== name) return false;
  if (role === 'replica') return isAutoRemoveReplicaName(actual) || given.role === 'drop';
  return given.role === 'new' || given.role === 'bad';
}

/** Checks facts of the engine that an honest update leaves, and that nobody can forge about containers of others. */
function whyUnconfirmed(
  container: Container,
  { name, policy, wasRunning, reference, role }: Journal,
  old: Container,
  own: TransactionName | undefined,
): string | undefined {
  const parked = parseTransactionName(old.name);
  const isParked = parked?.name === name && (parked.role === 'old' || parked.role === 'drop');
  // A successor that is not in its place may be removed without a change to the old container.
  const isAside = own?.role === 'new' || own?.role === 'bad';
  if (old.name !== name && !isParked && (parked !== undefined || !isAside))
    return `claims to replace "${old.name}", which no update has renamed`;
  if (isParked && (!samePolicy(parked.policy, policy) || parked.wasRunning !== wasRunning))
    return `claims to replace "${old.name}" with another restart policy than its name contains`;
  if (isParked && parked.role === 'drop' && own !== undefined && role === 'successor')
    return `claims to replace "${old.name}", which has been replaced already`;
  if (old.createdAtMs > container.createdAtMs) return `claims to replace "${old.name}", which is younger`;
  if (!isMadeFor(container, reference, old))
    return `claims to replace "${old.name}", which was created from another image`;
  return undefined;
}

/**
 * A successor has the reference of the old container, or another tag of its repository, unless that was an id or a
 * label replaced it.
 */
function isMadeFor({ settings }: Container, reference: string, old: Container): boolean {
  const [made, before] = [settings.Config.Image, old.settings.Config.Image];
  if (made !== reference) return false;
  return (
    isOfSameRepository(before, reference) ||
    isImageId(before, old.imageId) ||
    labelValuesOf(old).originalImage !== undefined
  );
}

function isOfSameRepository(before: string, reference: string): boolean {
  if (before === reference) return true;
  const [one, other] = [tryParseImageReference(before), tryParseImageReference(reference)];
  if (one === undefined || other === undefined || one.digest !== undefined) return false;
  return sameRepository(one, other);
}

/**
 * Keeps one carrier for each part of each old container. A transaction's id is unknown to others before its first
 * carrier exists, so the oldest carrier is the honest one. Of several transactions on one old container the most
 * advanced counts.
 */
function chooseOnePerPart(confirmed: readonly JournaledContainer[]): readonly JournaledContainer[] {
  const chosen = new Map<string, JournaledContainer>();
  for (const carrier of confirmed.toSorted(byProgress)) {
    const { oldId, role } = carrier.journal;
    const key = `${role} ${oldId}`;
    const rival = chosen.get(`${role === 'successor' ? 'replica' : 'successor'} ${oldId}`);
    const isOfAnother = rival !== undefined && rival.journal.transaction !== carrier.journal.transaction;
    if (!chosen.has(key) && !isOfAnother) chosen.set(key, carrier);
  }
  return [...chosen.values()];
}

function byProgress(one: JournaledContainer, other: JournaledContainer): number {
  const isSame = one.journal.transaction === other.journal.transaction;
  const inPlace = ({ container, journal }: JournaledContainer) => (container.name === journal.name ? 0 : 1);
  const byPlace = isSame ? 0 : inPlace(one) - inPlace(other);
  return byPlace || one.container.createdAtMs - other.container.createdAtMs || inPlace(one) - inPlace(other);
}

/** A replica left over after the commit is removed. Its settled successor shows that the transaction is over. */
function successorsOfLeftOver(
  chosen: readonly JournaledContainer[],
  { carriers }: Remains,
): readonly JournaledContainer[] {
  const parts = new Set(chosen.map(({ journal }) => `${journal.role} ${journal.oldId}`));
  return chosen.flatMap(({ journal, container }) => {
    const isLeftOver = journal.role === 'replica' && parseTransactionName(container.name)?.role === 'drop';
    if (!isLeftOver || parts.has(`successor ${journal.oldId}`)) return [];
    const successor = carriers.find(
      (other) =>
        other.container.name === journal.name &&
        other.journal.role === 'successor' &&
        other.journal.transaction === journal.transaction &&
        other.journal.oldId === journal.oldId,
    );
    return successor === undefined ? [] : [successor];
  });
}

/** Groups carriers by transaction. Carriers that disagree about the members belong to different transactions. */
function groupByTransaction(
  carriers: readonly JournaledContainer[],
  all: readonly TransactionMark[],
): ConfirmedTransaction[] {
  const groups = new Map<string, { readonly journal: Journal; readonly members: Map<string, ConfirmedMember> }>();
  for (const carrier of carriers) {
    const { journal } = carrier;
    const key = JSON.stringify([journal.transaction, journal.owner, journal.members]);
    const group = groups.get(key) ?? { journal, members: new Map<string, ConfirmedMember>() };
    groups.set(key, group);
    const { oldId, name, role } = journal;
    const mark = all.find((one) => one.oldId === oldId && isMarkOf(one, journal.transaction));
    const known = group.members.get(oldId) ?? { name, oldId, successor: undefined, autoRemoveReplica: undefined, mark };
    group.members.set(
      oldId,
      role === 'replica' ? { ...known, autoRemoveReplica: carrier } : { ...known, successor: carrier },
    );
  }
  return [...groups.values()].map(({ journal, members }) => ({
    id: journal.transaction,
    members: journal.members.flatMap(({ oldId }) => members.get(oldId) ?? []),
  }));
}

/**
 * The remains of updates in the engine, and the evidence for them. Anyone who can create containers can write names
 * and journals, but only an updater renames containers of others or sets marks. A journal therefore counts as far as
 * the engine's facts confirm it. Without them nothing is changed.
 */
export type JournaledContainer = {
  readonly container: Container;
  readonly journal: Journal;
};

type Remains = {
  /** All containers except kept ones. */
  readonly containers: readonly ContainerSummary[];
  /** The old containers that carriers name, by id, kept ones included. */
  readonly olds: ReadonlyMap<string, Container>;
  /** Ids of old containers that the engine cannot inspect. */
  readonly unreadable: ReadonlySet<string>;
  readonly carriers: readonly JournaledContainer[];
  readonly marks: readonly TransactionMark[];
};

/** Members of one confirmed transaction. */
export type ConfirmedTransaction = {
  /** Empty for a parked container without a journal. */
  readonly id: string;
  readonly members: readonly ConfirmedMember[];
};

export type ConfirmedMember = {
  readonly name: string;
  readonly oldId: string;
  /** Both are undefined without a journal; the mark then has the facts. */
  readonly successor: JournaledContainer | undefined;
  readonly autoRemoveReplica: JournaledContainer | undefined;
  readonly mark: TransactionMark | undefined;
};
