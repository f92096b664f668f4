import {
  type Member,
  type MemberFacts,
  placeOf,
  type ContainerFacts,
  type TransactionFacts,
} from '../../../domain/transaction/facts.ts';
import { type Container, isAlive, restartPolicyOf } from '../../../domain/container/container.ts';
import { isImageId } from '../../../domain/check/container-reference.ts';
import { hookCommand } from '../../../domain/health/hook.ts';
import { tryParseImageReference } from '../../../domain/reference/image-reference.ts';
import { readJournal, transactionLabel } from '../../../domain/transaction/journal.ts';
import { journalPrefix } from '../../../domain/container/label-names.ts';
import type { HookName } from '../../../domain/settings/table/container-labels.ts';
import type { TransactionMemory } from '../../../domain/transaction/memory/transaction-memory.ts';
import type { EngineInfo } from '../../../domain/outside/engine-reader.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../../domain/settings/service-settings.ts';
import { parseTransactionName, transactionNamePrefix } from '../../../domain/transaction/transaction-names.ts';
import { createStopTimes, type StopTimes } from './stop-times.ts';

/** A transaction under way in this process. */
export type OpenTransaction = {
  /** Empty for a parked container without a journal. */
  readonly id: string;
  readonly members: readonly Member[];
  readonly liveRestore: boolean;
  readonly changesRestartPolicies: boolean;
  /** Ids of successors by the id of the old container. `readFacts` fills it to save a search. It may be outdated. */
  readonly successors: Map<string, string>;
  /** The same for the auto-remove replicas of old containers. */
  readonly autoRemoveReplicas: Map<string, string>;
  /** The tags that mark the transaction in the engine, by the old container's id: see `OpenMark`. */
  readonly marks: Map<string, string>;
  /** The time at which this process set them, by the monotonic clock. */
  readonly markedAtMs: Map<string, number>;
  /** The containers of the last reading, by id. */
  readonly lastRead: Map<string, Container>;
  /** Containers that were read before the next facts, by id. Each replaces one inspection, once. */
  readonly readBefore: Map<string, ReadBefore>;
  /** The image of each tag before this process moved it to create a successor, by the old container's id. */
  readonly tagsBefore: Map<string, string>;
  readonly stopTimes: StopTimes;
};

/** `untilMs`: the monotonic time at which the reading is too old. */
export type ReadBefore = { readonly container: Container; readonly untilMs: number };

/** The parts that differ between open transactions. The other fields start empty. */
export type OpenedTransaction = Pick<OpenTransaction, 'id' | 'members'> &
  Partial<Pick<OpenTransaction, 'successors' | 'autoRemoveReplicas' | 'marks'>>;

export function opened(
  { id, members, successors = new Map(), autoRemoveReplicas = new Map(), marks = new Map() }: OpenedTransaction,
  { liveRestore, abilities }: Pick<EngineInfo, 'liveRestore' | 'abilities'>,
): OpenTransaction {
  const { changesRestartPolicies } = abilities;
  const fresh = {
    ...{ markedAtMs: new Map(), lastRead: new Map(), readBefore: new Map() },
    ...{ tagsBefore: new Map(), stopTimes: createStopTimes() },
  };
  return { id, members, liveRestore, changesRestartPolicies, successors, autoRemoveReplicas, marks, ...fresh };
}

type FactsContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
};

/**
 * Reads the engine's facts about a transaction as one snapshot. Between the stop of the old container and the start of
 * the new one this is downtime, so it takes two inspections per member and no list.
 */
export async function readFacts(context: FactsContext, memory: TransactionMemory): Promise<TransactionFacts> {
  const { outside, transaction } = context;
  // A recovery knows its containers. Others may have copied the label since.
  const mayBeNew = memory.mayHaveCreated && !memory.isRecovery && transaction.id !== '';
  if (mayBeNew && transaction.members.some((member) => isUnknown(member, transaction))) {
    await findSuccessors(outside, transaction);
  }
  const members = await Promise.all(transaction.members.map((member) => readMember(context, member, memory)));
  return { members, liveRestore: transaction.liveRestore, memory };
}

function isUnknown(
  { oldId, needsAutoRemoveReplica }: Member,
  { successors, autoRemoveReplicas }: OpenTransaction,
): boolean {
  return !successors.has(oldId) || (needsAutoRemoveReplica && !autoRemoveReplicas.has(oldId));
}

