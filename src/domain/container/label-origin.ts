import { journalPrefix, type Labels } from './label-names.ts';

/**
 * The labels that were given to the container itself. A label with the same value in its image counts as the image's.
 * An update writes all labels of its journal at once, so a journal is judged as a whole: it is the container's own if
 * one of its labels is not the image's. If the image is not known (undefined), every label may be the image's, so the
 * result is empty.
 */
export function ownLabels(labels: Labels, imageLabels: Labels | undefined): Labels {
  if (imageLabels === undefined) return {};
  const isImages = (label: string) => Object.hasOwn(imageLabels, label) && imageLabels[label] === labels[label];
  const names = Object.keys(labels);
  const ownJournal = names.some((label) => label.startsWith(journalPrefix) && !isImages(label));
  const own = names.filter((label) => (label.startsWith(journalPrefix) ? ownJournal : !isImages(label)));
  return Object.fromEntries(own.map((label) => [label, labels[label] ?? '']));
}
