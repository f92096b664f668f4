import { isAlive, type RestartPolicy, samePolicy, noRestart } from '../container/container.ts';
import type { ExecutionMemory, MemberFacts, ContainerFacts, TransactionFacts } from './facts.ts';
import { transactionName } from './transaction-names.ts';
import type { UpdatePhase } from '../run/session.ts';

/** Whether the successor is not in its desired end state: a job may have ended, others must run. */
export function needsStart({ new: successor, desiredEndState }: MemberFacts): boolean {
  if (successor === undefined || desiredEndState === 'stopped') return false;
  return desiredEndState === 'running' ? !isAlive(successor.status) : successor.startedAt === '';
}

/** Whether the old container cannot return to its name: it then stays parked and stopped. */
export function isNameTaken({ nameHeldBy }: MemberFacts): boolean {
  return nameHeldBy === 'stranger' || nameHeldBy === 'copy';
}

/** Another updater may have been at work during the planning, so only containers that we have parked are repaired. */
export function wasParkedHere({ old }: MemberFacts, { parked }: ExecutionMemory): boolean {
  return parked === 'any' || (old !== undefined && parked.has(old.id));
}

/**
 * Whether a recovery finds the old container at its plain name or renamed from outside. Its state may then be its
 * owner's choice: it is restored only with a mark, and only if no fact indicates a person. No person sets `policyOfReturn`.
 */
export function isFoundInPlace({ old }: MemberFacts, { isRecovery, seenParked }: ExecutionMemory): boolean {
  const isPlain = old?.place === 'name' || old?.place === 'elsewhere';
  return isRecovery && isPlain && !seenParked.has(old.id) && !samePolicy(old.policy, policyOfReturn);
}

export const rename = ({ id }: ContainerFacts, to: string): Step => ({ kind: 'rename', id, to });

export function park(member: MemberFacts, old: ContainerFacts): Step {
  return rename(old, transactionName({ role: 'old', ...stateOf(member, old) }));
}

export function drop(member: MemberFacts, old: ContainerFacts): Step {
  return rename(old, transactionName({ role: 'drop', ...stateOf(member, old) }));
}

function stateOf({ name, policy, wasRunning, data }: MemberFacts, old: ContainerFacts) {
  return { name, policy: policy ?? old.policy, wasRunning, hasData: data !== undefined };
}

export function takeName({ name, nameHeldBy }: MemberFacts, container: ContainerFacts | undefined): Step | false {
  if (container === undefined || nameHeldBy !== 'nobody' || container.place === 'elsewhere') return false;
  return rename(container, name);
}

export const setPolicy = ({ id }: ContainerFacts, policy: RestartPolicy): Step => ({
  kind: 'policy',
  id,
  policy,
  afterPause: false,
});

export function restorePolicy(member: MemberFacts): Step | false {
  if (member.old === undefined || member.policy === undefined) return false;
  // An engine takes an empty policy for no change.
  const policy = !isNameTaken(member) && member.policy.Name !== '' ? member.policy : noRestart;
  return !samePolicy(member.old.policy, policy) && setPolicy(member.old, policy);
}

/** Until the commit a successor has the policy `no`. After a crash, any other policy was set by a person. */
export function setFinalPolicy(
  { new: successor, policy }: MemberFacts,
  { isRecovery }: ExecutionMemory,
  afterPause: boolean,
): Step | undefined {
  if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
  if (isRecovery && !samePolicy(successor.policy, noRestart)) return undefined;
  return { kind: 'policy', id: successor.id, policy, afterPause };
}

export const start = ({ id }: ContainerFacts): Step => ({ kind: 'start', id });

export function startOld({ old, policy, wasRunning }: MemberFacts): Step | false {
  return old !== undefined && policy !== undefined && wasRunning && !isAlive(old.status) && start(old);
}

export const stop = ({ id }: ContainerFacts): Step => ({ kind: 'stop', id });

export const remove = ({ id }: ContainerFacts): Step => ({ kind: 'remove', id });

/**
 * Keeps the mark while a container that we have parked must come back, even if its name is taken or the engine refuses
 * to rename it.
 */
export function unmark(member: MemberFacts, memory: ExecutionMemory): Step | false {
  return member.isMarked && !isWaiting(member, memory) && { kind: 'unmark', oldId: member.oldId };
}

