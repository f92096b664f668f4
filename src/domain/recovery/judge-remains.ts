import type { TransactionMark } from '../transaction/transaction-mark.ts';
import { parseTransactionName } from '../transaction/transaction-names.ts';
import type { ConfirmedMember, ConfirmedTransaction, JournaledContainer, Remains } from './remains.ts';
import { judgeContainer } from './judge-container.ts';
import { chooseOnePerPart, groupByTransaction, successorsOfLeftOver } from './group-remains.ts';

/** A container that looks like the remains of an update, and why it is not changed. The reason follows its name. */
export type UnconfirmedContainer = { readonly name: string; readonly reason: string };

export type RemainsVerdict = {
  readonly open: readonly ConfirmedTransaction[];
  readonly left: readonly UnconfirmedContainer[];
  /** Marks of transactions without other remains, or without any change yet. */
  readonly stray: readonly TransactionMark[];
};

export function judgeRemains(remains: Remains): RemainsVerdict {
  const unconfirmed = new Map<string, UnconfirmedContainer>();
  const believed: JournaledContainer[] = [];
  for (const carrier of remains.carriers) {
    const { id, name } = carrier.container;
    const verdict = judgeContainer(carrier, remains);
    if (verdict === 'believed') believed.push(carrier);
    else if (verdict !== 'over') unconfirmed.set(id, { name, ...verdict });
  }
  const chosen = chooseOnePerPart(believed);
  for (const { container } of believed.filter((one) => !chosen.includes(one)))
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
