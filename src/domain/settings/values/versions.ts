import { readTagFilter, readTagPolicy, type TagFilter, type TagPolicy } from '../../image/choose-tag.ts';
import type { ValueKind } from './label-values.ts';
import { type ApprovalFrom, readApproval } from '../../decision/decisions.ts';
import { parseWindows, type Window } from '../../decision/windows.ts';

/** An unreadable label. It counts as a value, so that the option does not replace it. */
export type UnreadableRule = { readonly kind: 'unreadable'; readonly text: string; readonly fault: string };

const tooLong: UnreadableRule = { kind: 'unreadable', text: '…', fault: 'the label is too long' };

export type PolicySetting = TagPolicy | UnreadableRule;

/** `none`: no rule is set. */
export type TagPatternSetting =
  | { readonly kind: 'none' }
  | { readonly kind: 'pattern'; readonly text: string; readonly isIn: TagFilter }
  | UnreadableRule;

export const tagPolicy: ValueKind<PolicySetting> = {
  accepted: 'digest, patch, minor, major, or regex: with a pattern of RE2 that has a group around the numbers',
  parse: readable(readPolicy),
  print: printPolicy,
};

/** The same for a label. */
export const tagPolicyOfLabel: ValueKind<PolicySetting> = { ...tagPolicy, parse: readPolicy, tooLong };

/** The pattern of an option, found anywhere in a tag. */
export const tagPattern: ValueKind<TagPatternSetting> = {
  accepted:
    'a pattern of RE2, which has neither backreferences nor lookaround, without white space, of at most 1,000 characters',
  parse: readable(readPattern),
  print: (pattern) => (pattern.kind === 'none' ? 'none' : pattern.text),
};

/** The same for a label. */
export const tagPatternOfLabel: ValueKind<TagPatternSetting> = { ...tagPattern, parse: readPattern, tooLong };

/**
 * The times at which updates of a container may begin. A label that cannot be read holds updates back, because its
 * owner intended a restriction.
 */
export type WindowSetting =
  | { readonly kind: 'always' }
  | { readonly kind: 'windows'; readonly text: string; readonly windows: readonly Window[] }
  | UnreadableRule;

/** The kinds of new versions that need approval. */
export const approval: ValueKind<ApprovalFrom> = {
  accepted: 'one of true, false, patch, minor, major',
  parse: readApproval,
  print: (from) => (from === 'never' ? 'false' : from === 'digest' ? 'true' : from),
};

/** The same for a label. A label that cannot be read requires approval. An empty one, as of an unset variable in compose, does not count. */
export const approvalOfLabel: ValueKind<ApprovalFrom> = {
  ...approval,
  parse: (text) => (text === '' ? undefined : (approval.parse(text) ?? 'digest')),
  tooLong: 'digest',
};

export const window: ValueKind<WindowSetting> = {
  accepted: 'windows such as "02:00-05:00" or "Sat,Sun 01:00-06:00; Wed 23:00-02:00", or always',
  parse: readable(readWindow),
  print: (setting) => (setting.kind === 'always' ? 'always' : setting.text),
};

/** The same for a label. An empty one does not count. */
export const windowOfLabel: ValueKind<WindowSetting> = {
  ...window,
  parse: (text) => (text === '' ? undefined : readWindow(text)),
  tooLong,
};

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

function readWindow(text: string): WindowSetting {
  if (text.toLowerCase() === 'always') return { kind: 'always' };
  const windows = parseWindows(text);
  return 'fault' in windows ? { kind: 'unreadable', text, fault: windows.fault } : { kind: 'windows', text, windows };
}
