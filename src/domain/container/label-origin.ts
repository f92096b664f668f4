import { journalPrefix, type Labels } from './label-names.ts';

/**
 * The labels that a container was given itself. Those that its image has with the same value come from the image,
 * as far as anybody can tell. An update writes all labels of its journal at once, so these are judged as a whole:
 * they are the container's own as soon as one of them is not the image's. Of an image that is not known (undefined)
 * every label may be, so nothing is left.
 */
export function ownLabels(labels: Labels, imageLabels: Labels | undefined): Labels {
  if (imageLabels === undefined) return {};
  const isImages = (label: string) => Object.hasOwn(imageLabels, label) && imageLabels[label] === labels[label];
  const names = Object.keys(labels);
  const ownJournal = names.some((label) => label.startsWith(journalPrefix) && !isImages(label));
  const own = names.filter((label) => (label.startsWith(journalPrefix) ? ownJournal : !isImages(label)));
  return Object.fromEntries(own.map((label) => [label, labels[label] ?? '']));
}
