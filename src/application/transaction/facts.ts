import {
  placedBy,
  isOnItsWay,
  observe,
  type ContainerFacts,
  type Member,
  type MemberFacts,
  type TransactionFacts,
} from '../../domain/transaction/facts.ts';
import { isAlive, restartPolicyOf, type Container } from '../../domain/container/container.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import { hookCommand, exitOf, type ProcessExit } from '../../domain/processes.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import { readJournal, transactionLabel, carriesJournal } from '../../domain/transaction/journal.ts';
import type { HookName } from '../../domain/settings/table/service-options.ts';
import { backoffMs, readingLimits, addReason, type TransactionMemory } from '../../domain/transaction/memory.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { readDataFacts } from './data.ts';
import { servesForMs, type OpenTransaction } from './open-transaction.ts';
import { parseTransactionName, transactionNamePrefix } from '../../domain/transaction/transaction-names.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { TransactOptions } from './transact.ts';
import type { EngineEvent } from '../../domain/outside/engine.ts';

type FactsContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
};

/**
 * Reads the engine's facts about a transaction as one snapshot. Between the stop of the old container and the start of
 * the new one this is downtime, so it takes two inspections per member and no list.
 */
async function readFacts(context: FactsContext, memory: TransactionMemory): Promise<TransactionFacts> {
  const { outside, transaction } = context;
  // A recovery knows its containers. Others may have copied the label since.
  const mayBeNew = memory.mayHaveCreated && !memory.isRecovery && transaction.id !== '';
  if (mayBeNew && transaction.members.some((member) => isUnknown(member, memory, transaction))) {
    await findSuccessors(outside, transaction);
  }
  const [data, ...members] = await Promise.all([
    readDataFacts(outside, transaction),
    ...transaction.members.map((member) => readMember(context, member, memory)),
  ]);
  const { liveRestore, setsNoMarks } = transaction;
  return { members, liveRestore, setsNoMarks, memory, ...(data !== undefined && { data }) };
}

function isUnknown(
  { oldId, needsAutoRemoveReplica }: Member,
  { pruned }: TransactionMemory,
  { successors, autoRemoveReplicas }: OpenTransaction,
): boolean {
  const needsReplica = needsAutoRemoveReplica || pruned.has(oldId);
  return !successors.has(oldId) || (needsReplica && !autoRemoveReplicas.has(oldId));
}

async function findSuccessors(
  { engine }: Outside,
  { id, successors, autoRemoveReplicas }: OpenTransaction,
): Promise<void> {
  for (const { id: containerId, labels } of await engine.listContainers({ label: `${transactionLabel}=${id}` })) {
    const reading = readJournal(labels);
    if (reading.kind !== 'journal') continue;
    (reading.journal.role === 'replica' ? autoRemoveReplicas : successors).set(reading.journal.oldId, containerId);
  }
}

