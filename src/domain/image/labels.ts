/** Labels of containers: the names with a meaning, and whose a label is. */

/** Prefix of Upkeep's own labels, such as `upkeep.enable`. They take precedence over the drop-in ones. */
export const ownPrefix = 'upkeep.';

/**
 * Prefix of Watchtower's labels, such as `com.centurylinklabs.watchtower.enable`. They have the same meaning as
 * Upkeep's own.
 */
export const dropInPrefix = 'com.centurylinklabs.watchtower.';

/** Prefix of the labels of an update's journal. No label for users has it. */
export const journalPrefix = 'upkeep.tx.';

/** Prefix of every label with a meaning in the Watchtower family. */
export const familyPrefix = 'com.centurylinklabs.';

/** `true` marks a container of the Watchtower family itself. */
export const watchtowerLabel = 'com.centurylinklabs.watchtower';

/** The reference that replaces `Config.Image`, as the Zodiac deploy tool writes it. */
export const originalImageLabel = 'com.centurylinklabs.zodiac.original-image';

/** Names under the drop-in prefix that Watchtower writes for itself. */
export const watchtowerInternals: readonly string[] = ['container-chain', 'ephemeral-orchestrator'];

export type Labels = Readonly<Record<string, string>>;

/** Own properties only, because a label may have the name of a prototype's property. */
export function labelOf(labels: Labels | undefined, name: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/**
 * The labels that were given to the container itself. A label with the same value in its image counts as the image's.
 * An update writes all labels of its journal at once, so a journal is judged as a whole: it is the container's own if
 * one of its labels is not the image's. If the image is not known (undefined), every label may be the image's, so the
 * result is empty.
 */
export function containerOwnLabels(labels: Labels, imageLabels: Labels | undefined): Labels {
  if (imageLabels === undefined) return {};
  const isImages = (label: string) => Object.hasOwn(imageLabels, label) && imageLabels[label] === labels[label];
  const names = Object.keys(labels);
  const ownJournal = names.some((label) => label.startsWith(journalPrefix) && !isImages(label));
  const own = names.filter((label) => (label.startsWith(journalPrefix) ? ownJournal : !isImages(label)));
  return Object.fromEntries(own.map((label) => [label, labels[label] ?? '']));
}

/** A label on the command line: `tier=web`, or `tier=` for any value. */
type LabelPair = {
  readonly label: string;
  /** Empty: any. */
  readonly value: string;
};

/** Undefined without an equals sign, without a name, or beyond the length limit of labels. */
export function parseLabelPair(text: string): LabelPair | undefined {
  if (text.length > maxPairLength) return undefined;
  const [, label = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  return label.trim() === '' ? undefined : { label: label.trim(), value: value.trim() };
}

/** Whether the labels contain one of the pairs. A pair that cannot be read matches nothing. */
export function carriesAny(labels: Readonly<Record<string, string>>, texts: readonly string[]): boolean {
  return texts.some((text) => {
    const pair = parseLabelPair(text);
    if (pair === undefined || !Object.hasOwn(labels, pair.label)) return false;
    return pair.value === '' || labels[pair.label] === pair.value;
  });
}

/** Limit of containerd: https://github.com/containerd/containerd/blob/main/pkg/labels/validate.go */
const maxPairLength = 4096;
