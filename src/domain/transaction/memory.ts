import type { DataMemory, ExecutionMemory, MemberFacts, TransactionFacts } from './facts.ts';
import type { DataFigures } from './data-helper.ts';
import { stepKey, type WhyUndone, type Decision, type Step, type StepKind, type StepOf } from './member.ts';
import { parseTransactionName } from './transaction-names.ts';
import type { CallOutcome } from '../outside/engine.ts';

/**
 * The task of a process in a transaction:
 *
 * - `update`: moves a group to its new images
 * - `hand-over`: the same for our own container, until a helper takes over
 * - `rehearse`: creates and compares the successors, then removes them again
 * - `recover`: ends a transaction of an earlier process
 * - `finish-as-helper`: continues after a `hand-over`
 * - `return`: opens a committed transaction again, to bring the kept container back
 */
type TransactionMode = 'update' | 'hand-over' | 'rehearse' | 'recover' | 'finish-as-helper' | 'return';

/**
 * The memory of one process about one transaction: a plain value that `learn` and `observe` replace. After a crash the
 * engine's facts are enough to end a transaction correctly. The memory only saves repeated checks, bounds the attempts,
 * and holds the reason of a rollback.
 */
export type TransactionMemory = ExecutionMemory & {
  readonly mode: TransactionMode;
  /** The measured size of the data. Undefined: nothing. */
  readonly figures: DataFigures | undefined;
  /** Why it was rolled back or got stuck; empty otherwise. */
  readonly reason: string;
  readonly busy: WhyUndone['busy'];
  readonly isRehearsed: boolean;
  readonly wasTagMoved: boolean;
  /** A helper has decided once whether to continue forward. */
  readonly hasResumed: boolean;
  /** Whether any container was stopped. */
  readonly stopped: boolean;
  /** Whether any container was started. */
  readonly hasStarted: boolean;
  /** The engine may have containers with the journal of this transaction. */
  readonly mayHaveCreated: boolean;
  /** The number of failures, and with `done` after the key of successes, and the last refusal of each step, by `stepKey`. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly refusals: ReadonlyMap<string, string>;
  /** Ids of successors that were started here, and that nothing from outside has affected since. */
  readonly withoutOutsideChange: ReadonlySet<string>;
  /** The last id of each successor. This map and the following ones have the old container's id as their key. */
  readonly successorIds: ReadonlyMap<string, string>;
  /** The engine's timestamps: the last end of each old container, and the start of each successor. */
  readonly endedAt: ReadonlyMap<string, string>;
  readonly startedAt: ReadonlyMap<string, string>;
  /** Failures without consequences. */
  readonly warnings: ReadonlyMap<string, string>;
};

export function beginMemory(mode: TransactionMode, choice?: DataMemory['choice']): TransactionMemory {
  const isUpdate = mode === 'update' || mode === 'hand-over' || mode === 'rehearse';
  const isRecovery = mode === 'recover' || mode === 'finish-as-helper';
  return {
    mode,
    direction: isUpdate ? 'forward' : isRecovery ? 'recover' : 'back',
    isRecovery,
    reopens: mode === 'return',
    created: isUpdate ? new Set() : 'all',
    parked: isUpdate ? new Set() : 'any',
    stopsInDoubt: isRecovery ? 'any' : new Set(),
    seenParked: new Set(),
    filled: new Set(),
    compared: new Set(),
    proven: new Set(),
    hooked: new Set(),
    stopTimedOut: new Set(),
    pruned: new Set(),
    givenUp: new Set(),
    data: {
      hasBegun: false,
      isMeasured: false,
      isArmed: false,
      savedOf: undefined,
      mayHaveStarted: false,
      isRestored: false,
      hasNoCopy: false,
      wasNeverSaved: false,
      isDiskFull: false,
      isReserveFreed: false,
      isCleared: false,
      choice,
    },
    figures: undefined,
    reason: '',
    busy: false,
    isRehearsed: false,
    wasTagMoved: false,
    hasResumed: false,
    stopped: false,
    hasStarted: false,
    mayHaveCreated: !isUpdate,
    attempts: new Map(),
    refusals: new Map(),
    withoutOutsideChange: new Set(),
    successorIds: new Map(),
    endedAt: new Map(),
    startedAt: new Map(),
    failedImages: new Map(),
    warnings: new Map(),
  };
}

