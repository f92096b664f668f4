import { describeError } from '../domain/errors.ts';
import type { RemovedImage } from '../domain/event.ts';
import { tagsByPeople } from '../domain/failed-version.ts';
import type { Outside } from '../domain/outside.ts';
import type { UpdatePlan } from '../domain/update-plan.ts';
import type { Outcomes } from './run-plan.ts';

/**
 * Removes the images that updated containers ran before: by id, never by force, and only those that
 * no container uses, a stopped one included, and that nobody has tagged otherwise. Nothing that it cannot do is
 * an error: the image stays.
 */
export async function cleanUpImages(
  outside: Outside,
  plan: UpdatePlan,
  outcomes: Outcomes,
): Promise<readonly RemovedImage[]> {
  const superseded = new Map<string, RemovedImage>();
  for (const { container, reference } of plan.transactions.flatMap(({ members }) => members)) {
    const { id: containerId, name: containerName, imageId } = container;
    const outcome = outcomes.get(containerId);
    if (outcome?.outcome !== 'updated' || outcome.newImageId === imageId) continue;
    superseded.set(imageId, { imageId, imageName: reference, containerId, containerName });
  }
  return removeUnusedImages(outside, [...superseded.values()]);
}

/** The same for images that are known to have been superseded. */
export async function removeUnusedImages(
  { engine, log }: Pick<Outside, 'engine' | 'log'>,
  superseded: readonly RemovedImage[],
): Promise<readonly RemovedImage[]> {
  if (superseded.length === 0) return [];
  const removed: RemovedImage[] = [];
  try {
    const [containers, images] = await Promise.all([engine.listContainers(), engine.listImages()]);
    const inUse = new Set(containers.map(({ imageId }) => imageId));
    const tagged = new Set(images.filter((image) => tagsByPeople(image).length > 0).map(({ id }) => id));
    for (const image of superseded) {
      if (inUse.has(image.imageId) || tagged.has(image.imageId)) continue;
      const { kind, ...said } = await engine.removeImage(image.imageId);
      if (kind === 'done') removed.push(image);
      else log.debug('An old image stays', { image: image.imageId, outcome: kind, ...said });
    }
  } catch (error) {
    log.warn('Old images cannot be cleaned up', { error: describeError(error) });
  }
  return removed;
}
