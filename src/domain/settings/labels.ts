import type { Container } from '../container/container.ts';
import {
  containerOwnLabels,
  familyPrefix,
  journalPrefix,
  labelOf,
  type Labels,
  originalImageLabel,
  ownPrefix,
} from '../image/image-labels.ts';
import type { ServiceSettings } from './service-settings.ts';
import { containerLabels, hookLabels, type HookName } from './table/container-labels.ts';
import type { LabelName } from './table/label-table.ts';
import { labelledEntries, type LabelledKey } from './table/service-options.ts';
import type * as kinds from './values/label-values.ts';
import { bounded, warningAboutOrigin, warningsAboutNames } from './label-warnings.ts';
import { type Declared, type EffectiveLabel, readOne } from './read-label.ts';

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
  /** Sentences about labels that hold updates back because they cannot be read. */
  readonly faults: readonly string[];
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
  return ownEnable(settings.Config.Labels ?? {}, imageLabels ?? {}) === false;
}

/** The value of the label `enable` that its owner gave to the container. With an unknown image there is none. */
export function ownEnable(labels: Labels, imageLabels: Labels | undefined): boolean | undefined {
  return readEffectiveLabels(containerOwnLabels(labels, imageLabels), {}).wishes.enable;
}

/** Labels that `readLabels` uses, with full names and verbatim values. Overridden ones are omitted. */
export function labelsInEffect(labels: Labels, imageLabels: Labels | undefined): Labels {
  return Object.fromEntries(
    readEffectiveLabels(labels, imageLabels).effective.map(({ label }) => [label, labels[label] ?? '']),
  );
}

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
  const faults: string[] = [];
  const effective: EffectiveLabel[] = [];
  const ignored: string[] = ignoredJournal(labels, own);
  const isOwn = (label: string, name: LabelName) =>
    Object.hasOwn(own, label) || (name === 'scope' && imageLabels === undefined);
  const find = <Value>(declared: Declared<Value>) =>
    readOne({ labels, isOwn, declared, warnings, effective, ignored, faults });
  const hook = ({ command, timeout }: (typeof hookLabels)[HookName]): HookCommand | undefined => {
    const [found, timeoutMs] = [find<string>(command), find<number>(timeout)?.value];
    if (found === undefined) return undefined;
    return { command: found.value, timeoutMs, ...(found.isFromImage && { isFromImage: true }) };
  };
  const read = Object.fromEntries(valueLabels.map(([key, declared]) => [key, find(declared)?.value]));
  const given = {
    ...read,
    scope: read['scope'] === '' ? undefined : read['scope'],
    hooks: {
      preCheck: hook(hookLabels.preCheck),
      preUpdate: hook(hookLabels.preUpdate),
      postUpdate: hook(hookLabels.postUpdate),
      postCheck: hook(hookLabels.postCheck),
    },
    originalImage: labelOf(own, originalImageLabel)?.trim() || undefined,
  };
  // Every value was parsed by the kind of its own key.
  const wishes: LabelValues = { ...(given as Omit<LabelValues, 'faults'>), faults };
  if (wishes.originalImage !== undefined)
    effective.push({ name: undefined, label: originalImageLabel, isFromImage: false });
  else if (labelOf(labels, originalImageLabel)?.trim()) ignored.push(originalImageLabel);
  return { wishes, warnings, effective, ignored };
}

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

/** The values for a container without our labels. */
const noValues = readEach({}, {});
