import type { ValueKind } from './label-values.ts';
import { parseWindows, type Window } from '../../decision/windows.ts';
import type { AllowedIdentity, RequiredAnnotation } from '../../image/signature.ts';
import { printApproval, type Approval } from '../../decision/decisions.ts';
import { boundedPattern, type BoundedPattern } from '../../text/name-pattern.ts';
import { repositoryKey, tryParseImageReference } from '../../image/image-reference.ts';
import type { TagPolicy } from '../../image/choose-tag.ts';

/** An unreadable label. It counts as a value, so that the option does not replace it. */
type UnreadableRule = { readonly kind: 'unreadable'; readonly text: string; readonly fault: string };

const tooLong: UnreadableRule = { kind: 'unreadable', text: '…', fault: 'the label is too long' };

export type PolicySetting = TagPolicy | UnreadableRule;

/** `none`: no rule is set. */
export type TagPatternSetting =
  | { readonly kind: 'none' }
  | { readonly kind: 'pattern'; readonly text: string; readonly isIn: BoundedPattern['isIn'] }
  | UnreadableRule;

const tagPolicy: ValueKind<PolicySetting> = {
  accepted: 'digest, patch, minor, major, or regex: with a pattern of RE2 that has a group around the numbers',
  parse: readable(readTagPolicy),
  print: printPolicy,
};

/** The same for a label. */
const tagPolicyOfLabel: ValueKind<PolicySetting> = { ...tagPolicy, parse: readTagPolicy, tooLong };

/** The pattern of an option, found anywhere in a tag. */
const tagPattern: ValueKind<TagPatternSetting> = {
  accepted:
    'a pattern of RE2, which has neither backreferences nor lookaround, without white space, of at most 1,000 characters',
  parse: readable(readPattern),
  print: (pattern) => (pattern.kind === 'none' ? 'none' : pattern.text),
};

/** The same for a label. */
const tagPatternOfLabel: ValueKind<TagPatternSetting> = { ...tagPattern, parse: readPattern, tooLong };

/**
 * The times at which updates of a container may begin. A label that cannot be read holds updates back, because its
 * owner intended a restriction.
 */
export type WindowSetting =
  | { readonly kind: 'always' }
  | { readonly kind: 'windows'; readonly text: string; readonly windows: readonly Window[] }
  | UnreadableRule;

const everyKind: Approval = { from: 'digest', breaking: false, unread: false };

/** The kinds of new versions that need approval. */
const approval: ValueKind<Approval> = {
  accepted: 'true, false, or patch, minor or major, breaking and unread, separated by commas',
  parse: readApproval,
  print: printApproval,
};

/** The same for a label. A label that cannot be read requires approval. An empty one, as of an unset variable in compose, does not count. */
const approvalOfLabel: ValueKind<Approval> = {
  ...approval,
  parse: (text) => (text === '' ? undefined : (approval.parse(text) ?? everyKind)),
  tooLong: everyKind,
};

/**
 * Reads `true` (all kinds), `false`, `patch`, `minor` or `major` (that kind and those that go further), `breaking` and
 * `unread`, also several of them with commas. Undefined for any other text.
 */
function readApproval(text: string): Approval | undefined {
  const words = text.split(',').map((word) => word.trim().toLowerCase());
  const kinds = words.filter((word) => word !== 'breaking' && word !== 'unread').map((word) => spellings.get(word));
  if (kinds.includes(undefined) || kinds.length > 1) return undefined;
  return { from: kinds[0] ?? 'never', breaking: words.includes('breaking'), unread: words.includes('unread') };
}

const spellings: ReadonlyMap<string, Approval['from']> = new Map([
  ['true', 'digest'],
  ['yes', 'digest'],
  ['1', 'digest'],
  ['false', 'never'],
  ['no', 'never'],
  ['0', 'never'],
  ['patch', 'patch'],
  ['minor', 'minor'],
  ['major', 'major'],
]);

const window: ValueKind<WindowSetting> = {
  accepted: 'windows such as "02:00-05:00" or "Sat,Sun 01:00-06:00; Wed 23:00-02:00", or always',
  parse: readable(readWindow),
  print: (setting) => (setting.kind === 'always' ? 'always' : setting.text),
};

