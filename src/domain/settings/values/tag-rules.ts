import { readTagFilter, readTagPolicy, type TagFilter, type TagPolicy } from '../../tags/tag-policy.ts';
import type { ValueKind } from './label-values.ts';

/** A label with an invalid tag rule. The wanted tags are then unknown. */
export type UnreadableRule = { readonly kind: 'unreadable'; readonly text: string; readonly fault: string };

export type PolicySetting = TagPolicy | UnreadableRule;

/** `none`: no rule is set. */
export type TagPatternSetting =
  | { readonly kind: 'none' }
  | { readonly kind: 'pattern'; readonly text: string; readonly isIn: TagFilter }
  | UnreadableRule;

/** The policy of an option. */
export const tagPolicy: ValueKind<PolicySetting> = {
  accepted: 'digest, patch, minor, major, or regex: with a pattern of RE2 that has a group around the numbers',
  parse: readable(readPolicy),
  print: printPolicy,
};

/** The same for a label. An unreadable text is a value too, so that no wider policy replaces it. */
export const tagPolicyOfLabel: ValueKind<PolicySetting> = { ...tagPolicy, parse: readPolicy };

/** The pattern of an option, found anywhere in a tag. */
export const tagPattern: ValueKind<TagPatternSetting> = {
  accepted:
    'a pattern of RE2, which has neither backreferences nor lookaround, without white space, of at most 1,000 characters',
  parse: readable(readPattern),
  print: (pattern) => (pattern.kind === 'none' ? 'none' : pattern.text),
};

/** The same for a label. */
export const tagPatternOfLabel: ValueKind<TagPatternSetting> = { ...tagPattern, parse: readPattern };

function readPolicy(text: string): PolicySetting {
  const policy = readTagPolicy(text);
  return 'fault' in policy ? { kind: 'unreadable', text, fault: policy.fault } : policy;
}

function readPattern(text: string): TagPatternSetting {
  if (text === '') return { kind: 'none' };
  if (/\s/.test(text)) return { kind: 'unreadable', text, fault: 'it has white space, which no tag has' };
  const isIn = readTagFilter(text);
  return 'fault' in isIn ? { kind: 'unreadable', text, fault: isIn.fault } : { kind: 'pattern', text, isIn };
}

function readable<Rule extends { readonly kind: string }>(read: (text: string) => Rule) {
  return (text: string): Rule | undefined => {
    const rule = read(text);
    return rule.kind === 'unreadable' ? undefined : rule;
  };
}

function printPolicy(policy: PolicySetting): string {
  if (policy.kind === 'regex') return `regex:${policy.text}`;
  return policy.kind === 'unreadable' ? policy.text : policy.kind;
}
