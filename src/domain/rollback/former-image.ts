import type { ContainerSummary, ImageSummary } from '../container/container.ts';
import { ownLabels } from '../container/label-origin.ts';
import type { Labels } from '../container/label-names.ts';
import { parseDigest } from '../reference/digest.ts';
import { readJournal, transactionLabel } from '../transaction/journal.ts';

export type FormerImageFacts = {
  readonly container: Pick<ContainerSummary, 'imageId' | 'labels'>;
  /** Labels of the container's image; undefined when the engine no longer has it. */
  readonly imageLabels: Labels | undefined;
  readonly holdsImage: (id: ImageSummary['id']) => boolean;
};

/**
 * Whether a rollback has a former image, as far as the engine's lists show: the last update has recorded another image,
 * and the engine or a registry has it.
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
