import type { Container } from '../container/container.ts';
import { formatDuration } from '../text/duration.ts';
import {
  dropInPrefix,
  familyPrefix,
  journalPrefix,
  labelOf,
  type Labels,
  originalImageLabel,
  ownPrefix,
  containerOwnLabels,
} from '../container/label-names.ts';
import { describeUnknownLabel } from './label-typos.ts';
import type { ServiceSettings } from './service-settings.ts';
import { containerLabels, type HookName, hookLabels } from './table/container-labels.ts';
import { labelNames, type LabelName } from './table/label-table.ts';
import type { DeclaredLabel } from './table/option.ts';
import { type LabelledKey, labelledEntries } from './table/service-options.ts';
import type * as kinds from './values/label-values.ts';
import { quoted } from '../text/printable.ts';

/** The values of a container's labels; undefined: not given. */
export type LabelValues = {
  readonly [Key in LabelledKey]: NonNullable<ServiceSettings[Key]> | undefined;
} & {
  /** `scope` undefined: unscoped, also for the label value `none`. */
  readonly [Key in keyof typeof containerLabels]: LabelValue<(typeof containerLabels)[Key]> | undefined;
} & {
  readonly hooks: Readonly<Record<HookName, HookCommand | undefined>>;
  /** The reference to use instead of `Config.Image`; not parsed. */
  readonly originalImage: string | undefined;
};

type LabelValue<Label> = Label extends { readonly value: kinds.ValueKind<infer Value> } ? Value : never;

/** `timeoutMs` undefined: the default; 0: no limit. */
export type HookCommand = {
  readonly command: string;
  readonly timeoutMs: number | undefined;
  /** The command comes from the image's labels. The image's author must not choose the user that runs it. */
  readonly isFromImage?: true;
};

/** `warnings`: sentences about labels without effect, at most 20, safe to print. */
export type LabelReading = { readonly wishes: LabelValues; readonly warnings: readonly string[] };

/**
 * Reads the `upkeep.*` labels of a container and the supported labels of other updaters. If two labels set the same
 * thing, the container's own wins over its image's, and then `upkeep.*` wins. An image's label counts only if it
 * affects nothing but the image's own container. If the image is unknown (undefined), every label may come from it.
 * Never fails: an invalid value counts as absent and, like a mistyped name, causes a warning.
 */
export function readLabels(labels: Labels, imageLabels: Labels | undefined): LabelReading {
  const { wishes, warnings, ignored } = readEffectiveLabels(labels, imageLabels);
  const all = [...warnings, ...warningAboutOrigin(ignored, imageLabels), ...warningsAboutNames(labels)];
  return { wishes, warnings: bounded(all) };
}

/** The label values of an inspected container. */
export function labelValuesOf({ settings, imageLabels }: Pick<Container, 'settings' | 'imageLabels'>): LabelValues {
  return readEffectiveLabels(settings.Config.Labels ?? {}, imageLabels).wishes;
}

/**
 * Whether the container's own label excludes it from updates. A label of its image does not count: an update may have
 * brought that image.
 */
export function isExcluded({ settings, imageLabels }: Pick<Container, 'settings' | 'imageLabels'>): boolean {
  return (
    readEffectiveLabels(containerOwnLabels(settings.Config.Labels ?? {}, imageLabels ?? {}), {}).wishes.enable === false
  );
}

/** Labels that `readLabels` uses, with full names and verbatim values. Overridden ones are omitted. */
export function labelsInEffect(labels: Labels, imageLabels: Labels | undefined): Labels {
  return Object.fromEntries(
    readEffectiveLabels(labels, imageLabels).effective.map(({ label }) => [label, labels[label] ?? '']),
  );
}

/** A label that `readLabels` uses. */
export type EffectiveLabel = {
  /** Without a prefix. Undefined for a label of another tool. */
  readonly name: LabelName | undefined;
  /** In full. */
  readonly label: string;
  readonly isFromImage: boolean;
};

/** `ignored`: labels that would count if they were the container's own. */
type Reading = LabelReading & { readonly effective: readonly EffectiveLabel[]; readonly ignored: readonly string[] };

/** The label values of a container, and the labels that they come from. */
export function readEffectiveLabels(labels: Labels, imageLabels: Labels | undefined): Reading {
  return Object.keys(labels).some(hasOurPrefix) ? readEach(labels, imageLabels) : noValues;
}

/** Most containers have none of these labels, and a search for each name would take most of a check's time. */
function hasOurPrefix(label: string): boolean {
  return label.startsWith(ownPrefix) || label.startsWith(familyPrefix);
}

