import { isAlive, type ContainerSummary, type Container, type ImageSummary } from '../container/container.ts';
import { readJournal, hasValidSeal, ownJournal, type Journal } from '../transaction/journal.ts';
import {
  helperName,
  isMarkOf,
  parseTransactionName,
  isLeftOver,
  parseKeptName,
  type TransactionMark,
  type TransactionName,
  type KeptName,
} from '../transaction/transaction-names.ts';
import type { Instance, Seal } from '../outside/outside.ts';
import { isImageId } from '../check/container-reference.ts';
import { containerOwnLabels, type Labels } from '../image/labels.ts';
import {
  parseDigest,
  sameRepository,
  tryParseImageReference,
  repositoryName,
  type ImageReference,
} from '../image/image-reference.ts';
import { quoted } from '../text/printable.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import type { RemovedImage } from '../run/event.ts';

/**
 * An unfinished update. `in progress`: a running process works on it. `repair pending`: that process is gone, or there
 * is no sign that it is alive. The next run or start of Upkeep finishes or undoes the update.
 */
export type UnfinishedUpdate = {
  /** Plain name of the container. */
  readonly name: string;
  readonly state: 'in progress' | 'repair pending';
  /** A clause that names the container. */
  readonly reason: string;
  /** The old container at the start of the update. When it is parked, it has another name. */
  readonly container: ContainerSummary;
  /** Whether the update has taken the old container's name away. */
  readonly isParked: boolean;
  /** The container ran before the update, and neither it nor its successor runs. */
  readonly isDown?: true;
  /** The process that worked on it has certainly ended. */
  readonly isAbandoned?: true;
};

/**
 * One entry for each container of an unfinished update. A name alone does not count: there must be a journal that names
 * the container, and the container must be in a place that the journal's transaction would give it. A mark shows the
 * same of a parked container without a journal.
 */
export function unfinishedUpdates(
  containers: readonly ContainerSummary[],
  instance: Pick<Instance, 'ownerState' | 'containerId' | 'transactions'>,
  marks: readonly Pick<TransactionMark, 'oldId' | 'transactionKey'>[],
): readonly UnfinishedUpdate[] {
  const byId = new Map(containers.map((container) => [container.id, container]));
  const byName = new Map(containers.map((container) => [container.name, container]));
  const found = new Map<string, UnfinishedUpdate>();
  for (const carrier of containers) {
    const reading = readJournal(carrier.labels);
    if (reading.kind !== 'journal') continue;
    const { journal } = reading;
    const old = byId.get(journal.oldId);
    if (old === undefined || old === carrier || !isCarrierOf(journal, carrier)) continue;
    const parked = parseTransactionName(old.name);
    const isParked = parked?.name === journal.name && (parked.role === 'old' || parked.role === 'drop');
    if (!isParked && (old.name !== journal.name || carrier.name === journal.name)) continue;
    const { name } = journal;
    // Another container with the name is not part of this update.
    const holder = byName.get(name);
    if (isParked && holder !== undefined && holder !== carrier) continue;
    const helper = byName.get(helperName(name));
    const isRepairedHere =
      instance.transactions.has(journal.transaction) && instance.ownerState(journal.owner) !== 'self';
    const isAtWork =
      isRepairedHere || (helper !== undefined && isAlive(helper.status)) || isOwned(journal, byId, instance);
    const wasRunning = isParked ? parked.wasRunning : journal.wasRunning;
    const isStopped = wasRunning && !isAlive(old.status) && !isAlive(carrier.status);
    // Until it is parked, the container is watched as before. Another update fails because the successor's name is
    // taken. One that has its name back, and does not run yet, would be in no list.
    if (isAtWork && !isParked && !isStopped) continue;
    const which = instance.ownerState(journal.owner) === 'self' ? 'an' : 'another';
    const isDown = !isAtWork && isStopped;
    // It is watched as before the update, also where that has left it stopped.
    const status = wasRunning && (isParked || isStopped) ? 'running' : old.status;
    found.set(name, {
      name,
      state: isAtWork ? 'in progress' : 'repair pending',
      reason: isAtWork
        ? isRepairedHere
          ? beingRepaired(name)
          : `${which} update of "${name}" is in progress`
        : `repair pending: an update of "${name}" was interrupted${isDown ? whatToDo : ''}`,
      container: { ...old, name, status },
      isParked,
      ...(isDown && { isDown }),
      ...(!isAtWork && instance.ownerState(journal.owner) === 'dead' && { isAbandoned: true }),
    });
  }
  for (const mark of marks) {
    const one = withoutCarrier(byId.get(mark.oldId), mark, { byName, instance });
    if (one !== undefined && !found.has(one.name)) found.set(one.name, one);
  }
  return [...found.values()];
}