async function readMember(
  { outside, settings, transaction }: FactsContext,
  member: Member,
  memory: TransactionMemory,
): Promise<MemberFacts> {
  const { engine } = outside;
  const { successors, autoRemoveReplicas, lastRead, readBefore } = transaction;
  const nowMs = outside.clock.monotonicMs();
  const isForward = isOnItsWay(memory) && !member.needsAutoRemoveReplica && member.data === undefined;
  const read = async (id: string | undefined) => {
    if (id === undefined) return undefined;
    const before = readBefore.get(id);
    readBefore.delete(id);
    const last = lastRead.get(id);
    if (before !== undefined && nowMs < before.untilMs) {
      const servesUntilMs = before.untilMs === Infinity ? 0 : before.untilMs;
      lastRead.set(id, { container: before.container, atMs: nowMs, servesUntilMs, hasServed: true });
      return before.container;
    }
    const serves = isForward && last !== undefined && nowMs < last.servesUntilMs;
    if (serves) {
      lastRead.set(id, { ...last, hasServed: true });
      return last.container;
    }
    const container = await engine.inspectContainer(id);
    if (container !== undefined)
      lastRead.set(id, { container, atMs: nowMs, servesUntilMs: nowMs + servesForMs, hasServed: false });
    else if (last !== undefined) lastRead.set(id, { ...last, servesUntilMs: 0, hasServed: false });
    return container;
  };
  const [original, successor, autoRemoveReplica] = await Promise.all([
    read(member.oldId),
    read(successors.get(member.oldId)),
    read(autoRemoveReplicas.get(member.oldId)),
  ]);
  if (successor === undefined) successors.delete(member.oldId);
  if (autoRemoveReplica === undefined) autoRemoveReplicas.delete(member.oldId);
  const isOver = autoRemoveReplica !== undefined && (original === undefined || !isAlive(original.state.status));
  const [old, replica] = isOver ? [autoRemoveReplica, original] : [original, autoRemoveReplica];
  const reference = memory.isRecovery ? followedTag(old) : member.reference;
  const hasHook = (container: Container, hook: HookName) => hookCommand(container, hook, settings) !== undefined;
  const oldFacts = old && factsOf(old, member.name, hasHook(old, 'preUpdate'));
  const spareFacts = replica && factsOf(replica, member.name, false);
  const newFacts = successor && factsOf(successor, member.name, hasHook(successor, 'postUpdate'));
  return {
    ...member,
    isMarked: transaction.marks.has(member.oldId),
    old:
      oldFacts && isOver && member.data !== undefined && oldFacts.place === 'old'
        ? { ...oldFacts, hasData: true }
        : oldFacts,
    new: newFacts,
    replica: spareFacts,
    lacksAutoRemoveReplica:
      autoRemoveReplica === undefined &&
      (oldFacts === undefined
        ? memory.pruned.has(member.oldId)
        : member.needsAutoRemoveReplica && oldFacts.place === 'name'),
    isReplica: isOver,
    missingOfAutoRemoveReplica: autoRemoveReplica === undefined ? [] : missingNetworks(member, autoRemoveReplica),
    nameHeldBy:
      spareFacts?.place === 'name'
        ? 'old'
        : await holderOf(outside, { ...member, transaction: transaction.id }, oldFacts, newFacts),
    policyIsFixed: !transaction.changesRestartPolicies || member.hasFixedPolicy === true,
    reference,
    tagMovedFrom: transaction.tagsBefore.get(member.oldId),
    missingNetworks: successor === undefined ? [] : missingNetworks(member, successor),
    rivals:
      newFacts?.place === 'new' &&
      (oldFacts === undefined || (oldFacts.place === 'name' && memory.direction === 'forward'))
        ? await rivalsOf(outside, member.name, [newFacts.id, replica?.id], replacedBy(original))
        : [],
    taggedImageId:
      memory.direction === 'forward' || reference === '' ? undefined : (await engine.inspectImage(reference))?.id,
  };
}

/**
 * The tag that a container was created from, by the engine's answer: journals are not trusted for tags. Empty if it was
 * not created from a tag.
 */
export function followedTag(old: Container | undefined): string {
  const text = old?.settings.Config.Image ?? '';
  const reference = tryParseImageReference(text);
  return reference === undefined || reference.digest !== undefined || isImageId(text, old?.imageId ?? '') ? '' : text;
}

function factsOf(container: Container, name: string, hasHook: boolean): ContainerFacts {
  const { id, imageId } = container;
  const { status, startedAt, finishedAt } = container.state;
  return {
    id,
    ...placedBy(container.name, name),
    status,
    startedAt,
    finishedAt,
    policy: restartPolicyOf(container),
    imageId,
    hasHook,
  };
}

/** Before the first start, a container's endpoints show only the names of its networks. */
function missingNetworks({ laterNetworks }: Member, successor: Container): string[] {
  const connected = new Set<string | undefined>();
  for (const [name, endpoint] of Object.entries(successor.settings.Networks))
    connected.add(name).add(endpoint.NetworkID);
  return laterNetworks
    .filter(({ networkId, networkName }) => !connected.has(networkId) && !connected.has(networkName))
    .map(({ networkId }) => networkId);
}

