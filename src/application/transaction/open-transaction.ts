import type { Member } from '../../domain/transaction/facts.ts';
import { isAlive, restartPolicyOf, type Container } from '../../domain/container/container.ts';
import { isFailure, type EngineInfo, type CallOutcome } from '../../domain/outside/engine.ts';
import type { FileBundle } from './hand-over.ts';
import { hasSelfRemovingSuccessor, removesItself, type Journal } from '../../domain/transaction/journal.ts';
import { namelessTag, transactionMarkTag, type TransactionMark } from '../../domain/transaction/transaction-names.ts';
import type { PlannedTransaction } from '../../domain/plan/update-plan.ts';
import type { PreparedMember } from './prepare.ts';
import type { Step, StepKind, StepOf } from '../../domain/transaction/member.ts';
import type { StepOutcome } from '../../domain/transaction/memory.ts';
import { otherNames } from '../../domain/check/known-versions.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { describeError } from '../../domain/text/errors.ts';

/** A transaction under way in this process. */
export type OpenTransaction = {
  /** Empty for a parked container without a journal. */
  readonly id: string;
  readonly members: readonly Member[];
  readonly liveRestore: boolean;
  readonly changesRestartPolicies: boolean;
  /** See `TransactionFacts`. A recovery without a mark sets none either. */
  readonly setsNoMarks: true | undefined;
  /** Ids of successors by the id of the old container. `readFacts` fills it to save a search. It may be outdated. */
  readonly successors: Map<string, string>;
  /** The same for the auto-remove replicas of old containers. */
  readonly autoRemoveReplicas: Map<string, string>;
  /** The tags that mark the transaction in the engine, by the old container's id: see `TransactionMark`. */
  readonly marks: Map<string, string>;
  /** The time at which this process set them, by the monotonic clock. */
  readonly markedAtMs: Map<string, number>;
  /** The tags that mark its data helpers, by the helper's id. */
  readonly dataHelpers: Map<string, string>;
  /** The last reading of each container, by id, with its changes by this process since. */
  readonly lastRead: Map<string, LastRead>;
  /** Containers that were read before the next facts, by id. Each replaces one inspection, once. */
  readonly readBefore: Map<string, ReadBefore>;
  /** The image of each tag before this process moved it to create a successor, by the old container's id. */
  readonly tagsBefore: Map<string, string>;
  /** The old containers whose new image got its own tag from this process. */
  readonly tagged: Set<string>;
  /** The placed files that this process has read, by the old container's id. */
  readonly files: Map<string, FileBundle>;
  readonly stopTimes: StopTimes;
};

/** `untilMs`: the monotonic time at which the reading is too old. */
type ReadBefore = { readonly container: Container; readonly untilMs: number };

/**
 * `atMs`: its monotonic time. `servesUntilMs`: the same as above, for the next facts; 0 after a step whose effect only
 * the engine knows. `hasServed`: the present facts use it instead of another reading.
 */
type LastRead = {
  readonly container: Container;
  readonly atMs: number;
  readonly servesUntilMs: number;
  readonly hasServed: boolean;
};

/**
 * How long a reading serves the next facts, from its time or from the last answer to a call of this process. An engine
 * or a host takes longer to start again, so only another client of the engine can have changed the container.
 */
export const servesForMs = 250;

/** The longest time for which answers prolong the use of a reading. */
const maxServesForMs = 2000;

type Performed = {
  readonly step: Step;
  readonly outcome: StepOutcome;
  readonly begunAtMs: number;
  readonly endedAtMs: number;
};

/** Keeps the last readings up to date after a step, or ends their use. */
export function noteStep(transaction: Pick<OpenTransaction, 'lastRead'>, performed: Performed): void {
  const { step, outcome, begunAtMs, endedAtMs } = performed;
  // It makes no call.
  if (outcome.kind === 'done' && step.kind === 'compare') return;
  if (outcome.kind !== 'done' || !(leavesContainers.has(step.kind) || changesOne.has(step.kind)))
    return readAgain(transaction);
  for (const [id, last] of transaction.lastRead) {
    const hasServed = last.servesUntilMs > begunAtMs;
    const untilMs = Math.min(endedAtMs + servesForMs, last.atMs + maxServesForMs);
    const servesUntilMs = hasServed ? Math.max(untilMs, last.servesUntilMs) : 0;
    const same = { ...last, servesUntilMs };
    transaction.lastRead.set(
      id,
      'id' in step && step.id === id && changesOne.has(step.kind) ? changed(same, step) : same,
    );
  }
}