export function withOne<T>(known: ReadonlySet<T>, ...more: readonly T[]): ReadonlySet<T> {
  return more.every((one) => known.has(one)) ? known : new Set([...known, ...more]);
}

export function withEntry(known: ReadonlyMap<string, string>, key: string, value: string): ReadonlyMap<string, string> {
  return known.get(key) === value ? known : new Map([...known, [key, value]]);
}

/** Ends the way forward. Only the first reason counts. */
export function beginRollback(
  memory: TransactionMemory,
  { reason, busy, isRehearsed = false, wasTagMoved = false }: WhyUndone,
): TransactionMemory {
  const first = memory.reason === '' ? reason : memory.reason;
  return { ...memory, direction: 'back', busy, isRehearsed, wasTagMoved, reason: first };
}

/** Old and new container may fail for the same reason, which is then told once. */
export function addReason(memory: TransactionMemory, why: string): TransactionMemory {
  const { reason } = memory;
  return reason === why ? memory : { ...memory, reason: reason === '' ? why : `${reason}; then ${why}` };
}

/** Ignores a member that is re-created from its present image: its version is not the reason. */
export function noteFailure(memory: TransactionMemory, successorId: string, { members }: TransactionFacts) {
  const isIt = ({ oldId }: MemberFacts) => memory.successorIds.get(oldId) === successorId;
  const member = members.find(isIt);
  const imageId = member?.new?.imageId ?? member?.newImageId ?? '';
  if (member === undefined || imageId === '' || imageId === member.oldImageId) return memory;
  return { ...memory, failedImages: withEntry(memory.failedImages, member.oldId, imageId) };
}

export type StepDecision = Extract<Decision, { kind: 'step' }>;

