import type { ExecutionMemory, MemberFacts, TransactionFacts } from '../facts.ts';

/**
 * The task of a process in a transaction:
 *
 * - `update`: moves a group to its new images
 * - `hand-over`: the same for our own container, up to the point where a helper has to go on
 * - `rehearse`: creates and compares the successors, then removes them again
 * - `recover`: ends a transaction of an earlier process
 * - `finish-as-helper`: goes on where a `hand-over` has ended
 * - `return`: opens a committed transaction again, to bring the kept container back
 */
export type TransactionMode = 'update' | 'hand-over' | 'rehearse' | 'recover' | 'finish-as-helper' | 'return';

/**
 * The memory of one process about one transaction: a plain value, which `learn` and `observe` replace. After a crash
 * the engine's facts are enough to end a transaction right. The memory only saves a repeated check, bounds the
 * attempts, and says why the transaction turned back.
 */
export type TransactionMemory = ExecutionMemory & {
  readonly mode: TransactionMode;
  /** Why it went back or got stuck; empty otherwise. */
  readonly reason: string;
  /** It was in nobody's power here: another instance or a person was at it. */
  readonly busy: boolean;
  /** A rehearsal came as far as it was to come. */
  readonly isRehearsed: boolean;
  /** A helper has decided once whether it goes on forward. */
  readonly isTakenUp: boolean;
  /** Whether any container was stopped on the way. */
  readonly stopped: boolean;
  /** Whether any container was started on the way. */
  readonly hasStarted: boolean;
  /** There may be containers in the engine that carry the journal of this transaction. */
  readonly mayHaveCreated: boolean;
  /** By `stepKey`: how often a step was tried, and the last refusal of it. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly refusals: ReadonlyMap<string, string>;
  /** Ids of successors that were started here, and that nothing has happened to since but their own doing. */
  readonly undisturbed: ReadonlySet<string>;
  /** The other maps are by the old container's id. The last id of each successor: */
  readonly successorIds: ReadonlyMap<string, string>;
  /** The engine's timestamps of the last end of each old container, and of the start of each successor. */
  readonly endedAt: ReadonlyMap<string, string>;
  readonly startedAt: ReadonlyMap<string, string>;
  /** Ids of images that failed for their own fault. */
  readonly failedImages: ReadonlyMap<string, string>;
  /** Harmless failures. */
  readonly warnings: ReadonlyMap<string, string>;
};

export function beginMemory(mode: TransactionMode): TransactionMemory {
  const isUpdate = mode === 'update' || mode === 'hand-over' || mode === 'rehearse';
  const isRecovery = mode === 'recover' || mode === 'finish-as-helper';
  return {
    mode,
    wish: isUpdate ? 'forward' : isRecovery ? 'recover' : 'back',
    isRecovery,
    reopens: mode === 'return',
    engaged: isUpdate ? new Set() : 'all',
    parked: isUpdate ? new Set() : 'any',
    stopsInDoubt: isRecovery ? 'any' : new Set(),
    seenParked: new Set(),
    compared: new Set(),
    proven: new Set(),
    hooked: new Set(),
    outwaited: new Set(),
    pruned: new Set(),
    givenUp: new Set(),
    reason: '',
    busy: false,
    isRehearsed: false,
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

/** Going forward has ended; the first reason is the one that counts. */
export function turnBack(
  memory: TransactionMemory,
  reason: string,
  busy: boolean,
  isRehearsed = false,
): TransactionMemory {
  return { ...memory, wish: 'back', busy, isRehearsed, reason: memory.reason === '' ? reason : memory.reason };
}

export function blame(memory: TransactionMemory, why: string): TransactionMemory {
  return { ...memory, reason: memory.reason === '' ? why : `${memory.reason}; then ${why}` };
}

/** A member that is created anew of the image it has had all along failed for another reason than its version. */
export function noteFailure(memory: TransactionMemory, successorId: string, { members }: TransactionFacts) {
  const isIt = ({ oldId }: MemberFacts) => memory.successorIds.get(oldId) === successorId;
  const member = members.find(isIt);
  const imageId = member?.new?.imageId ?? member?.newImageId ?? '';
  if (member === undefined || imageId === '' || imageId === member.oldImageId) return memory;
  return { ...memory, failedImages: withEntry(memory.failedImages, member.oldId, imageId) };
}
