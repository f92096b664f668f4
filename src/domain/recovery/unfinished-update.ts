import { type ContainerSummary, isAlive } from '../container/container.ts';
import { type Journal, readJournal } from '../transaction/journal.ts';
import { helperName, parseTransactionName, type TransactionMark } from '../transaction/transaction-names.ts';
import type { Instance } from '../outside/outside.ts';

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
  marks: readonly Pick<TransactionMark, 'oldId'>[],
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
    // Until it is parked, the container is watched as before. Another update fails because the successor's name is
    // taken.
    if (isAtWork && !isParked) continue;
    const which = instance.ownerState(journal.owner) === 'self' ? 'an' : 'another';
    const wasRunning = isParked ? parked.wasRunning : journal.wasRunning;
    const isDown = !isAtWork && wasRunning && !isAlive(old.status) && !isAlive(carrier.status);
    // It is watched as before the update, also where that has left it stopped.
    const status = wasRunning && (isParked || isDown) ? 'running' : old.status;
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
  return [...found.values(), ...marks.flatMap(({ oldId }) => withoutName(byId.get(oldId), byName) ?? [])];
}

/** A parked container whose name another container has. It is listed by its own name, because that other is watched too. */
function withoutName(
  old: ContainerSummary | undefined,
  byName: ReadonlyMap<string, ContainerSummary>,
): UnfinishedUpdate | undefined {
  const parked = old && parseTransactionName(old.name);
  const holder = byName.get(parked?.name ?? '');
  if (old === undefined || parked?.role !== 'old' || holder === undefined) return undefined;
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

const whatToDo =
  ', and neither its old nor its new container runs. The service tries again within a minute; "upkeep recover" tries now, and says why it fails';

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
