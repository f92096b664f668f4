import type { ContainerSummary, ImageSummary } from '../container/container.ts';
import type { RemovedImage } from '../run/event.ts';
import { repositoryName, tryParseImageReference } from '../image/image-reference.ts';
import { readJournal } from '../transaction/journal.ts';
import { parseTransactionName } from '../transaction/transaction-names.ts';

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