/** Whether the old container is still parked, and ours to bring back. */
export function isWaiting(member: MemberFacts, memory: ExecutionMemory): boolean {
  return member.old?.place === 'old' && member.nameHeldBy !== 'rival' && wasParkedHere(member, memory);
}

/** Leaves a container behind whose removal was given up, so that it is in nobody's way. */
export function leave(
  container: ContainerFacts | undefined,
  { givenUp }: Pick<ExecutionMemory, 'givenUp'>,
): Step | false {
  if (container === undefined || isAlive(container.status) || !givenUp.has(stepKey(remove(container)))) return false;
  return { kind: 'leave', id: container.id };
}

/**
 * The policy of an old container while its successor is unproven. Without live-restore, `always` is the one policy that
 * survives every crash of an engine. With live-restore the engine would start a parked `always` container beside the
 * survivor, so the policy is `no`.
 */
export function policyWhileUnproven(policy: RestartPolicy, liveRestore: boolean): RestartPolicy {
  const never = policy.Name === '' || policy.Name === 'no';
  if (never) return policy;
  if (liveRestore) return policy.Name === 'unless-stopped' ? policy : noRestart;
  return always;
}

/**
 * The policy of an old container that has its name back and does not run yet, where no mark can be set. Its number is one
 * that nobody chooses, so it shows that an update has set it.
 */
export const policyOfReturn: RestartPolicy = { Name: 'on-failure', MaximumRetryCount: 1_947_362_850 };

const always: RestartPolicy = { Name: 'always', MaximumRetryCount: 0 };

type Choose = (member: MemberFacts) => Step | false | undefined;

type ChooseFirst = (members: readonly MemberFacts[], choose: Choose) => Decision | undefined;

/**
 * Each chooses the first step that a member needs in one phase. `next` skips a step that was given up. `must` returns
 * `stuck` for it, because no later step is possible without it.
 */
export function choicesIn(
  phase: UpdatePhase,
  { givenUp }: ExecutionMemory,
): { readonly next: ChooseFirst; readonly must: ChooseFirst } {
  const isGivenUp = (step: Step) => givenUp.has(stepKey(step));
  return {
    next: (members, choose) =>
      firstOf(members, (member) => {
        const step = possible(choose(member), member);
        return step === undefined || isGivenUp(step) ? undefined : stepOf(phase, step);
      }),
    must: (members, choose) =>
      firstOf(members, (member) => {
        const step = possible(choose(member), member);
        if (step === undefined) return undefined;
        return isGivenUp(step) ? { kind: 'stuck', step } : stepOf(phase, step);
      }),
  };
}

/** The first step that a member needs, whether or not it was given up. */
export function firstStep(phase: UpdatePhase, members: readonly MemberFacts[], choose: Choose): Decision | undefined {
  return firstOf(members, (member) => {
    const step = possible(choose(member), member);
    return step && stepOf(phase, step);
  });
}