/** Ends the use of all readings, except that of one container. */
export function readAgain({ lastRead }: Pick<OpenTransaction, 'lastRead'>, exceptId?: string): void {
  for (const [id, last] of lastRead) if (id !== exceptId) lastRead.set(id, { ...last, servesUntilMs: 0 });
}

const leavesContainers: ReadonlySet<StepKind> = new Set(['mark', 'unmark']);

const changesOne: ReadonlySet<StepKind> = new Set(['rename', 'policy', 'stop', 'start']);

function changed(last: LastRead, step: Step): LastRead {
  if (step.kind === 'rename') return { ...last, container: { ...last.container, name: step.to } };
  if (step.kind !== 'policy') return { ...last, servesUntilMs: 0 };
  const { settings } = last.container;
  const HostConfig = { ...settings.HostConfig, RestartPolicy: step.policy };
  return { ...last, container: { ...last.container, settings: { ...settings, HostConfig } } };
}

/** The parts that differ between open transactions. The other fields start empty. */
type OpenedTransaction = Pick<OpenTransaction, 'id' | 'members'> &
  Partial<Pick<OpenTransaction, 'successors' | 'autoRemoveReplicas' | 'marks' | 'dataHelpers' | 'setsNoMarks'>>;

export function opened(
  {
    id,
    members,
    successors = new Map(),
    autoRemoveReplicas = new Map(),
    marks = new Map(),
    dataHelpers = new Map(),
    setsNoMarks,
  }: OpenedTransaction,
  { liveRestore, abilities }: Pick<EngineInfo, 'liveRestore' | 'abilities'>,
): OpenTransaction {
  return {
    id,
    members,
    liveRestore,
    changesRestartPolicies: abilities.changesRestartPolicies,
    setsNoMarks,
    successors,
    autoRemoveReplicas,
    marks,
    dataHelpers,
    markedAtMs: new Map(),
    lastRead: new Map(),
    readBefore: new Map(),
    tagsBefore: new Map(),
    tagged: new Set(),
    files: new Map(),
    stopTimes: createStopTimes(),
  };
}

/**
 * A member whose update is about to begin. Its old container is not kept, and is stopped before its successor starts.
 */
export function memberFromPlan(
  { planned, image, files, composeReference, laterEndpoints }: PreparedMember,
  { members }: PlannedTransaction,
): Member {
  const { container, reference, formerReference, desiredEndState, waitsFor } = planned;
  const isRunning = isAlive(container.state.status);
  return {
    ...unplanned,
    name: container.name,
    oldId: container.id,
    policy: restartPolicyOf(container),
    wasRunning: isRunning,
    ...(isRunning && container.state.health === 'unhealthy' && { wasUnhealthy: true }),
    desiredEndState,
    ...(files.length > 0 && { files }),
    ...(composeReference !== undefined && { composeReference }),
    waitsFor: waitsFor.map((awaited) => members.findIndex((other) => other.container.id === awaited)),
    reference,
    ...(formerReference !== undefined && { formerReference }),
    oldImageId: container.imageId,
    // The other tag was never on the old image.
    taggedBefore: formerReference === undefined ? container.imageId : '',
    targetImageId: image.id,
    newImageId: image.id,
    ...(planned.digest !== undefined && planned.imageId === undefined && { isPulled: true }),
    needsAutoRemoveReplica: removesItself(container) && isRunning,
    autoRemoves: hasSelfRemovingSuccessor(container),
    laterNetworks: laterEndpoints,
  };
}

/** A member from the journal that one of its containers carries. */
export function memberFromJournal(journal: Journal): Member {
  return { ...unplanned, ...journal };
}

/** A member from a mark alone, when every container with a journal is gone. */
export function memberFromMark(
  name: string,
  oldId: string,
  mark: Pick<TransactionMark, 'policy' | 'wasRunning' | 'imageId'> | undefined,
): Member {
  const wasRunning = mark?.wasRunning ?? false;
  return {
    ...unplanned,
    name,
    oldId,
    policy: mark?.policy,
    wasRunning,
    desiredEndState: wasRunning ? 'running' : 'stopped',
    newImageId: mark?.imageId ?? '',
  };
}

const unplanned = {
  reference: '',
  oldImageId: '',
  taggedBefore: '',
  keepMs: 0,
  autoRemoves: false,
  waitsFor: [],
  targetImageId: undefined,
  needsAutoRemoveReplica: false,
  startsFirst: false,
  laterNetworks: [],
} satisfies Partial<Member>;

type Context = { readonly outside: Outside; readonly transaction: OpenTransaction };

