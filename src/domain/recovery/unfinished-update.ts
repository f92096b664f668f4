import { type ContainerSummary, isAlive } from '../container/container.ts';
import { type Journal, readJournal } from '../transaction/journal.ts';
import type { Instance } from '../outside/outside.ts';
import { helperName, parseStandingName } from '../transaction/transaction-names.ts';

/**
 * An unfinished update. `in progress`: a running process works on it. `repair pending`: that process is
 * gone or does not prove that it lives; the next run or start of Upkeep finishes or undoes the update.
 */
export type UnfinishedUpdate = {
  /** Name of the container outside any update. */
  readonly name: string;
  readonly state: 'in progress' | 'repair pending';
  /** A clause that names the container. */
  readonly reason: string;
  /** The old container as it was at the start; parked, it has another name. */
  readonly container: ContainerSummary;
  /** Whether the old container has lost its name to the update. */
  readonly isParked: boolean;
};

/**
 * One for each container that an update is about. A name alone tells nothing: a journal must be there that names
 * the container, and the container must stand where that journal's transaction would have put it.
 */
export function unfinishedUpdates(
  containers: readonly ContainerSummary[],
  instance: Pick<Instance, 'ownerState' | 'containerId'>,
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
    const parked = parseStandingName(old.name);
    const isParked = parked?.name === journal.name && (parked.role === 'old' || parked.role === 'drop');
    if (!isParked && (old.name !== journal.name || carrier.name === journal.name)) continue;
    const { name } = journal;
    // Another container with the name is not part of this update.
    const holder = byName.get(name);
    if (isParked && holder !== undefined && holder !== carrier) continue;
    const helper = byName.get(helperName(name));
    const isAtWork = (helper !== undefined && isAlive(helper.status)) || isOwned(journal, byId, instance);
    // Until it is parked the container is watched as before; another update fails because its name is taken.
    if (isAtWork && !isParked) continue;
    const which = instance.ownerState(journal.owner) === 'self' ? 'an' : 'another';
    const status = isParked && parked.wasRunning ? 'running' : old.status;
    found.set(name, {
      name,
      state: isAtWork ? 'in progress' : 'repair pending',
      reason: isAtWork
        ? `${which} update of "${name}" is in progress`
        : `repair pending: an update of "${name}" was interrupted`,
      container: { ...old, name, status },
      isParked,
    });
  }
  return [...found.values()];
}

function isCarrierOf({ name }: Journal, carrier: ContainerSummary): boolean {
  return carrier.name === name || parseStandingName(carrier.name)?.name === name;
}

/** An owner that cannot be asked is taken at the word of the engine, where it ran in one of its containers. */
function isOwned(
  { owner, ownerContainer }: Journal,
  byId: ReadonlyMap<string, ContainerSummary>,
  { ownerState, containerId }: Pick<Instance, 'ownerState' | 'containerId'>,
): boolean {
  const state = owner === '' ? 'dead' : ownerState(owner);
  if (state !== 'unknown') return state !== 'dead';
  const home = ownerContainer === containerId ? undefined : byId.get(ownerContainer);
  return home !== undefined && isAlive(home.status);
}