/** The same for a label. An empty one does not count. */
const windowOfLabel: ValueKind<WindowSetting> = {
  ...window,
  parse: (text) => (text === '' ? undefined : readWindow(text)),
  tooLong,
};

function readPattern(text: string): TagPatternSetting {
  if (text === '') return { kind: 'none' };
  if (/\s/.test(text)) return { kind: 'unreadable', text, fault: 'it has white space, which no tag has' };
  const isIn = readTagFilter(text);
  return 'fault' in isIn ? { kind: 'unreadable', text, fault: isIn.fault } : { kind: 'pattern', text, isIn };
}

/** The fault completes "Cannot read …: ". */
export function readTagPolicy(text: string): PolicySetting {
  const trimmed = text.trim();
  const kind = trimmed.toLowerCase();
  if (kind === 'digest' || kind === 'patch' || kind === 'minor' || kind === 'major') return { kind };
  const refuse = (fault: string): UnreadableRule => ({ kind: 'unreadable', text, fault });
  if (!kind.startsWith('regex:')) return refuse('it takes digest, patch, minor, major or regex:PATTERN');
  const written = trimmed.slice('regex:'.length);
  const pattern = boundedPattern(written);
  if ('fault' in pattern) return refuse(pattern.fault);
  if (pattern.groupCount > 0) return { kind: 'regex', text: written, pattern };
  return refuse('the pattern needs a group around the numbers that order the tags, as in ^(\\d+\\.\\d+)-apache$');
}

