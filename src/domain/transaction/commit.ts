import { isAlive } from '../container/container.ts';
import { choicesIn } from './choose-step.ts';
import type { ExecutionMemory, MemberFacts, TransactionFacts } from './facts.ts';
import {
  drop,
  leave,
  setFinalPolicy,
  removeOrKeepOld,
  remove,
  restorePolicy,
  setPolicy,
  start,
  startOld,
  stop,
  takeName,
  unmark,
  mayTakeName,
  isFoundInPlace,
  isNameTaken,
  needsStart,
} from './member.ts';
import { noRestart, samePolicy } from './policy.ts';
import type { Decision } from './step.ts';

/** An earlier process may already have performed any of these steps. */
export function commit({ members: all, memory }: TransactionFacts): Decision {
  // A commit parks every old container first. An old container at its plain name is not part of it, even if a journal
  // names it.
  const members = all.filter(
    (member) => !isFoundInPlace(member, memory) || (member.isMarked && member.new === undefined),
  );
  const replaced = members.filter((member) => member.new !== undefined);
  const owed = replaced.filter((member) => lacksPolicy(member, memory));
  const orphaned = members.filter((member) => member.new === undefined);
  const { next, must } = choicesIn('committing', memory);
  return (
    next(replaced, (member) => member.old?.place === 'old' && drop(member, member.old)) ??
    next(replaced, (member) => takeName(member, member.new)) ??
    next(replaced, ({ old }) => old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart)) ??
    must(owed, (member) => setFinalPolicy(member, memory, member.old !== undefined)) ??
    next(replaced, ({ old }) => old !== undefined && isAlive(old.status) && stop(old)) ??
    must(owed, (member) => member.new !== undefined && needsStart(member) && start(member.new)) ??
    must(replaced, (member) => unmark(member, memory)) ??
    next(replaced, ({ spare }) => spare !== undefined && remove(spare)) ??
    next(replaced.toReversed(), (member) => member.old !== undefined && removeOrKeepOld(member, member.old)) ??
    next(replaced, ({ old }) => leave(old, memory)) ??
    next(replaced, ({ spare }) => leave(spare, memory)) ??
    restoreOrphans(orphaned, memory) ??
    must(orphaned, (member) => unmark(member, memory)) ?? { kind: 'end', result: 'committed' }
  );
}

/**
 * Whether a committed successor still waits for its policy. With the policy set, the mark is removed and the container
 * belongs to its owner: a later stop or change of the policy is respected, even if the old container still exists.
 */
function lacksPolicy({ old, isReplica, isMarked }: MemberFacts, { isRecovery }: ExecutionMemory): boolean {
  return !isRecovery || isMarked || (old !== undefined && !isReplica && !samePolicy(old.policy, noRestart));
}

/** Members that lost their successor after the commit: it was removed from outside, or it had `--rm` and exited. */
function restoreOrphans(orphaned: readonly MemberFacts[], memory: ExecutionMemory): Decision | undefined {
  const { next, must } = choicesIn('committing', memory);
  const isSuperfluous = (member: MemberFacts) =>
    member.old?.place === 'drop' && (isNameTaken(member) || member.isReplica);
  return (
    next(orphaned, (member) => isSuperfluous(member) && member.old !== undefined && remove(member.old)) ??
    next(orphaned, (member) => takeName(member, member.old)) ??
    must(orphaned, (member) => mayTakeName(member) && startOld(member)) ??
    next(orphaned, restorePolicy)
  );
}
