import { formatDuration } from '../text/duration.ts';
import {
  dropInPrefix,
  labelOf,
  ownPrefix,
  journalPrefix,
  watchtowerInternals,
  type Labels,
} from '../image/image-labels.ts';
import { labelNames, type LabelName } from './table/service-options.ts';
import type { DeclaredLabel } from './table/option.ts';
import { quoted, withoutQuotes } from '../text/printable.ts';
import { withoutSecretParts } from '../text/hidden-secrets.ts';
import { editDistance, nearest } from '../text/name-pattern.ts';

export type Declared<Value> = Pick<DeclaredLabel<Value>, 'value' | 'fromImage'> & { readonly name: LabelName };

/** Enough for any command. An engine accepts labels of many megabytes. */
const maxValueLength = 32_768;

type Question<Value> = {
  readonly labels: Labels;
  readonly isOwn: (label: string, name: LabelName) => boolean;
  readonly declared: Declared<Value>;
  readonly warnings: string[];
  readonly effective: EffectiveLabel[];
  readonly ignored: string[];
  /** Sentences about labels that hold the container's updates back because they cannot be read. */
  readonly faults: string[];
};

type Found<Value> = { readonly value: Value; readonly isFromImage: boolean };

export function readOne<Value>(question: Question<Value>): Found<Value> | undefined {
  const { labels, isOwn, declared, warnings, effective, ignored, faults } = question;
  const { name, value: kind, fromImage } = declared;
  const { own, dropIn } = spellings[name];
  const given = [own, dropIn].filter((label) => {
    const text = labelOf(labels, label);
    return text !== undefined && !(label === dropIn && text === kind.ignoredDropInValue);
  });
  const inherited = given.filter((label) => !isOwn(label, name));
  if (fromImage === 'ignored') ignored.push(...inherited);
  const candidates = given.filter((label) => isOwn(label, name));
  if (fromImage === 'counts') candidates.push(...inherited);
  for (const label of candidates) {
    const written = (labels[label] ?? '').trim();
    const text = kind.keepsQuotes === true ? written : withoutQuotes(written);
    const isTooLong = text.length > maxValueLength;
    const value = isTooLong ? kind.tooLong : kind.parse(text);
    const isFromImage = !isOwn(label, name);
    if (isTooLong && value !== undefined) {
      warnings.push(`Label ${quoted(label)} counts as a restriction: it has more than ${maxValueLength} characters`);
      return { value, isFromImage };
    }
    if (value !== undefined) {
      effective.push({ name, label, isFromImage });
      const { atMostMs } = kind;
      if (atMostMs === undefined || typeof value !== 'number' || value <= atMostMs) return { value, isFromImage };
      const most = formatDuration(atMostMs);
      warnings.push(`Label ${quoted(label)} is limited to ${most}: ${quoted(text)} is longer`);
      return { value: kind.parse(most) ?? value, isFromImage };
    }
    const why = `${quoted(withoutSecretParts(text))} is not ${kind.accepted}`;
    if (text !== '' && kind.unreadable !== undefined) {
      warnings.push(`Label ${quoted(label)} counts as ${String(kind.unreadable)}: ${why}`);
      effective.push({ name, label, isFromImage });
      return { value: kind.unreadable, isFromImage };
    }
    if (text !== '' && kind.holdsUnreadable === true && !isFromImage) {
      warnings.push(`Label ${quoted(label)} holds updates back: ${why}`);
      faults.push(`Cannot read the label ${name} with ${quoted(withoutSecretParts(text))}: it is not ${kind.accepted}`);
      return undefined;
    }
    warnings.push(`Label ${quoted(label)} is ignored: ${why}`);
  }
  return undefined;
}

type Spelling = { readonly own: string; readonly dropIn: string };

/** Each check looks for every name on every container, so the names are put together once. */
const spellings = Object.fromEntries(
  labelNames.map((name): [LabelName, Spelling] => [name, { own: ownPrefix + name, dropIn: dropInPrefix + name }]),
) as Readonly<Record<LabelName, Spelling>>;

/** A label that `readLabels` uses. */
export type EffectiveLabel = {
  /** Without a prefix. Undefined for a label of another tool. */
  readonly name: LabelName | undefined;
  /** In full. */
  readonly label: string;
  readonly isFromImage: boolean;
};

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

const maxWarnings = 20;

/** Sentences about mistyped and unknown names of labels. */
export function warningsAboutNames(labels: Labels): readonly string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(labels)) {
    if (warnings.length > maxWarnings) break;
    const warning = describeUnknownLabel(label);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

/** At most 20 sentences, the last of which says that there are more. */
export function bounded(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= maxWarnings) return warnings;
  return [...warnings.slice(0, maxWarnings - 1), 'Further labels are ignored or not known'];
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
const maxStrayLength = 100;

/** Finds a known name under a prefix that nearly equals ours: `upkep.enable`, `com.containrrr.watchtower.enable`. */
function describeStray(label: string): string | undefined {
  if (label.length > maxStrayLength) return undefined;
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
