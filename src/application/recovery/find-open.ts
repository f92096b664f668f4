import type { ContainerSummary, ImageSummary } from '../../domain/container/container.ts';
import { judgeRemains } from '../../domain/recovery/judge-remains.ts';
import type { ConfirmedMember, ConfirmedTransaction, JournaledContainer } from '../../domain/recovery/remains.ts';
import { hasValidSeal } from '../../domain/transaction/journal.ts';
import {
  isMarkOf,
  markTextOf,
  type TransactionMark,
  transactionMarksOf,
} from '../../domain/transaction/transaction-mark.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { plainName } from '../../domain/transaction/transaction-names.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import type { Member } from '../../domain/transaction/facts.ts';
import type { OpenTransaction } from '../transaction/facts/open-transaction.ts';
import { memberFromJournal, memberFromMark } from '../transaction/facts/member-from.ts';
import { suspectsAmong } from './suspects.ts';
import { inspectOlds, readCarrier } from './inspect-remains.ts';

/** An unfinished transaction as the engine shows it. */
export type FoundTransaction = Pick<
  OpenTransaction,
  'id' | 'members' | 'successors' | 'autoRemoveReplicas' | 'marks'
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
  readonly images: readonly ImageSummary[];
};

export type FindOrder = {
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
  return {
    open: open.map(foundFrom),
    left: [
      ...suspects.foreign.map((name) => ({ name, reason: 'carries a journal that this version cannot read' })),
      ...broken,
      ...unsealedOnes.map(describeUnsealed),
      ...left.filter(({ name }) => !isOfOthers(name)),
    ],
    stray,
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

function foundFrom({ id, members }: ConfirmedTransaction): FoundTransaction {
  const carriers = members
    .flatMap(({ successor, autoRemoveReplica }) => [successor, autoRemoveReplica])
    .filter((one) => one !== undefined);
  const journal = carriers[0]?.journal;
  const ids = (part: 'successor' | 'autoRemoveReplica') =>
    new Map(members.flatMap((member) => (member[part] ? [[member.oldId, member[part].container.id] as const] : [])));
  return {
    id,
    members: members.map(partOf),
    successors: ids('successor'),
    autoRemoveReplicas: ids('autoRemoveReplica'),
    marks: new Map(members.flatMap(({ oldId, mark }) => (mark ? [[oldId, mark.tag] as const] : []))),
    owner: journal?.owner ?? '',
    ownerContainer: journal?.ownerContainer ?? '',
    createdAtMs: Math.max(0, ...carriers.map(({ container }) => container.createdAtMs)),
  };
}

function partOf({ name, oldId, successor, autoRemoveReplica, mark }: ConfirmedMember): Member {
  const journal = (successor ?? autoRemoveReplica)?.journal;
  if (journal === undefined) return memberFromMark(name, oldId, mark);
  // A mark cannot be forged, and the mark of a rollback is newer than the journal of the update that it undoes.
  const fromMark = mark && { policy: mark.policy, wasRunning: mark.wasRunning };
  return { ...memberFromJournal(journal), ...fromMark };
}
