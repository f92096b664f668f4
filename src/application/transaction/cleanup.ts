import { isFailure } from '../../domain/outside/engine.ts';
import type { Outcomes } from '../../domain/run/session.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { isAlive, type ContainerSummary, type ImageSummary } from '../../domain/container/container.ts';
import type { RemovedImage } from '../../domain/run/event.ts';
import { userTags } from '../../domain/check/known-versions.ts';
import { hasValidSeal, readJournal } from '../../domain/transaction/journal.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { formatReference, tryParseImageReference } from '../../domain/image/image-reference.ts';
import {
  supersededImages,
  keptAmong,
  whyRemovable,
  type Successor,
  type SupersededImage,
  type KeptContainer,
} from '../../domain/recovery/leftovers.ts';
import { getsFreshVolumes } from '../../domain/plan/replacement.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { anonymousVolumeNames } from '../../domain/container/recipe/volumes.ts';
import { imageLabelsIn, indexImages } from '../../domain/container/lookup.ts';
import { keptMarksOf } from '../../domain/transaction/transaction-names.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { unlessBroken } from '../engine/listing.ts';
import { untag } from './open-transaction.ts';

type Reached = {
  readonly plan: UpdatePlan;
  readonly outcomes: Outcomes;
  /** Containers that the run checked. */
  readonly checked: readonly CheckedContainer[];
};

/**
 * Removes the images that updated containers ran before, and leftovers of earlier clean-ups of the same containers.
 * Removal is by id and never forced. An image stays if a container uses it, running or stopped, or if it has a tag; a
 * tag that a container has left for another does not count. A failed removal is not an error: the image stays.
 */
export async function cleanUpImages(
  outside: Pick<Outside, 'engine' | 'log' | 'seal'>,
  { plan, outcomes, checked }: Reached,
): Promise<readonly RemovedImage[]> {
  const superseded: SupersededImage[] = [];
  const predecessors: Successor[] = [];
  for (const { container, reference, formerReference } of plan.transactions.flatMap(({ members }) => members)) {
    const { id: containerId, name: containerName, imageId, settings } = container;
    const outcome = outcomes.get(containerId);
    if (outcome?.outcome !== 'updated' || outcome.newImageId === imageId) continue;
    superseded.push({
      imageId,
      imageName: formerReference ?? reference,
      containerId,
      containerName,
      ...(formerReference !== undefined && { ownTag: formerReference }),
    });
    predecessors.push({
      id: containerId,
      name: containerName,
      imageId,
      reference,
      labels: settings.Config.Labels ?? {},
    });
  }
  return removeUnused(outside, (containers, images) => {
    const references = new Map(checked.map(({ id, reference }) => [id, reference]));
    const successors = containers.flatMap((container) => {
      const reference = references.get(container.id);
      return reference === undefined ? [] : [{ ...container, reference }];
    });
    const sealed = [...successors, ...predecessors].filter((one) => isSealed(outside, one));
    return [...superseded, ...supersededImages(sealed, containers, images)];
  });
}

/** With a key, a journal without its seal is ignored. */
function isSealed({ seal }: Pick<Outside, 'seal'>, { labels }: Successor): boolean {
  const reading = readJournal(labels);
  return seal === undefined || (reading.kind === 'journal' && hasValidSeal(reading.journal, labels, seal));
}

/** Removes the superseded images that `choose` returns, by the same rules. */
async function removeUnused(
  { engine, log }: Pick<Outside, 'engine' | 'log'>,
  choose: (containers: readonly ContainerSummary[], images: readonly ImageSummary[]) => readonly SupersededImage[],
): Promise<readonly RemovedImage[]> {
  const removed: RemovedImage[] = [];
  try {
    const [containers, images] = await Promise.all([engine.listContainers(), engine.listImages()]);
    const inUse = new Set(containers.map(({ imageId }) => imageId));
    const tags = new Map(images.map((image) => [image.id, userTags(image)]));
    for (const { ownTag = '', ...image } of new Map(
      choose(containers, images).map((one) => [one.imageId, one]),
    ).values()) {
      const isTagged = (tags.get(image.imageId) ?? []).some((tag) => fullName(tag) !== fullName(ownTag));
      if (inUse.has(image.imageId) || isTagged) continue;
      const { kind, ...said } = await engine.removeImage(image.imageId);
      if (kind === 'done') removed.push(image);
      else log.debug('An old image stays', { image: image.imageId, outcome: kind, ...said });
    }
  } catch (error) {
    log.warn('Old images cannot be cleaned up', { error: describeError(error) });
  }
  return removed;
}

