import type { ExecutionMemory, MemberFacts, TransactionFacts } from '../facts.ts';
import type { WhyUndone } from '../step.ts';

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
export type TransactionMode = 'update' | 'hand-over' | 'rehearse' | 'recover' | 'finish-as-helper' | 'return';

/**
 * The memory of one process about one transaction: a plain value that `learn` and `observe` replace. After a crash the
 * engine's facts are enough to end a transaction correctly. The memory only saves repeated checks, bounds the attempts,
 * and holds the reason of a rollback.
 */
export type TransactionMemory = ExecutionMemory & {
  readonly mode: TransactionMode;
  /** Why it was rolled back or got stuck; empty otherwise. */
  readonly reason: string;
  readonly busy: WhyUndone['busy'];
  readonly isRehearsed: boolean;
  readonly wasTagMoved: boolean;
  /** A helper has decided once whether to continue forward. */
  readonly isTakenUp: boolean;
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
  readonly undisturbed: ReadonlySet<string>;
  /** The last id of each successor. This map and the following ones have the old container's id as their key. */
  readonly successorIds: ReadonlyMap<string, string>;
  /** The engine's timestamps: the last end of each old container, and the start of each successor. */
  readonly endedAt: ReadonlyMap<string, string>;
  readonly startedAt: ReadonlyMap<string, string>;
  /** Ids of images that failed by their own fault. */
  readonly failedImages: ReadonlyMap<string, string>;
  /** Failures without consequences. */
  readonly warnings: ReadonlyMap<string, string>;
};

export function beginMemory(mode: TransactionMode): TransactionMemory {
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
    outwaited: new Set(),
    pruned: new Set(),
    givenUp: new Set(),
    reason: '',
    busy: false,
    isRehearsed: false,
    wasTagMoved: false,
    isTakenUp: false,
    stopped: false,
    hasStarted: false,
    mayHaveCreated: !isUpdate,
    attempts: new Map(),
    refusals: new Map(),
    undisturbed: new Set(),
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
