import {
  type ContainerReference,
  isImageId,
  readContainerReference,
} from '../../../domain/check/container-reference.ts';
import type { ContainerSummary } from '../../../domain/container/container.ts';
import type { ImageIndex } from '../../../domain/container/lookup.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { WatchedContainer } from '../../../domain/check/selection.ts';
import { inspectionsAtOnce, mapConcurrently } from '../../async/concurrency.ts';

/** Reference that a container was created from, or the engine's error. */
export type ReadReference =
  | ContainerReference
  | { readonly kind: 'failed'; readonly text: string; readonly error: unknown };

/** By container id. */
export type ContainerReferences = ReadonlyMap<string, ReadReference>;

export type ReferenceReader = (
  watched: readonly WatchedContainer[],
  images: ImageIndex,
  signal?: AbortSignal,
) => Promise<{
  readonly references: ContainerReferences;
  /** Whether a container was removed after the engine listed it. Another updater may have replaced it. */
  readonly isOutdated: boolean;
}>;

/**
 * Reads the references that containers were created from. The engine's list shows them unless the tag has moved. In
 * that case the container is inspected once, because its reference cannot change.
 */
export function createReferenceReader({ engine }: Pick<ReadOnlyOutside, 'engine'>): ReferenceReader {
  const inspected = new Map<string, string>();

  async function textOf({ id, image, imageId }: ContainerSummary, signal?: AbortSignal): Promise<string | undefined> {
    if (!isImageId(image, imageId)) return image;
    const text = inspected.get(id) ?? (await engine.inspectContainer(id, signal))?.settings.Config.Image;
    if (text !== undefined) inspected.set(id, text);
    return text;
  }

  return async (watched, images, signal) => {
    const present = new Set(watched.map(({ container }) => container.id));
    for (const id of inspected.keys()) if (!present.has(id)) inspected.delete(id);
    const references = new Map<string, ReadReference>();
    let isOutdated = false;
    await mapConcurrently(watched, inspectionsAtOnce, async ({ container, wishes }) => {
      const { id, image: listed, imageId } = container;
      try {
        const text = await textOf(container, signal);
        if (text === undefined) {
          isOutdated = true;
          references.set(id, { kind: 'unknown', text: listed, reason: 'Removed during the check' });
          return;
        }
        const source = { text, originalImage: wishes.originalImage, imageId, image: images.byId(imageId) };
        references.set(id, readContainerReference(source));
      } catch (error) {
        references.set(id, { kind: 'failed', text: listed, error });
      }
    });
    return { references, isOutdated };
  };
}
