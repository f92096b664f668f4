import type { ContainerSummary, ImageSummary } from '../container/container.ts';
import type { RemovedImage } from '../run/event.ts';
import { repositoryName, tryParseImageReference } from '../reference/image-reference.ts';
import { readJournal } from '../transaction/journal.ts';
import { parseStandingName } from '../transaction/transaction-names.ts';

/** A container that an earlier update may have made, as the engine shows it now. */
export type Successor = Pick<ContainerSummary, 'id' | 'name' | 'imageId' | 'labels'> & {
  /** Reference that it was created from, verbatim. */
  readonly reference: string;
};

/** `ownTag`: the container has left this tag for another, so that the tag alone keeps the image no longer. */
export type SupersededImage = RemovedImage & { readonly ownTag?: string };

/**
 * The images that earlier updates have replaced and, for whatever reason, not removed: a kill before the
 * clean-up, as a rule. A journal is believed only where the engine's own facts bear it out: the container
 * has the name and runs the image that it was made with, nothing of the update is left, and the old image
 * is of the container's own repository. Whether anything uses or tags the image is for the caller to see.
 */
export function supersededImages(
  successors: readonly Successor[],
  containers: readonly Pick<ContainerSummary, 'id' | 'name'>[],
  images: readonly ImageSummary[],
): readonly SupersededImage[] {
  const present = new Set(containers.map(({ id }) => id));
  const unfinished = new Set(containers.map(({ name }) => parseStandingName(name)?.name));
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
