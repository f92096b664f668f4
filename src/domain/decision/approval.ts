import { versionKinds } from '../image/choose-tag.ts';

/**
 * The differences between a candidate and the current tag, the smallest first. `digest` means the same tag with other
 * content.
 */
export const candidateKinds = ['digest', ...versionKinds] as const;

export type CandidateKind = (typeof candidateKinds)[number];

/** The smallest kind of candidate that needs approval. `never`: no candidate does. */
export type ApprovalFrom = CandidateKind | 'never';

/** Reads `true` (all kinds), `false`, `patch`, `minor` or `major` (that kind and those that go further). Undefined for any other text. */
export function readApproval(text: string): ApprovalFrom | undefined {
  return spellings.get(text.trim().toLowerCase());
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
