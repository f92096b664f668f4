import type { Labels } from '../image/image-labels.ts';
import { printable } from '../text/printable.ts';
import { effectiveSettings } from './effective-settings.ts';
import { type LabelValues, readEffectiveLabels } from './labels.ts';
import type { EffectiveLabel } from './read-label.ts';
import type { ServiceSettings } from './service-settings.ts';
import { containerLabels, type HookName, hookLabels } from './table/container-labels.ts';
import { labelledEntries } from './table/service-options.ts';
import { printValue } from './values/label-values.ts';

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
  const { wishes, effective } = readEffectiveLabels(labels, imageLabels);
  return effective.flatMap((one) => {
    const shown = shownOption(one, settings, wishes) ?? shownLabel(one, settings, wishes, labels);
    if (shown === 'no effect') return [];
    const source = `${one.isFromImage ? 'image label' : 'label'} ${one.label}`;
    return [{ name: shown.name, value: printable(shown.value, longestValue), source }];
  });
}

const longestValue = 500;

type Shown = { readonly name: string; readonly value: string };

function shownOption(
  { name }: EffectiveLabel,
  settings: ServiceSettings,
  wishes: LabelValues,
): Shown | 'no effect' | undefined {
  const [key, rule] = labelledEntries.find(([, { label }]) => label.name === name) ?? [];
  if (key === undefined || rule === undefined) return undefined;
  const [before, after] = [settings[key], effectiveSettings(settings, wishes)[key]];
  const isWithoutHooks = rule.group === 'hooks' && !settings.lifecycleHooks;
  if (isWithoutHooks || JSON.stringify(before) === JSON.stringify(after)) return 'no effect';
  return { name: rule.flag ?? key, value: printValue(rule.label.value, after) };
}

function shownLabel(
  { name, label }: EffectiveLabel,
  settings: ServiceSettings,
  wishes: LabelValues,
  labels: Labels,
): Shown | 'no effect' {
  if (name === containerLabels.enable.name && wishes.enable === !settings.labelEnable) return 'no effect';
  const hook = hookNames.find((one) => name === hookLabels[one].command.name || name === hookLabels[one].timeout.name);
  if (hook !== undefined && (!settings.lifecycleHooks || wishes.hooks[hook] === undefined)) return 'no effect';
  return { name: name ?? 'original-image', value: (labels[label] ?? '').trim() };
}

// The keys of the object are the type's members.
const hookNames = Object.keys(hookLabels) as HookName[];
