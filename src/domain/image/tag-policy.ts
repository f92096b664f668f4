/** Which newer tags a container may move to, and which of them need approval. */

import { boundedPattern, type BoundedPattern } from '../text/name-pattern.ts';

/** The kinds of a version step, the smallest first: in a later number, the second, or the first one. */
const versionKinds = ['patch', 'minor', 'major'] as const;

export type VersionKind = (typeof versionKinds)[number];

/**
 * The tags that a container may move to. `digest`: none, only new content of its own tag. `patch`, `minor`, `major`:
 * higher versions up to that kind. `regex`: tags that the pattern matches as a whole, in the order of the numbers in
 * its groups.
 */
export type TagPolicy =
  | { readonly kind: 'digest' }
  | { readonly kind: VersionKind }
  | { readonly kind: 'regex'; readonly text: string; readonly pattern: BoundedPattern };

/** A tag that may replace the current one, and the kind of the step. */
export type TagCandidate = { readonly tag: string; readonly kind: VersionKind };

/** Reads a policy. The fault completes "Cannot read …: ". */
export function readTagPolicy(text: string): TagPolicy | { readonly fault: string } {
  const trimmed = text.trim();
  if (/^regex:/i.test(trimmed)) return readRegex(trimmed.slice('regex:'.length));
  const kind = trimmed.toLowerCase();
  if (kind === 'digest' || kind === 'patch' || kind === 'minor' || kind === 'major') return { kind };
  return { fault: 'it takes digest, patch, minor, major or regex:PATTERN' };
}

/** Whether a tag matches a pattern in RE2 syntax, anywhere in the tag. */
export type TagFilter = (tag: string) => boolean;

/** Reads the pattern of `tag-include` or `tag-exclude`. */
export function readTagFilter(text: string): TagFilter | { readonly fault: string } {
  const pattern = boundedPattern(text.trim());
  return 'fault' in pattern ? pattern : pattern.isIn;
}

function readRegex(text: string): TagPolicy | { readonly fault: string } {
  const pattern = boundedPattern(text);
  if ('fault' in pattern) return pattern;
  if (pattern.groupCount === 0)
    return { fault: 'the pattern needs a group around the numbers that order the tags, as in ^(\\d+\\.\\d+)-apache$' };
  return { kind: 'regex', text, pattern };
}

/**
 * The differences between a candidate and the current tag, the smallest first. `digest` means the same tag with other
 * content.
 */
export const candidateKinds = ['digest', ...versionKinds] as const;

export type CandidateKind = (typeof candidateKinds)[number];

/** The smallest kind of candidate that needs approval. `never`: no candidate does. */
type ApprovalFrom = CandidateKind | 'never';

/** The newer versions that wait for a person: by their kind, and by what their release notes say. */
export type Approval = {
  readonly from: ApprovalFrom;
  /** Also any version whose release notes speak of breaking changes. */
  readonly breaking: boolean;
  /** Also any version whose release notes cannot be read. */
  readonly unread: boolean;
};

/**
 * Reads `true` (all kinds), `false`, `patch`, `minor` or `major` (that kind and those that go further), `breaking` and
 * `unread`, also several of them with commas. Undefined for any other text.
 */
export function readApproval(text: string): Approval | undefined {
  const words = text.split(',').map((word) => word.trim().toLowerCase());
  const kinds = words.filter((word) => word !== 'breaking' && word !== 'unread').map((word) => spellings.get(word));
  if (kinds.includes(undefined) || kinds.length > 1) return undefined;
  return { from: kinds[0] ?? 'never', breaking: words.includes('breaking'), unread: words.includes('unread') };
}

/** The same in the notation of the option. */
export function printApproval({ from, breaking, unread }: Approval): string {
  const kind = from === 'never' ? [] : [from === 'digest' ? 'true' : from];
  const words = [...kind, ...(breaking ? ['breaking'] : []), ...(unread ? ['unread'] : [])];
  return words.length === 0 ? 'false' : words.join(',');
}

/** Whether a person must approve a candidate of the kind. */
export function needsApproval(from: ApprovalFrom, kind: CandidateKind): boolean {
  return from !== 'never' && candidateKinds.indexOf(kind) >= candidateKinds.indexOf(from);
}

const spellings: ReadonlyMap<string, ApprovalFrom> = new Map([
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
