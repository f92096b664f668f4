import { containerLabels, hookLabels } from './container-labels.ts';
import type { DeclaredLabel, OptionLabel, ServiceOption } from './option.ts';
import { type LabelledKey, labelledEntries, type serviceOptions } from './service-options.ts';

type Hooks = (typeof hookLabels)[keyof typeof hookLabels];

/** A label of a container, without its prefix. */
export type LabelName =
  | (typeof serviceOptions)[LabelledKey]['label']['name']
  | (typeof containerLabels)[keyof typeof containerLabels]['name']
  | Hooks['command' | 'timeout']['name'];

type NamedLabel = DeclaredLabel<unknown> & { readonly name: LabelName };

/** Every label, once, in the order of the docs. */
export const labelTable: readonly NamedLabel[] = [
  ...Object.values(containerLabels),
  ...labelledEntries.map(([, rule]) => labelOf(rule)),
  ...Object.values(hookLabels).flatMap(({ command, timeout }) => [command, timeout]),
];

export const labelNames: readonly LabelName[] = labelTable.map(({ name }) => name);

function labelOf(rule: ServiceOption & { readonly label: OptionLabel<unknown> }): NamedLabel {
  const { label, flag = '', example } = rule;
  const note = label.note === undefined ? '' : `; ${label.note}`;
  const meaning = label.meaning ?? `Like --${flag}, for this container${note}`;
  // The names of the labels in the table of rules are the type's members.
  return { ...label, name: label.name as LabelName, meaning, example: label.example ?? example };
}
