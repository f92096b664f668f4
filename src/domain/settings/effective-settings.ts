import {
  labelledEntries,
  serviceOptionEntries,
  containerLabels,
  hookLabels,
  labelNames,
  type ServiceOptionValues,
  type HookName,
  type LabelName,
  type LabelledKey,
} from './table/service-options.ts';
import { isAlive, restartPolicyOf, type Container, type RestartPolicy } from '../container/container.ts';
import {
  containerOwnLabels,
  familyPrefix,
  journalPrefix,
  labelOf,
  originalImageLabel,
  ownPrefix,
  dropInPrefix,
  watchtowerInternals,
  type Labels,
} from '../image/labels.ts';
import { printValue, type ValueKind } from './values/label-values.ts';
import { printable, quoted, withoutQuotes } from '../text/printable.ts';
import { formatDuration } from '../text/duration.ts';
import type { DeclaredLabel } from './table/option.ts';
import { withoutSecretParts } from '../text/hidden-secrets.ts';
import { editDistance, nearest } from '../text/name-pattern.ts';

/**
 * The settings for one container: its labels over the options. The table defines for each label whether it overrides
 * its option, lowers it, or can only add a restriction unless labels take precedence. Missing settings stay absent.
 */
export function effectiveSettings<Settings extends Partial<ServiceSettings>>(
  settings: Settings,
  labelValues: Partial<LabelValues>,
): Settings {
  // Most containers have no label of ours, and a copy of all settings for each would take much of a check's time.
  if (labelValues === noValues.labelSettings) return settings;
  const effective: Record<string, unknown> = { ...settings };
  for (const [key, { label }] of labelledEntries) {
    const value = labelValues[key];
    if (value === undefined || !Object.hasOwn(settings, key)) continue;
    effective[key] = combined(label.effect, settings[key], value, settings.labelTakesPrecedence === true);
  }
  // `OptionLabel` guarantees that a label's value has the type of its option.
  return effective as Settings;
}

function combined(
  effect: 'overrides' | 'restrains' | 'lowers',
  option: unknown,
  label: unknown,
  labelTakesPrecedence: boolean,
): unknown {
  if (effect === 'lowers') return Math.min(Number(option), Number(label));
  if (effect === 'restrains' && !labelTakesPrecedence) return option === true || label === true;
  return label;
}

/** The user's settings after flags, environment and defaults. They are the same for every run of the process. */
export type ServiceSettings = ServiceOptionValues & {
  /** Names or whole-name regular expressions; empty: every container. */
  readonly names: readonly string[];
  readonly selfUpdate: SelfUpdate;
  /** The header in which a proxy names a person; absent if none is believed. */
  readonly believedHeader?: string;
  /** The time zone of windows, such as `Europe/Berlin`. */
  readonly timeZone: string;
};

/**
 * Whether Upkeep replaces the container that it runs in. `unless-published`: the HTTP API is on, so only if the
 * container publishes no ports. `not-main-process`: a successor would not start Upkeep.
 */
export type SelfUpdate = 'on' | 'unless-published' | 'off' | 'not-by-this-command' | 'not-main-process';

export const defaultSettings: ServiceSettings = {
  // Each key of the table has its own default.
  ...(Object.fromEntries(serviceOptionEntries.map(([key, rule]) => [key, rule.default])) as ServiceOptionValues),
  names: [],
  selfUpdate: 'on',
  timeZone: 'UTC',
};

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

type LabelValue<Label> = Label extends { readonly value: ValueKind<infer Value> } ? Value : never;

/** `timeoutMs` undefined: the default; 0: no limit. */
type HookCommand = {
  readonly command: string;
  readonly timeoutMs: number | undefined;
  /** The command comes from the image's labels. The image's author must not choose the user that runs it. */
  readonly isFromImage?: true;
};

/** `warnings`: sentences about labels without effect, at most 20, safe to print. */
type LabelReading = { readonly labelSettings: LabelValues; readonly warnings: readonly string[] };

/**
 * Reads the `upkeep.*` labels of a container and the supported labels of other updaters. If two labels set the same
 * thing, the container's own wins over its image's, and then `upkeep.*` wins. An image's label counts only if it
 * affects nothing but the image's own container. If the image is unknown (undefined), every label may come from it.
 * Never fails: an invalid value counts as absent and, like a mistyped name, causes a warning.
 */
export function readLabels(labels: Labels, imageLabels: Labels | undefined): LabelReading {
  const { labelSettings, warnings, ignored } = readEffectiveLabels(labels, imageLabels);
  const all = [...warnings, ...warningAboutOrigin(ignored, imageLabels), ...warningsAboutNames(labels)];
  return { labelSettings, warnings: bounded(all) };
}

