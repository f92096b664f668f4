import { readContainerReference } from '../../domain/check/container-reference.ts';
import { createImageRule, scopeInForce } from '../../domain/check/watch-rules.ts';
import { selectContainers, type WatchedContainer, selectByImage } from '../../domain/check/selection.ts';
import { labelsOfImage, noImageLabels } from '../../domain/container/lookup.ts';
import { everyEntry, type EngineListing, type UnwatchedTracked } from '../../domain/inventory.ts';
import type { InventoryParts } from './inventory.ts';

/** The containers that are not watched, with the reasons. It is built on request, once per listing. */
export function createUnwatched({
  settings,
  instance: { containerId: ownId },
  listing,
}: Pick<InventoryParts, 'settings' | 'instance' | 'listing'>): () => readonly UnwatchedTracked[] {
  const imageRule = createImageRule(settings);
  let shown: EngineListing | undefined;
  let unwatched: readonly UnwatchedTracked[] = [];

  function listUnwatched(now: EngineListing): readonly UnwatchedTracked[] {
    const { images } = now;
    const containers = everyEntry(now);
    const byId = new Map(images.map((image) => [image.id, image]));
    const imageLabelsOf = ({ imageId }: { readonly imageId: string }) =>
      imageId === '' ? noImageLabels : labelsOfImage(byId.get(imageId));
    const scope = scopeInForce({ ...settings, containers, imageLabelsOf, ownId });
    const selection = selectContainers(containers, { ...settings, scope }, imageLabelsOf);
    const watched = new Map(selection.watched.map((each) => [each.container.id, each]));
    const referenceOf = ({ container: { image: text, imageId }, wishes }: WatchedContainer) =>
      readContainerReference({ text, originalImage: wishes.originalImage, imageId, image: byId.get(imageId) });
    const chosen = selectByImage(selection, imageRule, (id) => {
      const each = watched.get(id);
      return each && referenceOf(each);
    });
    return chosen.unwatched.map(({ container: { name, image }, reason, kind }) => ({
      name,
      image,
      reason,
      ...(kind !== undefined && { kind }),
    }));
  }

  return () => {
    const now = listing();
    if (now !== undefined && now !== shown) [shown, unwatched] = [now, listUnwatched(now)];
    return unwatched;
  };
}