/** A parked container without a successor: a rollback has removed it, and could not give the name back. */
function withoutCarrier(
  old: ContainerSummary | undefined,
  mark: Pick<TransactionMark, 'transactionKey'>,
  { byName, instance }: { byName: ReadonlyMap<string, ContainerSummary>; instance: Pick<Instance, 'transactions'> },
): UnfinishedUpdate | undefined {
  const parked = old && parseTransactionName(old.name);
  if (old === undefined || (parked?.role !== 'old' && parked?.role !== 'drop')) return undefined;
  const holder = byName.get(parked.name);
  const isDown = parked.wasRunning && !isAlive(old.status);
  if (holder !== undefined) return parked.role === 'old' ? withoutName(old, parked, holder) : undefined;
  const { name, wasRunning } = parked;
  const isAtWork = [...instance.transactions].some((id) => isMarkOf(mark, id));
  const now = isDown ? whatToDo : isAlive(old.status) ? `, and it runs as "${old.name}"${howToRepair}` : '';
  return {
    name,
    state: isAtWork ? 'in progress' : 'repair pending',
    reason: isAtWork
      ? `an update of "${name}" is in progress`
      : `repair pending: an update of "${name}" was interrupted${now}`,
    container: { ...old, name, status: wasRunning ? 'running' : old.status },
    isParked: true,
    ...(isDown && !isAtWork && { isDown }),
  };
}

/** A parked container whose name another container has. It is listed by its own name, because that other is watched too. */
function withoutName(
  old: ContainerSummary,
  parked: Extract<TransactionName, { readonly role: 'old' | 'drop' }>,
  holder: ContainerSummary,
): UnfinishedUpdate | undefined {
  const reading = readJournal(holder.labels);
  if (reading.kind === 'journal' && reading.journal.oldId === old.id) return undefined;
  const isDown = parked.wasRunning && !isAlive(old.status);
  return {
    name: old.name,
    state: 'repair pending',
    reason: nameIsTaken(parked.name, old),
    container: { ...old, name: parked.name, status: parked.wasRunning ? 'running' : old.status },
    isParked: true,
    ...(isDown && { isDown }),
  };
}

/** Why a parked container cannot come back, with the remedy. */
export function nameIsTaken(name: string, parked: Pick<ContainerSummary, 'name' | 'status'>): string {
  const state = isAlive(parked.status) ? 'keeps this name' : 'stays stopped';
  return `repair pending: another container has the name "${name}", so "${parked.name}" ${state}. Rename or remove the other container, and it comes back; or remove "${parked.name}" if nobody needs it`;
}

/** Of a container whose repair waits in this process. */
export function beingRepaired(name: string): string {
  return `an interrupted update of "${name}" is being repaired`;
}

const howToRepair = '. The service tries again within a minute; "upkeep recover" tries now, and says why it fails';

const whatToDo = `, and neither its old nor its new container runs${howToRepair}`;

function isCarrierOf({ name }: Journal, carrier: ContainerSummary): boolean {
  return carrier.name === name || parseTransactionName(carrier.name)?.name === name;
}

/** For an owner that cannot be reached, the engine decides, if the owner ran in one of its containers. */
function isOwned(
  { owner, ownerContainer, transaction }: Journal,
  byId: ReadonlyMap<string, ContainerSummary>,
  { ownerState, containerId, transactions }: Pick<Instance, 'ownerState' | 'containerId' | 'transactions'>,
): boolean {
  const state = owner === '' ? 'dead' : ownerState(owner);
  // This process may have given it up.
  if (state === 'self') return transactions.has(transaction);
  if (state !== 'unknown') return state !== 'dead';
  const home = ownerContainer === containerId ? undefined : byId.get(ownerContainer);
  return home !== undefined && isAlive(home.status);
}

/** Remains of finished updates: the version before the last one, containers that are kept, images that nobody needs. */

/**
 * A container that may carry the journal of its last update. Anyone who may create containers can write one, so it
 * counts only as far as the container itself agrees, and with a key only under its seal.
 */
type JournalCarrier = {
  readonly name: string;
  /** `Config.Image`. Undefined: the list shows a bare id, because the tag has moved. */
  readonly image: string | undefined;
  readonly imageId: string;
  readonly labels: Labels;
  /** Undefined when the engine no longer has the image. */
  readonly imageLabels: Labels | undefined;
};

/** An inspected container as the carrier of its journal. */
export function carrierOf({ name, imageId, imageLabels, settings: { Config } }: Container): JournalCarrier {
  return { name, image: Config.Image, imageId, labels: Config.Labels ?? {}, imageLabels };
}