async function holderOf(
  { engine }: Outside,
  { name, oldId, transaction }: Member & { readonly transaction: string },
  old: ContainerFacts | undefined,
  successor: ContainerFacts | undefined,
): Promise<MemberFacts['nameHeldBy']> {
  if (old?.place === 'name') return 'old';
  if (successor?.place === 'name') return 'new';
  const holder = await engine.inspectContainer(name);
  if (holder?.name !== name) return 'nobody';
  const reading = readJournal(holder.settings.Config.Labels ?? {});
  if (reading.kind !== 'journal' || reading.journal.oldId !== oldId) return 'stranger';
  return successor !== undefined && reading.journal.transaction === transaction ? 'copy' : 'rival';
}

/**
 * Other updates of the same name. Its `.upkeep-new` container is the lock; any other container of an update on that
 * name belongs to another update. A name alone does not count: it needs a journal, or it is the container that ours has
 * replaced.
 */
async function rivalsOf(
  { engine }: Outside,
  name: string,
  own: readonly (string | undefined)[],
  replacedId: string | undefined,
): Promise<string[]> {
  const containers = await engine.listContainers({ namePrefix: transactionNamePrefix(name) });
  return containers
    .filter(({ id, name: other, labels }) => {
      if (own.includes(id) || parseTransactionName(other)?.name !== name) return false;
      return carriesJournal(labels) || id === replacedId;
    })
    .map((container) => container.name);
}

/** The container that the last update of this one has replaced. */
function replacedBy(container: Container | undefined): string | undefined {
  const reading = readJournal(container?.settings.Config.Labels ?? {});
  return reading.kind === 'journal' ? reading.journal.oldId : undefined;
}

type Reading = {
  /** `outdated`: the memory has learned something since, so the facts must be read again. */
  readonly kind: 'read' | 'outdated' | 'unreadable';
  readonly memory: TransactionMemory;
  readonly facts: TransactionFacts | undefined;
};

/**
 * Reads the facts of one transaction, and lets the memory learn from them. Waits for an engine that cannot be reached,
 * but after a stop signal only for a moment: the engine's host may be going down with us.
 */
export function createFactsReader(options: TransactOptions): (before: TransactionMemory) => Promise<Reading> {
  const { outside, transaction, signal } = options;
  const findPruned = createPruneWatch(outside);

  async function readWhenReachable(
    before: TransactionMemory,
  ): Promise<{ readonly memory: TransactionMemory; readonly facts: TransactionFacts | undefined }> {
    const begunAtMs = outside.clock.monotonicMs();
    let stoppedAtMs: number | undefined;
    let memory = before;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return { memory, facts: await readFacts(options, memory) };
      } catch (error) {
        const hasAnswered =
          error instanceof ServiceError && (error.code === 'engine-refused' || error.code === 'engine-denied');
        const limitMs = hasAnswered ? readingLimits.refusalMs : readingLimits.reconnectMs;
        const nowMs = outside.clock.monotonicMs();
        if (signal?.aborted && !hasAnswered) stoppedAtMs ??= nowMs;
        const isOver = nowMs - begunAtMs > limitMs || nowMs - (stoppedAtMs ?? Infinity) >= readingLimits.stoppingMs;
        if (!(error instanceof ServiceError) || isOver) {
          if (!(error instanceof ServiceError))
            outside.log.error('the state of a transaction could not be read', { error });
          return { memory: addReason(memory, describeError(error)), facts: undefined };
        }
        memory = { ...memory, withoutOutsideChange: new Set() };
        const level = attempt === longSilence ? 'warn' : 'debug';
        outside.log[level]('The engine does not answer, and the update waits for it', { error: error.message });
        await pause(
          stoppedAtMs === undefined ? backoffMs(attempt) : Math.min(backoffMs(attempt), readingLimits.stoppingPauseMs),
        );
      }
    }
  }

  /** A stop signal ends one pause. */
  async function pause(ms: number): Promise<void> {
    const woken = signal?.aborted ? undefined : signal;
    await outside.clock.sleep(ms, woken).catch((error: unknown) => {
      if (woken?.aborted !== true) throw error;
    });
  }

  return async (before) => {
    const readAtMs = outside.clock.monotonicMs();
    const { memory: known, facts } = await readWhenReachable(before);
    if (facts === undefined) return { kind: 'unreadable', memory: known, facts };
    const memory = observe(known, facts, transaction.autoRemoveReplicas);
    if (memory.direction !== known.direction) return { kind: 'outdated', memory, facts };
    const pruned = 'prepared' in options.mode ? await findPruned(facts, readAtMs) : undefined;
    if (pruned !== undefined) return { kind: 'outdated', memory: { ...memory, pruned }, facts };
    return { kind: 'read', memory, facts };
  };
}