async function findSuccessors(
  { engine }: Outside,
  { id, successors, autoRemoveReplicas }: OpenTransaction,
): Promise<void> {
  for (const { id: containerId, labels } of await engine.listContainers({ label: `${transactionLabel}=${id}` })) {
    const reading = readJournal(labels);
    if (reading.kind !== 'journal') continue;
    (reading.journal.role === 'standin' ? autoRemoveReplicas : successors).set(reading.journal.oldId, containerId);
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
  const read = (id: string | undefined) => {
    if (id === undefined) return undefined;
    const before = readBefore.get(id);
    readBefore.delete(id);
    return before !== undefined && nowMs < before.untilMs ? before.container : engine.inspectContainer(id);
  };
  const [original, successor, autoRemoveReplica] = await Promise.all([
    read(member.oldId),
    read(successors.get(member.oldId)),
    read(autoRemoveReplicas.get(member.oldId)),
  ]);
  for (const one of [original, successor, autoRemoveReplica]) if (one !== undefined) lastRead.set(one.id, one);
  if (successor === undefined) successors.delete(member.oldId);
  if (autoRemoveReplica === undefined) autoRemoveReplicas.delete(member.oldId);
  const isOver = autoRemoveReplica !== undefined && (original === undefined || !isAlive(original.state.status));
  const [old, spare] = isOver ? [autoRemoveReplica, original] : [original, autoRemoveReplica];
  const reference = memory.isRecovery ? followedTag(old) : member.reference;
  const hasHook = (container: Container, hook: HookName) => hookCommand(container, hook, settings) !== undefined;
  const oldStanding = old && standingOf(old, member.name, hasHook(old, 'preUpdate'));
  const spareStanding = spare && standingOf(spare, member.name, false);
  const newStanding = successor && standingOf(successor, member.name, hasHook(successor, 'postUpdate'));
  return {
    ...member,
    isMarked: transaction.marks.has(member.oldId),
    old: oldStanding,
    new: newStanding,
    spare: spareStanding,
    lacksAutoRemoveReplica:
      autoRemoveReplica === undefined &&
      (oldStanding === undefined
        ? memory.pruned.has(member.oldId)
        : member.needsAutoRemoveReplica && oldStanding.place === 'name'),
    isReplica: isOver,
    missingOfAutoRemoveReplica: autoRemoveReplica === undefined ? [] : missingNetworks(member, autoRemoveReplica),
    nameHeldBy:
      spareStanding?.place === 'name'
        ? 'old'
        : await holderOf(outside, { ...member, transaction: transaction.id }, oldStanding, newStanding),
    policyIsFixed: !transaction.changesRestartPolicies,
    reference,
    tagMovedFrom: transaction.tagsBefore.get(member.oldId),
    missingNetworks: successor === undefined ? [] : missingNetworks(member, successor),
    rivals:
      oldStanding?.place === 'name' && newStanding?.place === 'new' && memory.direction === 'forward'
        ? await rivalsOf(outside, member.name, [newStanding.id, spare?.id], replacedBy(original))
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

function standingOf(container: Container, name: string, hasHook: boolean): ContainerFacts {
  const { id, imageId } = container;
  const { status, startedAt, finishedAt } = container.state;
  return {
    id,
    place: placeOf(container.name, name),
    status,
    startedAt,
    finishedAt,
    policy: restartPolicyOf(container),
    imageId,
    hasHook,
  };
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

/** Before the first start, a container's endpoints show only the names of its networks. */
function missingNetworks({ laterNetworks }: Member, successor: Container): string[] {
  const connected = new Set<string | undefined>();
  for (const [name, endpoint] of Object.entries(successor.settings.Networks))
    connected.add(name).add(endpoint.NetworkID);
  return laterNetworks
    .filter(({ networkId, networkName }) => !connected.has(networkId) && !connected.has(networkName))
    .map(({ networkId }) => networkId);
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
  const standing = await engine.listContainers({ namePrefix: transactionNamePrefix(name) });
  return standing
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

/** Whether a transaction made the container. That transaction may be over. */
export function carriesJournal(labels: Readonly<Record<string, string>>): boolean {
  return `${journalPrefix}v` in labels;
}
