import {
  placeOf,
  type ContainerFacts,
  type Member,
  type MemberFacts,
  type TransactionFacts,
} from '../../../domain/transaction/facts.ts';
import { isAlive, restartPolicyOf, type Container } from '../../../domain/container/container.ts';
import { isImageId } from '../../../domain/check/container-reference.ts';
import { hookCommand } from '../../../domain/health.ts';
import { tryParseImageReference } from '../../../domain/image/image-reference.ts';
import { readJournal, transactionLabel, carriesJournal } from '../../../domain/transaction/journal.ts';
import type { HookName } from '../../../domain/settings/table/service-options.ts';
import type { TransactionMemory } from '../../../domain/transaction/memory.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../../domain/settings/effective-settings.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { parseTransactionName, transactionNamePrefix } from '../../../domain/transaction/transaction-names.ts';

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
  if (mayBeNew && transaction.members.some((member) => isUnknown(member, memory, transaction))) {
    await findSuccessors(outside, transaction);
  }
  const members = await Promise.all(transaction.members.map((member) => readMember(context, member, memory)));
  const { liveRestore, setsNoMarks } = transaction;
  return { members, liveRestore, setsNoMarks, memory };
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
  const oldFacts = old && factsOf(old, member.name, hasHook(old, 'preUpdate'));
  const spareFacts = spare && factsOf(spare, member.name, false);
  const newFacts = successor && factsOf(successor, member.name, hasHook(successor, 'postUpdate'));
  return {
    ...member,
    isMarked: transaction.marks.has(member.oldId),
    old: oldFacts,
    new: newFacts,
    spare: spareFacts,
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
        ? await rivalsOf(outside, member.name, [newFacts.id, spare?.id], replacedBy(original))
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
    place: placeOf(container.name, name),
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