/** Reads the pattern of `tag-include` or `tag-exclude`. */
export function readTagFilter(text: string): BoundedPattern['isIn'] | { readonly fault: string } {
  const pattern = boundedPattern(text.trim());
  return 'fault' in pattern ? pattern : pattern.isIn;
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

/**
 * The signature that a new image needs: by any key, by one of these keys, or none. `isAsked`: the container's own label
 * asks for it, so that it is also needed if no key is given.
 */
export type Signers =
  | { readonly kind: 'any'; readonly isAsked?: true }
  | { readonly kind: 'keys'; readonly names: readonly string[] }
  | { readonly kind: 'off' }
  | UnreadableRule;

const signers: ValueKind<Signers> = {
  accepted: 'any, off, or at most 20 names of keys of --verify-key, separated by commas',
  parse: readSigners,
  print: (value) =>
    value.kind === 'keys' ? value.names.join(',') : value.kind === 'unreadable' ? value.text : value.kind,
};

/** The same for a label. One that cannot be read, also an empty one, holds updates back. */
const signersOfLabel: ValueKind<Signers> = {
  ...signers,
  parse: (text) => {
    const read = readSigners(text);
    if (read === undefined) return unreadable(text, `it is not ${signers.accepted}`);
    return read.kind === 'any' ? { ...read, isAsked: true } : read;
  },
  tooLong: unreadable('…', 'it is too long'),
};

/** Names of other repositories under which an image may be signed. */
export type Identities =
  | { readonly kind: 'identities'; readonly text: string; readonly allowed: readonly AllowedIdentity[] }
  | UnreadableRule;

/** Of an option, by the repository of the image. */
const identities: ValueKind<Identities> = {
  accepted:
    'at most 20 pairs REPOSITORY=NAME, separated by commas, such as mirror.example/app=ghcr.io/team/app or cache.example/*=docker.io/*',
  parse: (text) => readIdentities(text, readPair),
  print: printText,
};

/** Of a label, for the image of the container: the names alone. One that cannot be read, also an empty one, allows none. */
const identitiesOfLabel: ValueKind<Identities> = {
  accepted: 'at most 20 names of repositories, separated by commas, such as ghcr.io/team/app',
  parse: (text) => readIdentities(text, readName) ?? unreadable(text, `it is not ${identitiesOfLabel.accepted}`),
  print: printText,
  tooLong: unreadable('…', 'it is too long'),
};

/** Annotations that a signature must have, all of them. `isAsked`: the container's own label asks for them. */
export type Annotations =
  | {
      readonly kind: 'annotations';
      readonly text: string;
      readonly required: readonly RequiredAnnotation[];
      readonly isAsked?: true;
    }
  | UnreadableRule;

const annotations: ValueKind<Annotations> = {
  accepted: 'at most 20 annotations NAME=VALUE, separated by commas, such as env=prod',
  parse: readAnnotations,
  print: printText,
};

/** The same for a label. One that cannot be read, also an empty one, holds updates back. */
const annotationsOfLabel: ValueKind<Annotations> = {
  ...annotations,
  parse: (text) => {
    const read = readAnnotations(text);
    return read === undefined ? unreadable(text, `it is not ${annotations.accepted}`) : { ...read, isAsked: true };
  },
  tooLong: unreadable('…', 'it is too long'),
};

const maxItems = 20;

function unreadable(text: string, fault: string): UnreadableRule {
  return { kind: 'unreadable', text, fault: text === '' ? 'it is empty' : fault };
}

function printText({ text }: { readonly text: string }): string {
  return text === '' ? 'none' : text;
}

/** A key is named after its file, so the name may contain any character but a separator. */
const keyName = /^[^,/\p{C}]{1,255}$/u;

function readSigners(text: string): Exclude<Signers, UnreadableRule> | undefined {
  const word = text.toLowerCase();
  if (word === 'any' || word === 'off') return { kind: word };
  const names = itemsOf(text);
  return names?.every((name) => keyName.test(name)) ? { kind: 'keys', names } : undefined;
}

function itemsOf(text: string): readonly string[] | undefined {
  const items = [...new Set(text.split(',').map((item) => item.trim()))];
  return items.length <= maxItems && !items.includes('') ? items : undefined;
}

function readIdentities(text: string, read: (item: string) => AllowedIdentity | undefined): Identities | undefined {
  const items = itemsOf(text);
  const allowed = items?.flatMap((item) => read(item) ?? []) ?? [];
  return items === undefined || allowed.length < items.length
    ? undefined
    : { kind: 'identities', text: items.join(','), allowed };
}

function readPair(item: string): AllowedIdentity | undefined {
  const [left = '', right = '', ...others] = item.split('=').map((part) => part.trim());
  const [repository, name] = [readRepository(left), readRepository(right)];
  if (others.length > 0 || repository === undefined || name === undefined) return undefined;
  return repository.endsWith('/') === name.endsWith('/') ? { repository, name } : undefined;
}

function readName(item: string): AllowedIdentity | undefined {
  const name = readRepository(item);
  return name === undefined || name.endsWith('/') ? undefined : { repository: undefined, name };
}

/** The full name, which ends with a slash for all repositories below it. */
function readRepository(text: string): string | undefined {
  const stem = text.endsWith('/*') ? text.slice(0, -1) : undefined;
  const below = 'x/x';
  // A tag cannot follow a tag or a digest, so the text has none.
  const reference = tryParseImageReference(`${stem === undefined ? text : stem + below}:x`);
  if (reference === undefined) return undefined;
  const name = repositoryKey(reference);
  return stem === undefined ? name : name.slice(0, -below.length);
}

/** A value may have any character but a comma. */
const annotation = /^([^=,\p{C}]{1,200})=([^,\p{C}]{1,1000})$/u;

function readAnnotations(text: string): Extract<Annotations, { kind: 'annotations' }> | undefined {
  const items = itemsOf(text);
  const required = items?.flatMap((item): readonly RequiredAnnotation[] => {
    const [, name = '', value = ''] = annotation.exec(item) ?? [];
    return name.trim() === '' || value.trim() === '' ? [] : [[name.trim(), value.trim()]];
  });
  if (items === undefined || required === undefined || required.length < items.length) return undefined;
  return { kind: 'annotations', text: items.join(','), required };
}

/** The kinds of value of the rules for versions; `…OfLabel` as a label has it. */
export const versionKinds = {
  tagPolicy,
  tagPolicyOfLabel,
  tagPattern,
  tagPatternOfLabel,
  approval,
  approvalOfLabel,
  window,
  windowOfLabel,
  signers,
  signersOfLabel,
  identities,
  identitiesOfLabel,
  annotations,
  annotationsOfLabel,
} as const;