/** The attempt of the only warning, which a user sees after 3 s. */
const longSilence = 6;

/**
 * Detects old containers of a running transaction that a prune has removed. A removal by a person is intended and is
 * not undone. Call the returned function with every reading of the facts; `readAtMs` is the begin of that reading by
 * the monotonic clock. When it finds further pruned containers, it resolves to the ids of all of them, and the facts
 * must be read again. It asks the engine once about each container.
 */
function createPruneWatch({ engine, clock, log }: Outside) {
  const pruned = new Set<string>();
  const asked = new Set<string>();
  const seenAtMs = new Map<string, SeenAtMs>();

  async function hasPruned(sinceMs: number): Promise<boolean> {
    try {
      const { nowMs } = await engine.info();
      return await engine.hasPruned({
        sinceMs: nowMs - (clock.monotonicMs() - sinceMs) - clockErrorMs,
        untilMs: nowMs + maxPruneMs,
      });
    } catch (error) {
      log.debug('The engine does not show whether it has pruned containers', { error: describeError(error) });
      return false;
    }
  }

  function noteSeen({ oldId, old, new: successor, replica }: MemberFacts, readAtMs: number): void {
    const before = seenAtMs.get(oldId);
    const isOldSeen = old !== undefined || replica !== undefined;
    const any = isOldSeen || successor !== undefined ? readAtMs : before?.any;
    seenAtMs.set(oldId, { any, old: isOldSeen ? readAtMs : before?.old });
  }

  return async (facts: TransactionFacts, readAtMs: number): Promise<ReadonlySet<string> | undefined> => {
    for (const member of facts.members) noteSeen(member, readAtMs);
    const lost = facts.members
      .filter((member) => isLost(member, facts))
      .flatMap(({ oldId, new: successor }) => {
        const atMs = seenAtMs.get(oldId)?.[successor === undefined ? 'any' : 'old'];
        return atMs === undefined || asked.has(oldId) ? [] : [{ oldId, atMs }];
      });
    if (lost.length === 0) return undefined;
    for (const { oldId } of lost) asked.add(oldId);
    if (!(await hasPruned(Math.min(...lost.map(({ atMs }) => atMs))))) return undefined;
    for (const { oldId } of lost) pruned.add(oldId);
    return new Set(pruned);
  };
}

/** When the old container, and any container of a member, was seen last. */
type SeenAtMs = { readonly old: number | undefined; readonly any: number | undefined };

/**
 * Whether a member needs its old container, which is gone: its successor is gone too, or has failed. In a group the
 * successor stays then, because others already depend on it. A prune removes stopped containers, so only a container
 * that ran counts as lost.
 */
