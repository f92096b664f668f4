import type { TransactionFacts } from '../facts.ts';
import { type Decision, type Step, stepKey } from '../step.ts';
import { parseTransactionName } from '../transaction-names.ts';
import { describeStep, nameOf } from './describe-step.ts';
import { backoffMs, limits } from './step-limits.ts';
import type { StepOutcome } from './step-outcome.ts';
import { noteFailure, beginRollback, type TransactionMemory, withEntry, withOne } from './transaction-memory.ts';

export type StepDecision = Extract<Decision, { kind: 'step' }>;

/** The memory after a step, and an action before the next one: a pause, or reading the log of a failed successor. */
export type Learned = {
  readonly memory: TransactionMemory;
  readonly pauseMs?: number;
  readonly logOf?: string;
};

/** Learns the outcome of a step that was decided on the given facts. */
export function learn(
  before: TransactionMemory,
  { step, phase }: StepDecision,
  outcome: StepOutcome,
  seen: TransactionFacts,
): Learned {
  const key = stepKey(step);
  const isDone = outcome.kind === 'done' || outcome.kind === 'noop';
  const count = (counted: string) => (before.attempts.get(counted) ?? 0) + 1;
  const [attempt, successes] = [count(key), count(`${key} done`)];
  // A success after an unknown outcome is the first success.
  const attempts = new Map([
    ...before.attempts,
    ...(isDone ? [[`${key} done`, successes] as const] : [[key, attempt] as const]),
  ]);
  const memory = noteEffect({ ...before, attempts }, step, outcome);
  switch (outcome.kind) {
    case 'declined':
      return { memory: beginRollback(memory, { reason: outcome.message, busy: outcome.deferred }) };
    case 'warned':
      return { memory: noteWarning(memory, step, outcome.message, seen) };
    case 'done':
    case 'noop': {
      const isInVain = successes >= limits[step.kind].inVain;
      return { memory: isInVain ? giveUp(memory, key, `${describeStep(step, seen)} had no effect`) : memory };
    }
    case 'fault':
    case 'refused':
    case 'unknown':
      break;
  }
  const refused = { ...memory, refusals: withEntry(memory.refusals, key, outcome.message) };
  const failure = `${describeStep(step, seen)} failed: ${outcome.message}`;
  const goesForward = phase !== 'rolling back' && phase !== 'committing';
  if (goesForward && outcome.kind !== 'unknown' && !isOutage(outcome))
    return failForward(refused, step, outcome, seen, failure);
  const isFinal = outcome.kind === 'refused' && outcome.isForbidden === true;
  if (!isFinal && attempt < limits[step.kind].failures) return { memory: refused, pauseMs: backoffMs(attempt) };
  return {
    memory: goesForward
      ? beginRollback(refused, { reason: failure, busy: false })
      : giveUp(refused, key, outcome.message),
  };
}

function noteEffect(before: TransactionMemory, step: Step, outcome: StepOutcome): TransactionMemory {
  const memory: TransactionMemory = outcome.kind === 'unknown' ? { ...before, undisturbed: new Set() } : before;
  const { parked, stopsInDoubt, undisturbed } = memory;
  const isDone = outcome.kind === 'done' || outcome.kind === 'noop';
  const mayBeDone = outcome.kind !== 'refused';
  switch (step.kind) {
    case 'create':
    case 'autoRemoveReplica':
      return { ...memory, mayHaveCreated: true };
    case 'rename': {
      const isParking = mayBeDone && parseTransactionName(step.to)?.role === 'old';
      return isParking && parked !== 'any' ? { ...memory, parked: withOne(parked, step.id) } : memory;
    }
    case 'stop': {
      const isInDoubt = outcome.kind === 'unknown' && stopsInDoubt !== 'any';
      const doubts = isInDoubt ? withOne(stopsInDoubt, step.id) : stopsInDoubt;
      return { ...memory, stopped: memory.stopped || mayBeDone, stopsInDoubt: doubts };
    }
    case 'start': {
      const started = outcome.kind === 'done' ? withOne(undisturbed, step.id) : undisturbed;
      return { ...memory, hasStarted: memory.hasStarted || mayBeDone, undisturbed: started };
    }
    case 'waitOutPendingStop':
      return outcome.kind === 'done' ? { ...memory, outwaited: withOne(memory.outwaited, step.id) } : memory;
    case 'hook': {
      const hasRun = outcome.kind === 'done' || outcome.kind === 'warned';
      return hasRun ? { ...memory, hooked: withOne(memory.hooked, step.id) } : memory;
    }
    case 'copyFiles':
      return isDone ? { ...memory, filled: withOne(memory.filled, step.id) } : memory;
    case 'compare':
      return isDone ? { ...memory, compared: withOne(memory.compared, step.id) } : memory;
    case 'gate':
      return isDone ? { ...memory, proven: withOne(memory.proven, ...step.ids) } : memory;
    default:
      return memory;
  }
}

/**
 * Whether the engine did not get the call, because it or a proxy before it is away for a while. That says nothing about
 * the new version.
 */
function isOutage(outcome: StepOutcome): boolean {
  return outcome.kind === 'refused' && (outcome.status === 502 || outcome.status === 503 || outcome.status === 504);
}

type Failure = Extract<StepOutcome, { readonly kind: 'fault' | 'refused' }>;

function failForward(
  memory: TransactionMemory,
  step: Step,
  outcome: Failure,
  seen: TransactionFacts,
  failure: string,
): Learned {
  if (outcome.kind === 'refused') {
    if (outcome.status === 409 && step.kind === 'rename' && parseTransactionName(step.to) === undefined)
      return {
        memory: beginRollback(memory, { reason: `another container has taken the name "${step.to}"`, busy: true }),
      };
    const isTaken = outcome.status === 409 && step.kind === 'create';
    return {
      memory: beginRollback(memory, { reason: failure, busy: isTaken }),
      ...(step.kind === 'start' && { logOf: step.id }),
    };
  }
  const { id, message, wasSeenWell } = outcome;
  const isItsOwn = wasSeenWell || memory.undisturbed.has(id);
  const noted = isItsOwn ? noteFailure(memory, id, seen) : memory;
  const reason = `the new version of "${nameOf(seen, id)}" failed: ${message}`;
  return { memory: beginRollback(noted, { reason, busy: false }), logOf: id };
}

/** A bug, or a program that undoes every step, must not cause an endless loop. */
function giveUp(memory: TransactionMemory, key: string, why: string): TransactionMemory {
  const givenUp = withOne(memory.givenUp, key);
  if (memory.direction === 'back') return { ...memory, givenUp };
  return { ...memory, givenUp, direction: 'back', reason: memory.reason === '' ? why : memory.reason };
}

function noteWarning(memory: TransactionMemory, step: Step, warning: string, { members }: TransactionFacts) {
  const member = members.find(({ new: successor }) => 'id' in step && successor?.id === step.id);
  return member === undefined ? memory : { ...memory, warnings: withEntry(memory.warnings, member.oldId, warning) };
}