/** The label values of an inspected container. */
export function labelValuesOf({ settings, imageLabels }: Pick<Container, 'settings' | 'imageLabels'>): LabelValues {
  return readEffectiveLabels(settings.Config.Labels ?? {}, imageLabels).labelSettings;
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
  return readEffectiveLabels(containerOwnLabels(labels, imageLabels), {}).labelSettings.enable;
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
function readEffectiveLabels(labels: Labels, imageLabels: Labels | undefined): Reading {
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
  const labelSettings: LabelValues = { ...(given as Omit<LabelValues, 'faults'>), faults };
  if (labelSettings.originalImage !== undefined)
    effective.push({ name: undefined, label: originalImageLabel, isFromImage: false });
  else if (labelOf(labels, originalImageLabel)?.trim()) ignored.push(originalImageLabel);
  return { labelSettings, warnings, effective, ignored };
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

/** A setting that a label changes for one container, safe to print. */
export type LabelledSetting = {
  /** The flag's name, or the label's name without an option. */
  readonly name: string;
  /** Value in the notation of the command line, at most 500 characters. */
  readonly value: string;
  /** `label upkeep.health-window`, or `image label …` if the image has it. */
  readonly source: string;
};

/**
 * The settings that the labels of a container change, in the order of the docs. Labels without an effect are omitted.
 */
export function labelledSettings(
  settings: ServiceSettings,
  labels: Labels,
  imageLabels: Labels | undefined,
): readonly LabelledSetting[] {
  const { labelSettings, effective } = readEffectiveLabels(labels, imageLabels);
  return effective.flatMap((one) => {
    const shown = shownOption(one, settings, labelSettings) ?? shownLabel(one, settings, labelSettings, labels);
    if (shown === 'no effect') return [];
    const source = `${one.isFromImage ? 'image label' : 'label'} ${one.label}`;
    return [{ name: shown.name, value: printable(shown.value, maxShownLength), source }];
  });
}

const maxShownLength = 500;

type Shown = { readonly name: string; readonly value: string };

function shownOption(
  { name }: EffectiveLabel,
  settings: ServiceSettings,
  labelSettings: LabelValues,
): Shown | 'no effect' | undefined {
  const [key, rule] = labelledEntries.find(([, { label }]) => label.name === name) ?? [];
  if (key === undefined || rule === undefined) return undefined;
  const [before, after] = [settings[key], effectiveSettings(settings, labelSettings)[key]];
  const isWithoutHooks = rule.group === 'hooks' && !settings.lifecycleHooks;
  if (isWithoutHooks || JSON.stringify(before) === JSON.stringify(after)) return 'no effect';
  return { name: rule.flag ?? key, value: printValue(rule.label.value, after) };
}

function shownLabel(
  { name, label }: EffectiveLabel,
  settings: ServiceSettings,
  labelSettings: LabelValues,
  labels: Labels,
): Shown | 'no effect' {
  if (name === containerLabels.enable.name && labelSettings.enable === !settings.labelEnable) return 'no effect';
  const hook = hookNames.find((one) => name === hookLabels[one].command.name || name === hookLabels[one].timeout.name);
  if (hook !== undefined && (!settings.lifecycleHooks || labelSettings.hooks[hook] === undefined)) return 'no effect';
  return { name: name ?? 'original-image', value: (labels[label] ?? '').trim() };
}

// The keys of the object are the type's members.
const hookNames = Object.keys(hookLabels) as HookName[];

/**
 * The state of a successor at the end of its update. `running`: it runs and is proven. `started`: the same, or it has
 * exited with code 0. `completed`: it is a job that others wait for and has exited with code 0. `stopped`: it was never
 * started, so nothing is proven.
 */
export type DesiredEndState = (typeof desiredEndState)[number];

export const desiredEndState = ['running', 'started', 'completed', 'stopped'] as const;

export type DesiredEndStateSettings = Pick<ServiceSettings, 'noRestart' | 'reviveStopped' | 'labelTakesPrecedence'>;

type MemberRole = {
  /**
   * True for a container that is only re-created because of another one. If it was stopped, it stays stopped under all
   * settings.
   */
  readonly isLinked: boolean;
  /** Other containers wait for it to complete. */
  readonly isJob: boolean;
};

/**
 * A running container is started again and a stopped one stays stopped, unless `no-restart` or `revive-stopped` change
 * it. A stopped one that its restart policy lets end may be a job.
 */
export function desiredEndStateOf(
  container: Container,
  { isLinked, isJob }: MemberRole,
  settings: DesiredEndStateSettings,
): DesiredEndState {
  const { noRestart } = effectiveSettings(settings, labelValuesOf(container));
  const isStarted = isAlive(container.state.status) || (settings.reviveStopped && !isLinked);
  if (!isStarted || noRestart) return 'stopped';
  if (isJob) return 'completed';
  return !isAlive(container.state.status) && mayEnd(restartPolicyOf(container)) ? 'started' : 'running';
}

/** Whether the engine leaves a process ended that has exited with code 0. */
function mayEnd({ Name }: RestartPolicy): boolean {
  return Name !== 'always' && Name !== 'unless-stopped';
}

type Declared<Value> = Pick<DeclaredLabel<Value>, 'value' | 'fromImage'> & { readonly name: LabelName };

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

function readOne<Value>(question: Question<Value>): Found<Value> | undefined {
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
type EffectiveLabel = {
  /** Without a prefix. Undefined for a label of another tool. */
  readonly name: LabelName | undefined;
  /** In full. */
  readonly label: string;
  readonly isFromImage: boolean;
};

/** A sentence about the labels that would count only on the container itself. */
function warningAboutOrigin(ignored: readonly string[], imageLabels: Labels | undefined): readonly string[] {
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
function warningsAboutNames(labels: Labels): readonly string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(labels)) {
    if (warnings.length > maxWarnings) break;
    const warning = describeUnknownLabel(label);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

/** At most 20 sentences, the last of which says that there are more. */
function bounded(warnings: readonly string[]): readonly string[] {
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

/** The values for a container without our labels. */
const noValues = readEach({}, {});
