import type { Container, ContainerSummary } from '../../domain/container/container.ts';
import { parseDigest } from '../../domain/reference/digest.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type Journal, readJournal, transactionLabel } from '../../domain/transaction/journal.ts';
import { containerOwnLabels } from '../../domain/container/label-names.ts';
import { isExcluded } from '../../domain/settings/labels.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { StaleContainer } from '../../domain/plan/planned-transaction.ts';

/**
 * The named containers with the image before their last update, and the containers that were updated together with
 * them. Throws a `ServiceError` for a name without such an image.
 */
export async function findPrevious(
  outside: Outside,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly StaleContainer[]> {
  const listed = await outside.engine.listContainers({}, signal);
  const found = new Map<string, StaleContainer>();
  for (const name of names) {
    const summary = listed.find((container) => container.name === name);
    if (summary === undefined) throw refuse(name, 'no container is called so');
    if (summary.id === outside.instance.containerId)
      throw refuse(name, 'this command runs in it: run it on the host, or in a container of its own');
    const { container, journal } = await readLastUpdate(outside, name, summary.id, signal);
    found.set(container.id, await previousOf(outside, container, journal, signal));
    for (const other of await movedTogether(outside, journal, listed, signal)) {
      if (found.has(other.container.id) || other.container.imageId === other.journal.oldImageId) continue;
      found.set(other.container.id, await previousOf(outside, other.container, other.journal, signal));
    }
  }
  return [...found.values()];
}

type LastUpdate = { readonly container: Container; readonly journal: Journal };

async function readLastUpdate(
  outside: Outside,
  name: string,
  id: string,
  signal: AbortSignal | undefined,
): Promise<LastUpdate> {
  const update = await findLastUpdate(outside, name, id, signal);
  if (update === undefined) throw refuse(name, 'it has not been updated since it was created');
  return update;
}

/** Undefined for a container that was never updated. */
async function findLastUpdate(
  { engine }: Outside,
  name: string,
  id: string,
  signal: AbortSignal | undefined,
): Promise<LastUpdate | undefined> {
  const container = await engine.inspectContainer(id, signal);
  if (container === undefined) throw refuse(name, 'somebody removed it just now');
  if (isExcluded(container)) throw refuse(name, 'it is disabled by its label');
  const reading = readJournal(containerOwnLabels(container.settings.Config.Labels ?? {}, container.imageLabels));
  if (reading.kind === 'foreign') throw refuse(name, reading.reason);
  if (reading.kind === 'none' && container.imageLabels === undefined)
    throw refuse(name, 'the engine no longer has its image, so its last update cannot be read');
  if (reading.kind === 'none') return undefined;
  if (reading.journal.role === 'standin') throw refuse(name, 'its last update was rolled back already');
  return { container, journal: reading.journal };
}

/**
 * Other members of the last update's group that have not changed since. A container of an image that was committed from
 * a member has its label too, but no journal of its own.
 */
async function movedTogether(
  outside: Outside,
  { transaction, members }: Journal,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
): Promise<readonly LastUpdate[]> {
  if (members.length === 1) return [];
  const labelled = listed.filter(({ labels }) => labels[transactionLabel] === transaction);
  const updates = await Promise.all(labelled.map(({ id, name }) => findLastUpdate(outside, name, id, signal)));
  return updates.filter((update) => update !== undefined);
}

async function previousOf(
  { engine }: Outside,
  { id, name, imageId }: Container,
  { oldImageId, oldDigest, reference, formerReference }: Journal,
  signal: AbortSignal | undefined,
): Promise<StaleContainer> {
  if (oldImageId === '' || oldImageId === imageId)
    throw refuse(name, 'its last update kept its image: it was only re-created with another container');
  const digest = parseDigest(oldDigest);
  const held = await engine.inspectImage(oldImageId, signal);
  if (held === undefined && digest === undefined)
    throw refuse(name, 'the engine no longer has its former image, and no registry can supply that image');
  const references =
    formerReference === undefined ? { reference } : { reference: formerReference, formerReference: reference };
  return { id, name, ...references, digest, imageId: oldImageId };
}

function refuse(name: string, why: string): ServiceError {
  return new ServiceError('not-found', `Cannot roll back ${quoted(name)}: ${why}`, { remedy: 'nothing was changed' });
}
