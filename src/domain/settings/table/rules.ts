import { decisionRules } from './decision.ts';
import { hookRules } from './hooks.ts';
import type { ValuesOf, Rule } from './option.ts';
import { proofRules } from './proof.ts';
import { selectionRules } from './selection.ts';
import { tagRules, holdingBackRules } from './versions.ts';
import { updateRules } from './update.ts';

/** Every option of checks and updates. A new one needs an entry here and the place where it has its effect. */
export const rules = {
  ...selectionRules,
  ...decisionRules,
  ...tagRules,
  ...holdingBackRules,
  ...proofRules,
  ...updateRules,
  ...hookRules,
} as const;

export type RuleKey = keyof typeof rules;

export type RuleValues = ValuesOf<typeof rules>;

/** The table as a list, in the order of help and docs. */
export const ruleEntries: readonly (readonly [RuleKey, Rule])[] = Object.entries(rules) as [RuleKey, Rule][];

/** The options that a label can set for one container. */
export type LabelledKey = {
  [Key in RuleKey]: (typeof rules)[Key] extends { readonly label: object } ? Key : never;
}[RuleKey];

/** The options with a label, in the same order. */
export const labelledEntries: readonly (readonly [LabelledKey, LabelledRule])[] = ruleEntries.filter(
  (entry): entry is readonly [LabelledKey, LabelledRule] => entry[1].label !== undefined,
);

type LabelledRule = Rule & { readonly label: NonNullable<Rule['label']> };