/** The memory after a step, and an action before the next one: a pause, or reading the log of a failed successor. */
type Learned = {
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
  const isDone = isSuccess(outcome);
  const count = (counted: string) => (before.attempts.get(counted) ?? 0) + 1;
  const [attempt, successes] = [count(key), count(`${key} done`)];
  // A success after an unknown outcome is the first success.
  const attempts = new Map([
    ...before.attempts,
    ...(isDone ? [[`${key} done`, successes] as const] : [[key, attempt] as const]),
  ]);
  const memory = noteData(noteEffect({ ...before, attempts }, step, outcome), step, outcome, seen);
  switch (outcome.kind) {
    case 'declined':
      return { memory: beginRollback(memory, { reason: outcome.message, busy: outcome.deferred }) };
    case 'warned':
      return { memory: noteWarning(memory, step, outcome.message, seen) };
    case 'done':
    case 'noop':
    case 'measured':
    case 'no copy':
    case 'never saved': {
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
  const goesForward = phase !== 'rolling back' && phase !== 'committing' && phase !== 'restoring data';
  if (goesForward && outcome.kind !== 'unknown' && !isOutage(outcome))
    return failForward(refused, step, outcome, seen, failure);
  const isDiskFull = memory.data.isDiskFull && !before.data.isDiskFull;
  const isOfHelper = step.kind === 'restoreData' && outcome.kind === 'refused' && outcome.status === 0 && !isDiskFull;
  const isFinal = isOfHelper || (outcome.kind === 'refused' && outcome.isForbidden === true);
  if (!isFinal && attempt < limits[step.kind].failures) return { memory: refused, pauseMs: backoffMs(attempt) };
  return {
    memory: goesForward
      ? beginRollback(refused, { reason: failure, busy: false })
      : giveUp(refused, key, outcome.message),
  };
}

function isSuccess({ kind }: StepOutcome): boolean {
  return kind === 'done' || kind === 'noop' || kind === 'measured' || kind === 'no copy' || kind === 'never saved';
}

/** The memory of the data of the update after a step. */
function noteData(
  memory: TransactionMemory,
  step: Step,
  outcome: StepOutcome,
  { members }: TransactionFacts,
): TransactionMemory {
  const { data } = memory;
  const isFull = outcome.kind === 'refused' && /no space left on device|disk quota exceeded/i.test(outcome.message);
  const isDiskFull = data.isDiskFull || isFull;
  const note = (news: Partial<DataMemory>): TransactionMemory => ({
    ...memory,
    data: { ...data, isDiskFull, ...news },
  });
  const isDone = isSuccess(outcome);
  switch (step.kind) {
    case 'measureData': {
      const known = note({ hasBegun: true, isMeasured: isDone });
      return outcome.kind === 'measured' ? { ...known, figures: outcome.figures } : known;
    }
    case 'armData':
      return note({ hasBegun: true, isArmed: isDone });
    case 'saveData': {
      const olds = members.flatMap(({ old }) => (old === undefined ? [] : [[old.id, old.startedAt] as const]));
      return note({ savedOf: isDone ? new Map(olds) : undefined });
    }
    case 'start':
      return note({ mayHaveStarted: data.mayHaveStarted || outcome.kind !== 'refused' });
    case 'restoreData':
      return note({
        hasNoCopy: outcome.kind === 'no copy',
        wasNeverSaved: outcome.kind === 'never saved',
        isRestored: outcome.kind === 'done',
      });
    case 'freeReserve':
      return note({ isReserveFreed: isDone });
    case 'clearData':
      return note({ isCleared: isDone });
    default:
      return isFull ? note({}) : memory;
  }
}

/** After a call without an answer, the engine may be back from a power cut, with volumes that were removed before it. */
function noteEffect(before: TransactionMemory, step: Step, outcome: StepOutcome): TransactionMemory {
  const memory: TransactionMemory =
    outcome.kind === 'unknown'
      ? { ...before, withoutOutsideChange: new Set(), data: { ...before.data, isCleared: false } }
      : before;
  const { parked, stopsInDoubt, withoutOutsideChange } = memory;
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
      const started = outcome.kind === 'done' ? withOne(withoutOutsideChange, step.id) : withoutOutsideChange;
      return { ...memory, hasStarted: memory.hasStarted || mayBeDone, withoutOutsideChange: started };
    }
    case 'waitOutPendingStop':
      return outcome.kind === 'done' ? { ...memory, stopTimedOut: withOne(memory.stopTimedOut, step.id) } : memory;
    case 'hook': {
      const hasRun = outcome.kind === 'done' || outcome.kind === 'warned';
      return hasRun ? { ...memory, hooked: withOne(memory.hooked, step.id) } : memory;
    }
    case 'copyFiles':
      return isDone ? { ...memory, filled: withOne(memory.filled, step.id) } : memory;
    case 'compare':
      return isDone ? { ...memory, compared: withOne(memory.compared, step.id) } : memory;
    case 'awaitHealth':
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
  const { id, message, wasRunningAtFirst } = outcome;
  const isItsOwn = wasRunningAtFirst || memory.withoutOutsideChange.has(id);
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

export function describeStep<K extends StepKind>(step: StepOf<K>, facts: TransactionFacts): string {
  return descriptions[step.kind](step, facts);
}

const descriptions: { readonly [K in StepKind]: (step: StepOf<K>, facts: TransactionFacts) => string } = {
  mark: ({ oldId }, facts) => `marking the update of "${memberOf(facts, oldId)}" in the engine`,
  unmark: ({ oldId }, facts) => `removing the mark of the update of "${memberOf(facts, oldId)}"`,
  create: ({ member }, facts) => `creating the successor of "${facts.members[member]?.name ?? ''}"`,
  autoRemoveReplica: ({ member }, facts) => `creating a stand-in for "${facts.members[member]?.name ?? ''}"`,
  connect: ({ id }, facts) => `connecting "${nameOf(facts, id)}" to its networks`,
  copyFiles: ({ member }, facts) => `copying the files of "${facts.members[member]?.name ?? ''}"`,
  compare: ({ id }, facts) => `comparing "${nameOf(facts, id)}" with its successor`,
  rename: ({ id, to }, facts) => `renaming "${nameOf(facts, id)}" to "${to}"`,
  policy: ({ id }, facts) => `setting the restart policy of "${nameOf(facts, id)}"`,
  stop: ({ id }, facts) => `stopping "${nameOf(facts, id)}"`,
  start: ({ id }, facts) => `starting "${nameOf(facts, id)}"`,
  awaitHealth: () => 'waiting for health',
  hook: ({ id }, facts) => `running the hook of "${nameOf(facts, id)}"`,
  waitOutPendingStop: ({ id }, facts) => `watching "${nameOf(facts, id)}"`,
  tag: ({ reference }) => `tagging "${reference}"`,
  remove: ({ id }, facts) => `removing "${nameOf(facts, id)}"`,
  leave: ({ id }, facts) => `leaving "${nameOf(facts, id)}" behind`,
  measureData: (_, facts) => `measuring the data of ${namesOf(facts)}`,
  armData: (_, facts) => `preparing the copy of the data of ${namesOf(facts)}`,
  saveData: (_, facts) => `copying the data of ${namesOf(facts)}`,
  restoreData: (_, facts) => `restoring the data of ${namesOf(facts)}`,
  freeReserve: (_, facts) => `freeing the reserve of ${namesOf(facts)}`,
  clearData: (_, facts) => `removing the copy of the data of ${namesOf(facts)}`,
  keep: ({ id }, facts) => `keeping the old "${nameOf(facts, id)}"`,
};

function namesOf({ members }: TransactionFacts): string {
  return members.map(({ name }) => `"${name}"`).join(', ');
}

function memberOf({ members }: TransactionFacts, oldId: string): string {
  return members.find((member) => member.oldId === oldId)?.name ?? '';
}

function nameOf(facts: TransactionFacts, id: string | undefined): string {
  return facts.members.find((member) => [member.old?.id, member.new?.id, member.replica?.id].includes(id))?.name ?? '';
}

/** `inVain`: how often a step may succeed without a change of the facts. `failures`: how often it may fail. */
export const limits: { readonly [K in StepKind]: { readonly inVain: number; readonly failures: number } } = {
  mark: { inVain: 2, failures: 3 },
  unmark: { inVain: 2, failures: 5 },
  create: { inVain: 2, failures: 3 },
  autoRemoveReplica: { inVain: 2, failures: 8 },
  connect: { inVain: 3, failures: 3 },
  copyFiles: { inVain: 2, failures: 3 },
  compare: { inVain: 2, failures: 3 },
  rename: { inVain: 3, failures: 8 },
  policy: { inVain: 3, failures: 5 },
  hook: { inVain: 2, failures: 3 },
  stop: { inVain: 3, failures: 8 },
  start: { inVain: 2, failures: 8 },
  awaitHealth: { inVain: 2, failures: 8 },
  waitOutPendingStop: { inVain: 2, failures: 8 },
  tag: { inVain: 2, failures: 3 },
  remove: { inVain: 3, failures: 5 },
  keep: { inVain: 3, failures: 5 },
  leave: { inVain: 2, failures: 3 },
  measureData: { inVain: 2, failures: 3 },
  armData: { inVain: 2, failures: 3 },
  saveData: { inVain: 3, failures: 3 },
  restoreData: { inVain: 3, failures: 8 },
  freeReserve: { inVain: 2, failures: 3 },
  clearData: { inVain: 2, failures: 5 },
};

/** 0.1, 0.2, 0.4 … 5 s: eight attempts take about 20 s, long enough for an engine that has just booted. */
export function backoffMs(attempt: number): number {
  return Math.min(5000, 50 * 2 ** attempt);
}

/** The longest times for which facts are read again from an engine that does not show them, and a pause between. */
export const readingLimits = {
  /** While it cannot be reached. After it, the next start of Upkeep finishes the transaction. */
  reconnectMs: 600_000,
  /** While it answers with errors: a container that it cannot show must not block all others. */
  refusalMs: 60_000,
  /**
   * While it cannot be reached after a stop signal, in all well below the ten seconds until Docker kills a container that
   * it stops: https://docs.docker.com/reference/cli/docker/container/stop/
   */
  stoppingMs: 5_000,
  stoppingPauseMs: 1_000,
} as const;

/** A step's outcome. `fault` means that a new version failed, not that the engine refused. */
export type StepOutcome =
  | CallOutcome
  | { readonly kind: 'measured'; readonly figures: DataFigures }
  /** There is no copy of the data: its volume is gone. */
  | { readonly kind: 'no copy' }
  /** The volume of the copy is there, and the save was never completed. */
  | { readonly kind: 'never saved' }
  | {
      readonly kind: 'fault';
      readonly id: string;
      readonly message: string;
      /** Whether it was up at the first inspection. If not, a restarted engine may have ended it. */
      readonly wasRunningAtFirst: boolean;
    }
  | HookAnswer;

export type HookAnswer =
  | { readonly kind: 'done' }
  /** The container does not exist. */
  | { readonly kind: 'noop' }
  /** The old container refuses to be replaced, or (`deferred`) refuses it now. */
  | { readonly kind: 'declined'; readonly message: string; readonly deferred: boolean }
  /** The hook failed in the new container. The update continues. */
  | { readonly kind: 'warned'; readonly message: string };
