import type { Digest } from '../../../domain/reference/digest.ts';
import { type Sighting, withSighting } from '../../../domain/check/sightings.ts';

/** Digests seen behind each tag since this process began. */
export type TagWatch = {
  /** Notes the current digest; returns all digests of the tag, oldest first. */
  readonly see: (
    reference: string,
    digest: Digest,
    at: { readonly monotonicMs: number; readonly cooldownMs: number },
  ) => readonly Sighting[];
};

/** Of more tags than an engine runs containers, the one that was looked at longest ago is forgotten. */
const mostTags = 10_000;

export function createTagWatch(): TagWatch {
  const tags = new Map<string, { readonly longestMs: number; readonly seen: readonly Sighting[] }>();
  return {
    see(reference, digest, { monotonicMs, cooldownMs }) {
      const known = tags.get(reference) ?? { longestMs: 0, seen: [] };
      const longestMs = Math.max(known.longestMs, cooldownMs);
      const seen = withSighting(known.seen, digest, { monotonicMs, longestMs });
      tags.delete(reference);
      tags.set(reference, { longestMs, seen });
      const [longestAgo] = tags.size > mostTags ? tags.keys() : [];
      if (longestAgo !== undefined) tags.delete(longestAgo);
      return seen;
    },
  };
}