export type LastUpdate =
  | {
      readonly kind: 'update';
      readonly journal: Journal;
      /** The tag to return to. */
      readonly reference: ImageReference;
      /** Whether the seal of our key shows that an update wrote the journal. */
      readonly isSealed: boolean;
    }
  | { readonly kind: 'none' }
  /** It was only re-created with another container, and kept its image. */
  | { readonly kind: 'kept its image' }
  /** The reason completes "Cannot roll back NAME: ". */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * The last update of a container, from its journal. The journal must name the container itself, and a tag in the
 * repository of the container's own reference: a rollback moves that tag.
 */
export function readLastUpdate(carrier: JournalCarrier, seal: Pick<Seal, 'verify'> | undefined): LastUpdate {
  const { name, imageId, labels, imageLabels } = carrier;
  const reading = readJournal(containerOwnLabels(labels, imageLabels));
  if (reading.kind === 'foreign') return refused(reading.reason);
  if (reading.kind === 'none')
    return imageLabels === undefined
      ? refused(
          'the engine no longer has its image, or does not know its configuration, so its last update cannot be read',
        )
      : { kind: 'none' };
  const { journal } = reading;
  if (!hasValidSeal(journal, labels, seal))
    return refused("the journal of its last update does not have the seal of this instance's key");
  if (journal.role === 'replica') return refused('its last update was rolled back already');
  if (journal.name !== name) return refused(`the journal of its last update is about ${quoted(journal.name, 100)}`);
  const reference = tryParseImageReference(journal.formerReference ?? journal.reference);
  if (!isOwnReference(journal, carrier, seal !== undefined) || reference === undefined)
    return refused(`the journal of its last update is about another image, ${quoted(journal.reference, 200)}`);
  const own = tryParseImageReference(journal.reference);
  if (own === undefined || !sameRepository(own, reference))
    return refused(`its last update came from another repository, ${quoted(journal.formerReference ?? '', 200)}`);
  if (journal.oldImageId === '' || journal.oldImageId === imageId) return { kind: 'kept its image' };
  return { kind: 'update', journal, reference, isSealed: seal !== undefined };
}

function refused(reason: string): LastUpdate {
  return { kind: 'refused', reason };
}

/** A successor is created from the reference in its journal. */
function isOwnReference({ reference }: Journal, { image, imageId }: JournalCarrier, isSealed: boolean): boolean {
  if (image === undefined) return isSealed;
  if (image === reference) return true;
  const [made, named] = [tryParseImageReference(image), tryParseImageReference(reference)];
  return !isImageId(image, imageId) && made?.tag !== undefined && sameReference(made, named);
}

function sameReference(one: ImageReference, other: ImageReference | undefined): boolean {
  return other !== undefined && sameRepository(one, other) && one.tag === other.tag && one.digest === other.digest;
}

/** Whether two containers were members of one update: both journals name both of them. */
export function movedTogether(one: Journal, other: Journal): boolean {
  const group = ({ transaction, owner, members }: Journal) => JSON.stringify([transaction, owner, members]);
  return one.oldId !== other.oldId && group(one) === group(other);
}

/** Whether the names of an image show that it is of this repository. An engine keeps them for some images only. */
export function isNamedIn(
  { tags, digests }: Pick<ImageSummary, 'tags' | 'digests'>,
  repository: ImageReference,
): boolean {
  return [...tags, ...digests].some((name) => {
    const parsed = tryParseImageReference(name);
    return parsed !== undefined && sameRepository(parsed, repository);
  });
}

/**
 * Whether a rollback has a former image, as far as the engine's lists show: the engine has it, or a registry may supply
 * it. If nothing in the engine shows that the image is of the container's repository, a registry may show it, but not
 * if the image has another name.
 */
export function hasFormerImage({
  carrier,
  seal,
  imageOf,
}: {
  readonly carrier: JournalCarrier;
  readonly seal: Pick<Seal, 'verify'> | undefined;
  /** Undefined when the engine does not have the image. */
  readonly imageOf: (id: string) => Pick<ImageSummary, 'tags' | 'digests'> | undefined;
}): boolean {
  const last = readLastUpdate(carrier, seal);
  if (last.kind !== 'update') return false;
  const held = imageOf(last.journal.oldImageId);
  const isInRegistry = parseDigest(last.journal.oldDigest) !== undefined;
  if (held === undefined) return isInRegistry;
  if (last.isSealed || isNamedIn(held, last.reference)) return true;
  return isInRegistry && held.tags.length === 0 && held.digests.length === 0;
}

/** A kept container with the facts in its name. */
export type KeptContainer = { readonly container: ContainerSummary; readonly kept: KeptName };

export function keptAmong(containers: readonly ContainerSummary[]): readonly KeptContainer[] {
  return containers.flatMap((container) => {
    const kept = parseKeptName(container.name);
    return kept === undefined ? [] : [{ container, kept }];
  });
}