/** The full form of a tag, for comparisons. */
function fullName(tag: string): string {
  const reference = tryParseImageReference(tag);
  return reference === undefined ? tag : formatReference(reference);
}

/**
 * Removes the anonymous volumes of updated containers; the engine refuses a volume in use. After an interruption the
 * volumes stay until a prune.
 */
export async function removeOldVolumes(
  { engine, log }: Outside,
  { transactions }: UpdatePlan,
  outcomes: Outcomes,
): Promise<void> {
  for (const member of transactions.flatMap(({ members }) => members)) {
    const { container } = member;
    if (!getsFreshVolumes(member, { removeVolumes: true }) || outcomes.get(container.id)?.outcome !== 'updated')
      continue;
    for (const volume of anonymousVolumeNames(container).values()) {
      const { kind, ...said } = await engine.removeVolume(volume);
      if (kind === 'done') log.info('An anonymous volume was removed', { container: container.name, volume });
      else log.debug('An anonymous volume stays', { container: container.name, volume, outcome: kind, ...said });
    }
  }
}

/**
 * Removes overdue kept containers, never their volumes, and with `cleanup` their images. A failed removal
 * is repeated by the next run.
 */
export async function removeOverdue(
  outside: Outside,
  { cleanup }: Pick<ServiceSettings, 'cleanup'>,
  signal?: AbortSignal,
): Promise<void> {
  try {
    // While removals are forbidden, an attempt would only fail in each run.
    if ((await outside.engine.forbiddenCalls(signal)).includes('remove')) return;
    const containers = await outside.engine.listContainers({}, signal);
    const kept = keptAmong(containers);
    const [{ nowMs }, images] = await Promise.all([outside.engine.info(signal), outside.engine.listImages(signal)]);
    const marked = keptMarksOf(images);
    const { seal } = outside;
    const world = { containers, marked, imageLabelsOf: imageLabelsIn(indexImages(images)), seal, nowMs };
    for (const one of kept) {
      const because = whyRemovable(one, world);
      if (because !== undefined && !signal?.aborted)
        await removeUnlessBroken(outside, one, { because, cleanup }, signal);
    }
    const still = new Set(
      keptAmong(await outside.engine.listContainers({}, signal)).map(({ container }) => container.id),
    );
    for (const [id, tag] of marked) if (!still.has(id) && !signal?.aborted) await untag(outside, tag);
  } catch (error) {
    if (signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    outside.log.warn('Kept containers cannot be inspected', { error: describeError(error) });
  }
}

type Removal = { readonly because: string; readonly cleanup: boolean };

/** Keeps a container that cannot be inspected. The others are removed. */
async function removeUnlessBroken(
  outside: Outside,
  one: KeptContainer,
  removal: Removal,
  signal: AbortSignal | undefined,
): Promise<void> {
  const note = (error: string) =>
    outside.log.warn('A kept container cannot be inspected', { container: one.container.name, error });
  await unlessBroken(outside, () => removeKept(outside, one, removal), note, signal);
}

async function removeKept(
  outside: Outside,
  { container: { id, name, image }, kept }: KeptContainer,
  { because, cleanup }: Removal,
): Promise<void> {
  const { engine, log } = outside;
  const container = await engine.inspectContainer(id);
  if (container === undefined || container.name !== name || isAlive(container.state.status)) return;
  const outcome = await engine.removeContainer(id);
  if (isFailure(outcome)) {
    log.warn('A kept container cannot be removed', { container: name, error: outcome.message });
    return;
  }
  log.info('A kept container was removed', { container: name, because });
  if (!cleanup) return;
  const { imageId } = container;
  const superseded = { imageId, imageName: image, containerId: id, containerName: kept.name };
  await removeUnused(outside, () => [superseded]);
}
