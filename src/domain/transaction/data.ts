/** The steps of an update that copies data, and of the rollback that restores them. */

import { isAlive } from '../container/container.ts';
import type { UpdatePhase } from '../run/session.ts';
import type { ContainerFacts, MemberFacts, TransactionFacts } from './facts.ts';
import {
  choicesIn,
  firstStep,
  isNameTaken,
  noRestart,
  samePolicy,
  setPolicy,
  stepKey,
  stepOf,
  stop,
} from './member.ts';
import type { Decision, Step } from './member.ts';

/** Before anything is stopped: measures the data, then creates the volume of the copy and the helpers. */
export function prepareData({ members, data, memory }: TransactionFacts): Decision | undefined {
  if (data === undefined || members.some(({ old }) => old?.place !== 'name')) return undefined;
  if (!memory.data.isMeasured) return stepOf('preparing', { kind: 'measureData' });
  return memory.data.isArmed ? undefined : stepOf('preparing', { kind: 'armData' });
}

/**
 * After the last stop and before the first start: copies the data, then takes the restart policy from every old
 * container. From then on the data may change, so no engine may start an old container on them.
 */
export function saveData(facts: TransactionFacts): Decision | undefined {
  const { members, data, memory } = facts;
  if (data === undefined || memory.data.mayHaveStarted || members.some(wasStarted)) return undefined;
  if (members.every(({ desiredEndState }) => desiredEndState === 'stopped')) return undefined;
  if (!isSaved(facts)) return stepOf('saving data', { kind: 'saveData' });
  return firstStep('saving data', members, ({ old }) => {
    return old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart);
  });
}

function wasStarted({ new: successor }: MemberFacts): boolean {
  return successor !== undefined && successor.startedAt !== '';
}

/** An engine that was restarted since may have run an old container again. */
function isSaved({ members, memory }: TransactionFacts): boolean {
  const { savedOf } = memory.data;
  return (
    savedOf !== undefined && members.every(({ old }) => old === undefined || savedOf.get(old.id) === old.startedAt)
  );
}

/**
 * What must happen before an old container may have its name. Its name is the record: until then the data may be those
 * of the new version, and afterwards they are never restored again.
 */
export function restoreData(facts: TransactionFacts): Decision | undefined {
  const { members, data, memory } = facts;
  if (memory.data.choice === 'without-data') return undefined;
  if (!isRestorePending(facts)) return undefined;
  if (members.some(({ old }) => old !== undefined && isAlive(old.status)))
    return { kind: 'stuck', fault: 'old-started' };
  if (data === undefined) return { kind: 'stuck', fault: 'no-journal' };
  const { must } = choicesIn('restoring data', memory);
  const withdrawn = must(members, ({ old }) => {
    return old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart);
  });
  if (withdrawn !== undefined) return withdrawn;
  // A successor is started only after a complete save.
  if (isRestored(facts) || memory.data.wasNeverSaved) return undefined;
  // The new version never ran, so the data are still the old ones.
  if (memory.data.hasNoCopy) return isChangeCertain(facts) ? { kind: 'stuck', fault: 'no-copy' } : undefined;
  const step: Step = { kind: 'restoreData' };
  return memory.givenUp.has(stepKey(step)) ? { kind: 'stuck', step } : stepOf('restoring data', step);
}

/**
 * Whether the data may be those of the new version. Before a successor has started they are not; but an engine that
 * lost its power may have forgotten a start, so a recovery also looks for the policy that announces it.
 */
export function isRestorePending(facts: TransactionFacts): boolean {
  const { members, data, memory } = facts;
  const present = members.filter(({ old }) => old !== undefined);
  if (present.length === 0 || !present.every(isHeld)) return false;
  // A prune would have removed the stand-in of a `--rm` container too, so the helper was never created beside it.
  const isNotMade = data?.save === undefined && present.some(({ isReplica, autoRemoves }) => isReplica && autoRemoves);
  const isSaveBegun = data?.save === undefined ? !isNotMade : data.save.startedAt !== '';
  if (!isSaveBegun) return false;
  if (isChangeCertain(facts)) return true;
  const isAnnounced = present.every(({ old }) => old !== undefined && samePolicy(old.policy, noRestart));
  return isAnnounced && (memory.isRecovery || memory.data.mayHaveStarted);
}

function isChangeCertain({ members }: TransactionFacts): boolean {
  return members.some((member) => member.new === undefined || wasStarted(member));
}

/** An exit code is kept by the engine and may be lost: then the helper runs again, and finds that it has nothing to do. */
function isRestored({ data }: TransactionFacts): boolean {
  const restore = data?.restore;
  return restore !== undefined && restore.startedAt !== '' && restore.status === 'exited' && restore.exitCode === 0;
}

/** Whether the old container may not run under its present name, because a crash would lead to a restore again. */
export function isHeld({ old, new: successor }: MemberFacts): boolean {
  return old?.place === 'old' && old.hasData === true && successor?.place !== 'new';
}

/** On a full disk no container can be renamed or created. Everything that could fill the space again is stopped first. */
export function freeReserve(
  { data, memory }: TransactionFacts,
  phase: UpdatePhase,
  writers: readonly (ContainerFacts | undefined)[] = [],
): Decision | undefined {
  const { isDiskFull, isReserveFreed } = memory.data;
  if (data === undefined || !isDiskFull || isReserveFreed) return undefined;
  const alive = writers.find((one) => one !== undefined && isAlive(one.status));
  if (alive !== undefined && !memory.givenUp.has(stepKey(stop(alive)))) return stepOf(phase, stop(alive));
  const step: Step = { kind: 'freeReserve' };
  return memory.givenUp.has(stepKey(step)) ? undefined : stepOf(phase, step);
}

/** Removes helpers and volumes when no container waits for its data any more. */
export function clearData(facts: TransactionFacts, phase: 'committing' | 'rolling back'): Decision | undefined {
  const { members, data, memory } = facts;
  const { hasBegun, isCleared } = memory.data;
  if (data === undefined || isCleared || !(hasBegun || memory.isRecovery || memory.reopens)) return undefined;
  if (members.some(({ old }) => old?.place === 'old' && old.hasData)) return undefined;
  const step: Step = { kind: 'clearData', keepsCopy: keepsCopy(facts, phase), isCommitted: phase === 'committing' };
  return memory.givenUp.has(stepKey(step)) ? undefined : stepOf(phase, step);
}

/** After a rollback on request without the data, the copy is all that is left of them. */
function keepsCopy({ members, data, memory }: TransactionFacts, phase: 'committing' | 'rolling back'): boolean {
  const { choice } = memory.data;
  if (choice === 'without-data') return true;
  const isKept = members.some((member) => (member.data?.keepMs ?? 0) > 0);
  return isKept && (phase === 'committing' || (memory.reopens && data?.restore === undefined));
}

/** After the commit the data are those of the new version, so an old container must not come back by itself. */
export function whyNotOrphaned(
  member: MemberFacts,
  { data: { choice } }: TransactionFacts['memory'],
): Decision | undefined {
  const { old, isReplica } = member;
  const isSuperfluous = isReplica || isNameTaken(member);
  const isWithoutData = isSuperfluous || old?.place !== 'drop' || old.hasData !== true || choice === 'without-data';
  return isWithoutData ? undefined : { kind: 'stuck', fault: 'new-gone' };
}