/** The containers without kept ones. Only these may be selected, planned and repaired. */
export function withoutKept(containers: readonly ContainerSummary[]): readonly ContainerSummary[] {
  return containers.filter(({ name }) => parseKeptName(name) === undefined);
}

type KeptContext = {
  readonly containers: readonly ContainerSummary[];
  /** Ids of containers that an update has marked as kept. */
  readonly marked: Pick<ReadonlyMap<string, unknown>, 'has'>;
  readonly imageLabelsOf: ImageLabelsOf;
  /** The seal of our key: no other journal counts then. */
  readonly seal?: Pick<Seal, 'verify'> | undefined;
  /** By the engine's clock. */
  readonly nowMs: number;
};

/**
 * Reason for removing a kept container now; undefined while it stays. A kept container that a person has started stays.
 * While an update of its name is unfinished, nothing is removed.
 */
export function whyRemovable(one: KeptContainer, world: KeptContext): string | undefined {
  const { container, kept } = one;
  if (isAlive(container.status) || !isKeptByUpdate(one, world)) return undefined;
  if (kept.untilMs <= world.nowMs) return 'its time is over';
  if (world.containers.some(({ name }) => parseTransactionName(name)?.name === kept.name)) return undefined;
  const successor = world.containers.find(({ name }) => name === kept.name);
  const journal = successor && journalOf(successor, world);
  if (journal?.role !== 'successor') return undefined;
  return journal.oldId === container.id ? undefined : 'there has been another update since';
}

/**
 * True if an update kept the container, by its mark or its successor's journal, or left it over. The name of a kept one
 * alone proves nothing, because anyone may choose it.
 */
export function isKeptByUpdate({ container, kept }: KeptContainer, world: Omit<KeptContext, 'nowMs'>): boolean {
  if (world.marked.has(container.id) || isLeftOver(container)) return true;
  return world.containers.some((other) => {
    const journal = journalOf(other, world);
    return journal?.oldId === container.id && journal.name === kept.name && journal.keepMs > 0;
  });
}

function journalOf(
  container: ContainerSummary,
  { imageLabelsOf, seal }: Pick<KeptContext, 'imageLabelsOf' | 'seal'>,
): Journal | undefined {
  const journal = ownJournal(container.labels, imageLabelsOf(container));
  return journal !== undefined && hasValidSeal(journal, container.labels, seal) ? journal : undefined;
}

/** A container that an earlier update may have made, as the engine shows it. */
export type Successor = Pick<ContainerSummary, 'id' | 'name' | 'imageId' | 'labels'> & {
  /** Reference that it was created from, verbatim. */
  readonly reference: string;
};

/** `ownTag`: a tag that the container has left for another one. That tag alone does not keep the image. */
export type SupersededImage = RemovedImage & { readonly ownTag?: string };

/**
 * Images that earlier updates replaced but did not remove, usually because of a kill before the clean-up. A journal
 * counts only if the engine's own facts confirm it: the container has the name and the image that the journal names,
 * the update has no other remains, and the old image is of the container's own repository. The caller checks whether
 * the image is in use or tagged.
 */
export function supersededImages(
  successors: readonly Successor[],
  containers: readonly Pick<ContainerSummary, 'id' | 'name'>[],
  images: readonly ImageSummary[],
): readonly SupersededImage[] {
  const present = new Set(containers.map(({ id }) => id));
  const unfinished = new Set(containers.map(({ name }) => parseTransactionName(name)?.name));
  const byId = new Map(images.map((image) => [image.id, image]));
  return successors.flatMap(({ id, name, imageId, labels, reference }): SupersededImage[] => {
    const reading = readJournal(labels);
    if (reading.kind !== 'journal' || reading.journal.role !== 'successor' || unfinished.has(name)) return [];
    const { journal } = reading;
    const isItsOwn = journal.name === name && journal.newImageId === imageId && journal.oldImageId !== imageId;
    if (!isItsOwn || journal.members.some(({ oldId }) => present.has(oldId))) return [];
    const old = byId.get(journal.oldImageId);
    if (old === undefined || !isOfRepository(old, reference)) return [];
    const { formerReference = reference } = journal;
    const ownTag = formerReference === reference ? {} : { ownTag: formerReference };
    return [{ imageId: old.id, imageName: formerReference, containerId: id, containerName: name, ...ownTag }];
  });
}

function isOfRepository({ digests }: ImageSummary, reference: string): boolean {
  const parsed = tryParseImageReference(reference);
  if (parsed === undefined) return false;
  return digests.some((text) => {
    const known = tryParseImageReference(text);
    return known !== undefined && repositoryName(known) === repositoryName(parsed);
  });
}