function readEach(labels: Labels, imageLabels: Labels | undefined): Reading {
  const own = containerOwnLabels(labels, imageLabels);
  const warnings: string[] = [];
  const effective: EffectiveLabel[] = [];
  const ignored: string[] = ignoredJournal(labels, own);
  const isOwn = (label: string, name: LabelName) =>
    Object.hasOwn(own, label) || (name === 'scope' && imageLabels === undefined);
  const find = <Value>(declared: Declared<Value>) => readOne({ labels, isOwn, declared, warnings, effective, ignored });
  const hook = ({ command, timeout }: (typeof hookLabels)[HookName]): HookCommand | undefined => {
    const [found, timeoutMs] = [find<string>(command), find<number>(timeout)?.value];
    if (found === undefined) return undefined;
    return { command: found.value, timeoutMs, ...(found.isFromImage && { isFromImage: true }) };
  };
  const read = Object.fromEntries(valueLabels.map(([key, declared]) => [key, find(declared)?.value]));
  const wishes = {
    ...read,
    scope: read['scope'] === '' ? undefined : read['scope'],
    hooks: {
      preCheck: hook(hookLabels.preCheck),
      preUpdate: hook(hookLabels.preUpdate),
      postUpdate: hook(hookLabels.postUpdate),
      postCheck: hook(hookLabels.postCheck),
    },
    originalImage: labelOf(own, originalImageLabel)?.trim() || undefined,
    // Every value was parsed by the kind of its own key.
  } as LabelValues;
  if (wishes.originalImage !== undefined)
    effective.push({ name: undefined, label: originalImageLabel, isFromImage: false });
  else if (labelOf(labels, originalImageLabel)?.trim()) ignored.push(originalImageLabel);
  return { wishes, warnings, effective, ignored };
}

type Declared<Value> = Pick<DeclaredLabel<Value>, 'value' | 'fromImage'> & { readonly name: LabelName };

/** By the names of their values. */
const valueLabels: readonly (readonly [string, Declared<unknown>])[] = [
  ...Object.entries(containerLabels),
  // The names of the labels in the table are the type's members.
  ...labelledEntries.map(([key, { label }]) => [key, label as Declared<unknown>] as const),
];

/** One label represents a whole journal. */
function ignoredJournal(labels: Labels, own: Labels): string[] {
  const isIgnored = (label: string) => label.startsWith(journalPrefix) && !Object.hasOwn(own, label);
  return Object.keys(labels).filter(isIgnored).slice(0, 1);
}

function warningAboutOrigin(ignored: readonly string[], imageLabels: Labels | undefined): readonly string[] {
  if (ignored.length === 0) return [];
  const names = ignored.map((label) => quoted(label.startsWith(journalPrefix) ? `${journalPrefix}*` : label));
  const why =
    imageLabels === undefined ? 'may come from the image, which is gone from the engine' : 'come from the image';
  return [`Labels are ignored because they ${why}, and count only on the container itself: ${names.join(', ')}`];
}

/** Enough for any command. An engine accepts labels of many megabytes. */
const longestValue = 32_768;

const mostWarnings = 20;

type Question<Value> = {
  readonly labels: Labels;
  readonly isOwn: (label: string, name: LabelName) => boolean;
  readonly declared: Declared<Value>;
  readonly warnings: string[];
  readonly effective: EffectiveLabel[];
  readonly ignored: string[];
};

type Found<Value> = { readonly value: Value; readonly isFromImage: boolean };

function readOne<Value>(question: Question<Value>): Found<Value> | undefined {
  const { labels, isOwn, declared, warnings, effective, ignored } = question;
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
    const text = labels[label] ?? '';
    const value = text.length > longestValue ? undefined : kind.parse(text.trim());
    if (value !== undefined) {
      const isFromImage = !isOwn(label, name);
      effective.push({ name, label, isFromImage });
      const { atMostMs } = kind;
      if (atMostMs === undefined || typeof value !== 'number' || value <= atMostMs) return { value, isFromImage };
      const most = formatDuration(atMostMs);
      warnings.push(`Label ${quoted(label)} is limited to ${most}: ${quoted(text)} is longer`);
      return { value: kind.parse(most) ?? value, isFromImage };
    }
    warnings.push(`Label ${quoted(label)} is ignored: ${quoted(text)} is not ${kind.accepted}`);
  }
  return undefined;
}

type Spelling = { readonly own: string; readonly dropIn: string };

/** Each check looks for every name on every container, so the names are put together once. */
const spellings = Object.fromEntries(
  labelNames.map((name): [LabelName, Spelling] => [name, { own: ownPrefix + name, dropIn: dropInPrefix + name }]),
) as Readonly<Record<LabelName, Spelling>>;

/** The values for a container without our labels. */
const noValues = readEach({}, {});

function warningsAboutNames(labels: Labels): readonly string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(labels)) {
    if (warnings.length > mostWarnings) break;
    const warning = describeUnknownLabel(label);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

function bounded(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= mostWarnings) return warnings;
  return [...warnings.slice(0, mostWarnings - 1), 'Further labels are ignored or not known'];
}