/** Marks a transaction as open for one old container, with a tag on the new image. */
export async function setMark({ outside, transaction }: Context, { oldId }: StepOf<'mark'>): Promise<CallOutcome> {
  const member = transaction.members.find((one) => one.oldId === oldId);
  if (member === undefined) return { kind: 'refused', status: 0, message: 'it is not part of the update' };
  const { policy = { Name: '', MaximumRetryCount: 0 }, wasRunning, newImageId } = member;
  const order = { oldId, policy, wasRunning, transaction: transaction.id };
  const tag = transactionMarkTag(order, outside.seal?.sign);
  const outcome = await outside.engine.tagImage(newImageId, tag);
  if (outcome.kind === 'done' || outcome.kind === 'noop') {
    transaction.marks.set(oldId, tag);
    transaction.markedAtMs.set(oldId, outside.clock.monotonicMs());
  }
  return outcome;
}

/**
 * For other instances, a mark without a container belongs to a dead update after this time. The container is normally
 * created some milliseconds after its mark.
 */
export const strayAfterMs = 2000;

/** An instance may remove a stray mark within this time after its last reading. */
export const settleWithinMs = 1000;

/**
 * Whether the container was created so late after its mark that another instance may have removed the mark and reset
 * the tag. Resolves when no other instance can do so any more.
 */
export async function wasCreatedLate({ outside: { clock }, transaction }: Context, oldId: string): Promise<boolean> {
  const markedAtMs = transaction.markedAtMs.get(oldId) ?? clock.monotonicMs();
  if (clock.monotonicMs() - markedAtMs < strayAfterMs / 2) return false;
  await clock.sleep(settleWithinMs + graceMs);
  return true;
}

/** The longest delay of a call in the engine. */
const graceMs = 500;

/** Removes the mark when the transaction has nothing left to do. */
export async function removeMark({ outside, transaction }: Context, { oldId }: StepOf<'unmark'>): Promise<CallOutcome> {
  const tag = transaction.marks.get(oldId);
  if (tag === undefined) return { kind: 'noop' };
  // An image with a container is not removed with its last tag: the engine refuses that.
  const isNamed = transaction.tagged.has(oldId) && transaction.successors.has(oldId);
  const removed = isNamed ? await outside.engine.removeImage(tag) : undefined;
  const outcome = removed === undefined || removed.kind === 'refused' ? await untag(outside, tag) : removed;
  if (outcome.kind === 'done' || outcome.kind === 'noop') transaction.marks.delete(oldId);
  return outcome;
}

/**
 * Gives an image without any other name a name first. Otherwise the engine would remove the image with its last tag, or
 * refuse to remove the tag.
 */
export async function untag({ engine }: Pick<Outside, 'engine'>, tag: TransactionMark['tag']): Promise<CallOutcome> {
  const image = await engine.inspectImage(tag);
  if (image === undefined) return { kind: 'noop' };
  if (otherNames(image, tag).length === 0) {
    const named = await engine.tagImage(image.id, namelessTag);
    if (isFailure(named)) return named;
  }
  return engine.removeImage(tag);
}

/** The times at which stops of containers were sent, by the engine's clock. */
type StopTimes = {
  /** Called just before the first stop of a container is sent. Never throws. */
  readonly note: (outside: Pick<Outside, 'engine' | 'clock' | 'log'>, id: string) => Promise<void>;
  /** Milliseconds since the epoch. Undefined if the container was not stopped, or the engine reported no time. */
  readonly sentAtMs: (id: string) => number | undefined;
};

/** The engine's clock is read once, before the first stop, and advanced by our monotonic clock after that. */
export function createStopTimes(): StopTimes {
  const sentAtMs = new Map<string, number>();
  let reading: Promise<number | undefined> | undefined;
  return {
    async note(outside, id) {
      reading ??= readOffset(outside);
      const offsetMs = await reading;
      if (offsetMs !== undefined && !sentAtMs.has(id)) sentAtMs.set(id, outside.clock.monotonicMs() + offsetMs);
    },
    sentAtMs: (id) => sentAtMs.get(id),
  };
}

/** The offset of the engine's clock, from the time of the request: a stop has the same latency. */
async function readOffset({
  engine,
  clock,
  log,
}: Pick<Outside, 'engine' | 'clock' | 'log'>): Promise<number | undefined> {
  const askedAtMs = clock.monotonicMs();
  try {
    return (await engine.info()).nowMs - askedAtMs;
  } catch (error) {
    log.debug("cannot read the engine's time", { error: describeError(error) });
    return undefined;
  }
}