function isLost(
  { old, new: successor, replica, nameHeldBy, wasRunning }: MemberFacts,
  { members, memory: { direction, proven } }: TransactionFacts,
): boolean {
  if (old !== undefined || replica !== undefined || !wasRunning) return false;
  if (successor === undefined) return nameHeldBy === 'nobody';
  const hasFailed = direction === 'back' && !proven.has(successor.id) && members.length === 1;
  return hasFailed && (nameHeldBy === 'new' || nameHeldBy === 'nobody');
}

/** The engine announces a prune at its end, after some hundred containers. */
const maxPruneMs = 10_000;

/** The engine's clock is known to within the time of one request, whose deadline this is. */
const clockErrorMs = 30_000;

/** The successor whose process ended first in its group. */
type FirstToEnd = {
  readonly id: string;
  readonly oldId: string;
  readonly name: string;
  /** A clause about the end. Its subject is `it`, or the person who caused it. */
  readonly reason: string;
  /** True if it ended without a stop or kill from outside. */
  readonly ownFault: boolean;
  readonly isGone: boolean;
};

/**
 * Finds the container that ended first. Containers in the network of another one fail with it, and which failure is
 * seen first is random. Undefined if no successor has ended, or if the engine reports no times.
 */
export async function firstToEnd(
  outside: Outside,
  { members, successors }: Pick<OpenTransaction, 'members' | 'successors'>,
): Promise<FirstToEnd | undefined> {
  const suspects = members.flatMap((member) => {
    const id = successors.get(member.oldId);
    return id === undefined ? [] : [{ ...member, id }];
  });
  const events = await eventsOf(
    outside,
    suspects.map(({ id }) => id),
  );
  let first: (FirstToEnd & { readonly atMs: number }) | undefined;
  for (const { id, oldId, name, desiredEndState, autoRemoves } of suspects) {
    const container = await outside.engine.inspectContainer(id);
    const end = exitOf(id, container, events);
    if (end === undefined || (first !== undefined && first.atMs <= end.atMs)) continue;
    if (desiredEndState !== 'running' && end.exitCode === 0) continue;
    const isGone = container === undefined;
    const reason = end.wasRequested
      ? describeRequestedEnd(name, container, autoRemoves)
      : `${wordsOf(end)}${whereTo(isGone, autoRemoves)}`;
    first = { id, oldId, name, reason, ownFault: !end.wasRequested, isGone, atMs: end.atMs };
  }
  return first;
}

function wordsOf({ outOfMemory, exitCode, error }: ProcessExit): string {
  if (outOfMemory) return 'it ran out of memory';
  if (exitCode === undefined) return 'it ended';
  return `it exited with code ${exitCode}${error === '' ? '' : ` (${error})`}`;
}

function whereTo(isGone: boolean, autoRemoves: boolean): string {
  // It may still be visible for some milliseconds.
  if (autoRemoves) return ', and the engine removed it (--rm)';
  return isGone ? ', and someone removed it then' : '';
}

function describeRequestedEnd(name: string, container: Container | undefined, autoRemoves: boolean): string {
  if (container !== undefined) return `someone stopped the new "${name}"`;
  return `someone ${autoRemoves ? 'stopped or removed' : 'removed'} the new "${name}"`;
}

/** If the engine's events cannot be read, only inspections count. */
async function eventsOf({ engine, log }: Outside, ids: readonly string[]): Promise<readonly EngineEvent[]> {
  if (ids.length === 0) return [];
  try {
    const { nowMs } = await engine.info();
    return await engine.pastEvents({
      ids,
      sinceMs: nowMs - maxAgoMs,
      untilMs: nowMs + (ids.length > 1 ? settlingMs : alreadyNoticedMs),
    });
  } catch (error) {
    log.debug('The events of the successors cannot be read', { error: describeError(error) });
    return [];
  }
}

/** Longer than any health check. The containers belong to this transaction, so they have no older events. */
const maxAgoMs = 2 * 3_600_000;

/** An engine notices an exit some milliseconds later, and two exits in any order. */
const settlingMs = 250;

/** One exit has been noticed already. The end of a requested stop is reported some milliseconds later. */
const alreadyNoticedMs = 50;
