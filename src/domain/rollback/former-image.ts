import type { ContainerSummary, ImageSummary } from '../container/container.ts';
import { ownLabels } from '../container/label-origin.ts';
import type { Labels } from '../container/label-names.ts';
import { parseDigest } from '../reference/digest.ts';
import { readJournal, transactionLabel } from '../transaction/journal.ts';

export type FormerImageFacts = {
  readonly container: Pick<ContainerSummary, 'imageId' | 'labels'>;
  /** Of the container's image; undefined when the engine no longer has that. */
  readonly imageLabels: Labels | undefined;
  readonly holdsImage: (id: ImageSummary['id']) => boolean;
};

/**
 * Whether a rollback has an image to go back to, as far as the engine's lists tell: the last update has
 * written down another one, and the engine holds it or a registry can supply it.
 */
export function hasFormerImage({ container, imageLabels, holdsImage }: FormerImageFacts): boolean {
  const { labels, imageId } = container;
  if (!(transactionLabel in labels)) return false;
  const reading = readJournal(ownLabels(labels, imageLabels));
  if (reading.kind !== 'journal' || reading.journal.role !== 'successor') return false;
  const { oldImageId, oldDigest } = reading.journal;
  if (oldImageId === '' || oldImageId === imageId) return false;
  return holdsImage(oldImageId) || parseDigest(oldDigest) !== undefined;
}
