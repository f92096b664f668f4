import type { Journal } from '../transaction/journal.ts';
import { isMarkOf, type TransactionMark } from '../transaction/transaction-mark.ts';
import { parseTransactionName } from '../transaction/transaction-names.ts';
import type { ConfirmedMember, ConfirmedTransaction, JournaledContainer, Remains } from './remains.ts';

/**
 * Keeps one carrier for each part of each old container. A transaction's id is unknown to others before its first
 * carrier exists, so the oldest carrier is the honest one. Of several transactions on one old container the most
 * advanced counts.
 */
export function chooseOnePerPart(believed: readonly JournaledContainer[]): readonly JournaledContainer[] {
  const chosen = new Map<string, JournaledContainer>();
  for (const carrier of believed.toSorted(byProgress)) {
    const { oldId, role } = carrier.journal;
    const key = `${role} ${oldId}`;
    const rival = chosen.get(`${role === 'successor' ? 'standin' : 'successor'} ${oldId}`);
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
export function successorsOfLeftOver(
  chosen: readonly JournaledContainer[],
  { carriers }: Remains,
): readonly JournaledContainer[] {
  const parts = new Set(chosen.map(({ journal }) => `${journal.role} ${journal.oldId}`));
  return chosen.flatMap(({ journal, container }) => {
    const isLeftOver = journal.role === 'standin' && parseTransactionName(container.name)?.role === 'drop';
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
export function groupByTransaction(
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
      role === 'standin' ? { ...known, autoRemoveReplica: carrier } : { ...known, successor: carrier },
    );
  }
  return [...groups.values()].map(({ journal, members }) => ({
    id: journal.transaction,
    members: journal.members.flatMap(({ oldId }) => members.get(oldId) ?? []),
  }));
}
