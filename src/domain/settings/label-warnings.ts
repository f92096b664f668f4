import { dropInPrefix, journalPrefix, type Labels, ownPrefix, watchtowerInternals } from '../image/image-labels.ts';
import { editDistance, nearest } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import { labelNames } from './table/label-table.ts';

/** A sentence about the labels that would count only on the container itself. */
export function warningAboutOrigin(ignored: readonly string[], imageLabels: Labels | undefined): readonly string[] {
  if (ignored.length === 0) return [];
  const names = ignored.map((label) => quoted(label.startsWith(journalPrefix) ? `${journalPrefix}*` : label));
  const why =
    imageLabels === undefined
      ? 'may come from the image, which is gone from the engine or unknown to it'
      : 'come from the image';
  return [`Labels are ignored because they ${why}, and count only on the container itself: ${names.join(', ')}`];
}

const mostWarnings = 20;

/** Sentences about mistyped and unknown names of labels. */
export function warningsAboutNames(labels: Labels): readonly string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(labels)) {
    if (warnings.length > mostWarnings) break;
    const warning = describeUnknownLabel(label);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

/** At most 20 sentences, the last of which says that there are more. */
export function bounded(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= mostWarnings) return warnings;
  return [...warnings.slice(0, mostWarnings - 1), 'Further labels are ignored or not known'];
}

/**
 * A warning about an unknown label that looks like ours, with the label that was probably meant. Undefined for known
 * labels and for labels of other tools. A mistyped `enable` without a warning has cost users their data.
 */
export function describeUnknownLabel(label: string): string | undefined {
  const prefix = [ownPrefix, dropInPrefix].find((each) => label.startsWith(each));
  if (prefix === undefined) return describeStray(label);
  const name = label.slice(prefix.length);
  if (known.has(name) || label.startsWith(journalPrefix) || watchtowerInternals.includes(name)) return undefined;
  const meant = nearest(name, labelNames);
  return sentence(label, meant === undefined ? undefined : prefix + meant);
}

const known: ReadonlySet<string> = new Set(labelNames);

/** Longer than every label of ours with a typo. */
const longestStray = 100;

/** Finds a known name under a prefix that nearly equals ours: `upkep.enable`, `com.containrrr.watchtower.enable`. */
function describeStray(label: string): string | undefined {
  if (label.length > longestStray) return undefined;
  const lower = label.toLowerCase();
  const name = labelNames.find((each) => lower.endsWith(each) && /[._-]/.test(lower.at(-each.length - 1) ?? ''));
  if (name === undefined) return undefined;
  const word =
    lower
      .slice(0, -name.length - 1)
      .split('.')
      .at(-1) ?? '';
  if (editDistance(word, 'upkeep') <= 1) return sentence(label, ownPrefix + name);
  return editDistance(word, 'watchtower') <= 1 ? sentence(label, dropInPrefix + name) : undefined;
}

function sentence(label: string, meant: string | undefined): string {
  return `Label ${quoted(label)} is not known${meant === undefined ? '' : `; did you mean ${quoted(meant)}?`}`;
}
