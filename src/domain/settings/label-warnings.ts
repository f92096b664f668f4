import { journalPrefix, type Labels } from '../container/label-names.ts';
import { describeUnknownLabel } from './label-typos.ts';
import { quoted } from '../text/printable.ts';

/** A sentence about the labels that would count only on the container itself. */
export function warningAboutOrigin(ignored: readonly string[], imageLabels: Labels | undefined): readonly string[] {
  if (ignored.length === 0) return [];
  const names = ignored.map((label) => quoted(label.startsWith(journalPrefix) ? `${journalPrefix}*` : label));
  const why =
    imageLabels === undefined ? 'may come from the image, which is gone from the engine' : 'come from the image';
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