export function firstOf(
  members: readonly MemberFacts[],
  choose: (member: MemberFacts) => Decision | undefined,
): Decision | undefined {
  for (const member of members) {
    const decision = choose(member);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

export function stepOf(phase: UpdatePhase, step: Step): Decision {
  return { kind: 'step', step, phase };
}

/** Drops a change of the policy on an engine that cannot change policies. */
function possible(step: Step | false | undefined, { policyIsFixed }: MemberFacts): Step | undefined {
  return step === false || (step?.kind === 'policy' && policyIsFixed) ? undefined : step;
}

export type Decision =
  | { readonly kind: 'step'; readonly step: Step; readonly phase: UpdatePhase }
  | ({ readonly kind: 'rollBack' } & WhyUndone)
  | { readonly kind: 'end'; readonly result: 'committed' | 'undone' }
  /** A necessary step was given up: nothing more is changed until the next start or a person's action. */
  | { readonly kind: 'stuck'; readonly step: Step }
  /** Only a person can decide about the data. */
  | { readonly kind: 'stuck'; readonly fault: DataFault };

/**
 * Why the data of an update cannot be restored. `no-copy`: the copy is gone. `no-journal`: nothing tells any more which
 * data it has. `old-started`: someone started the old container on the new data. `new-gone`: the new container was
 * removed after the commit.
 */
export type DataFault = 'no-copy' | 'no-journal' | 'old-started' | 'new-gone';

/** Why an update cannot continue and must be undone. */
export type WhyUndone = {
  readonly reason: string;
  /** Another instance or a person prevented it. */
  readonly busy: boolean;
  /** A rehearsal has reached its end. */
  readonly isRehearsed?: boolean;
  /** The tag was moved before the successor was created from it. No other updater needs to be at work. */
  readonly wasTagMoved?: boolean;
};

export type Step = { [K in StepKind]: StepOf<K> }[StepKind];

export type StepOf<K extends StepKind> = { readonly kind: K } & StepArguments[K];

export type StepKind = keyof StepArguments;

type StepArguments = {
  /** Set or remove the mark of the transaction for one old container. */
  readonly mark: { readonly oldId: string };
  readonly unmark: { readonly oldId: string };
  readonly create: { readonly member: number };
  readonly autoRemoveReplica: { readonly member: number };
  readonly connect: { readonly id: string; readonly networkId: string; readonly member: number };
  /** Copy the placed files of the old container into a new one. */
  readonly copyFiles: { readonly id: string; readonly member: number };
  /** Compare a successor in the engine with the container that it replaces. */
  readonly compare: { readonly id: string; readonly member: number };
  readonly rename: { readonly id: string; readonly to: string };
  /** `afterPause`: the engine does not sync its directories, so a power cut could reorder two writes. */
  readonly policy: { readonly id: string; readonly policy: RestartPolicy; readonly afterPause: boolean };
  readonly stop: { readonly id: string };
  readonly start: { readonly id: string };
  readonly awaitHealth: { readonly ids: readonly string[] };
  readonly hook: { readonly id: string; readonly hook: 'preUpdate' | 'postUpdate' };
  /** Watch a running container until no stop request of an earlier process can still end it. */
  readonly waitOutPendingStop: { readonly id: string };
  readonly tag: { readonly imageId: string; readonly reference: string };
  readonly remove: { readonly id: string };
  /** Give an old container the name under which it is kept. */
  readonly keep: { readonly id: string };
  /** Give a container that cannot be removed a name outside of the transaction: see `leftOverName`. */
  readonly leave: { readonly id: string };
  /** Measure the data, and reserve space for a way back from a full disk. */
  readonly measureData: object;
  /** Create the volume of the copy, and the helpers that write and restore it. */
  readonly armData: object;
  readonly saveData: object;
  readonly restoreData: object;
  readonly freeReserve: object;
  /** Remove the helpers, the reserve, and the copy unless it stays. */
  readonly clearData: { readonly keepsCopy: boolean; readonly isCommitted: boolean };
};

/** Equal for the same step on the same container. Attempts are counted by it. */
export function stepKey(step: Step): string {
  return JSON.stringify(step);
}

/** Whether the successor may have changed the data. */
export function wasStarted({ new: successor }: MemberFacts): boolean {
  return successor !== undefined && successor.startedAt !== '';
}

/** An exit code is kept by the engine and may be lost: then the helper runs again, and finds that it has nothing to do. */
export function isRestored({ data }: Pick<TransactionFacts, 'data'>): boolean {
  const restore = data?.restore;
  return restore !== undefined && restore.startedAt !== '' && restore.status === 'exited' && restore.exitCode === 0;
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

/**
 * After a rollback on request without the data, the copy is all that is left of them. So it is after a failed version
 * that stays, because someone has removed its old container.
 */
function keepsCopy({ members, data, memory }: TransactionFacts, phase: 'committing' | 'rolling back'): boolean {
  const { choice } = memory.data;
  if (choice === 'without-data') return true;
  const stays = ({ old, new: successor }: MemberFacts) => old === undefined && successor !== undefined;
  // In a group, the removal of the first old container commits what has failed.
  const hasFailed = phase === 'rolling back' || memory.failedImages.size > 0;
  if (hasFailed && members.some(stays) && !isRestored({ data })) return true;
  const isKept = members.some((member) => (member.data?.keepMs ?? 0) > 0);
  return isKept && (phase === 'committing' || (memory.reopens && data?.restore === undefined));
}
