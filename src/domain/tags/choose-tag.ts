import { quoted } from '../text/printable.ts';
import { candidatesByPattern } from './by-pattern.ts';
import { candidatesByVersion } from './by-version.ts';
import type { TagCandidate, TagFilter, TagPolicy } from './tag-policy.ts';

export type TagQuestion = {
  readonly current: string;
  /** All tags of the repository, in any order. */
  readonly tags: readonly string[];
  readonly policy: TagPolicy;
  /** Only these; absent: all. */
  readonly include?: TagFilter;
  readonly exclude?: TagFilter;
};

/**
 * Best first, so that the next one can be used if an image is missing for a platform. `because` says why there is none.
 */
export type TagChoice = { readonly candidates: readonly TagCandidate[]; readonly because?: string };

/** The higher tags that the policy allows. None is a downgrade. */
export function chooseTag({ current, tags, policy, include, exclude }: TagQuestion): TagChoice {
  if (policy.kind === 'digest') return { candidates: [], because: 'its policy follows the digest of its tag' };
  const found =
    policy.kind === 'regex'
      ? candidatesByPattern(current, tags, policy)
      : candidatesByVersion(current, tags, policy.kind);
  if (found === undefined) return { candidates: [], because: whyNone(current, policy) };
  const isMeant = ({ tag }: TagCandidate): boolean => include?.(tag) !== false && exclude?.(tag) !== true;
  return { candidates: include === undefined && exclude === undefined ? found : found.filter(isMeant) };
}

function whyNone(current: string, policy: TagPolicy): string {
  return policy.kind === 'regex'
    ? `the pattern of its policy does not match its own tag ${quoted(current)}`
    : `its tag ${quoted(current)} names no version, so that only its digest is followed`;
}
