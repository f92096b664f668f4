import { checkOptions } from './check.ts';
import { hookRules } from './hooks.ts';
import type { ValuesOf, ServiceOption } from './option.ts';
import { healthOptions } from './health.ts';
import { selectionRules } from './selection.ts';
import { tagRules, holdingBackRules } from './versions.ts';
import { updateRules } from './update.ts';

/** Every option of checks and updates. A new one needs an entry here and the code of its effect. */
export const serviceOptions = {
  ...selectionRules,
  ...checkOptions,
  ...tagRules,
  ...holdingBackRules,
  ...healthOptions,
  ...updateRules,
  ...hookRules,
} as const;

export type ServiceOptionKey = keyof typeof serviceOptions;

export type ServiceOptionValues = ValuesOf<typeof serviceOptions>;

/** The table as a list, in the order of help and docs. */
export const serviceOptionEntries: readonly (readonly [ServiceOptionKey, ServiceOption])[] = Object.entries(
  serviceOptions,
) as [ServiceOptionKey, ServiceOption][];

/** The options that a label can set for one container. */
export type LabelledKey = {
  [Key in ServiceOptionKey]: (typeof serviceOptions)[Key] extends { readonly label: object } ? Key : never;
}[ServiceOptionKey];

/** The options with a label, in the same order. */
export const labelledEntries: readonly (readonly [LabelledKey, LabelledRule])[] = serviceOptionEntries.filter(
  (entry): entry is readonly [LabelledKey, LabelledRule] => entry[1].label !== undefined,
);

type LabelledRule = ServiceOption & { readonly label: NonNullable<ServiceOption['label']> };
