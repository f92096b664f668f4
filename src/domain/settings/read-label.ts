import { formatDuration } from '../text/duration.ts';
import { dropInPrefix, labelOf, type Labels, ownPrefix } from '../image/image-labels.ts';
import { type LabelName, labelNames } from './table/label-table.ts';
import type { DeclaredLabel } from './table/option.ts';
import { quoted, withoutQuotes } from '../text/printable.ts';
import { withoutSecretParts } from '../text/hidden-secrets.ts';

export type Declared<Value> = Pick<DeclaredLabel<Value>, 'value' | 'fromImage'> & { readonly name: LabelName };

/** Enough for any command. An engine accepts labels of many megabytes. */
const longestValue = 32_768;

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
    const isTooLong = text.length > longestValue;
    const value = isTooLong ? kind.tooLong : kind.parse(text);
    const isFromImage = !isOwn(label, name);
    if (isTooLong && value !== undefined) {
      warnings.push(`Label ${quoted(label)} counts as a restriction: it has more than ${longestValue} characters`);
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
