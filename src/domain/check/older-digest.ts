import type { ImageIndex } from '../container/lookup.ts';
import type { RemoteImage } from '../outside/registry.ts';
import { shortDigest, familiarReference } from '../image/image-reference.ts';
import { quoted } from '../text/printable.ts';
import type { Sighting } from './sightings.ts';
import { type Content, isRunning, judgeContent } from './staleness.ts';
import type { CheckSubject, Verdict } from './verdict.ts';

/** How the newer of two images of a tag is known: by the tag itself, or only by build times. */
export type Order = 'known' | { readonly ownCreatedAtMs: number | undefined };

/**
 * The verdict with an earlier digest of the tag. Undefined if that digest may not be applied or is not newer than the
 * running one. A digest that failed before ends the search and is not tried again.
 */
export function judgeOlderDigest(
  subject: CheckSubject,
  young: Verdict,
  earlier: Content,
  images: ImageIndex,
  order: Order,
): Verdict | undefined {
  const { status, failedVersion, cooldown } = judgeContent(subject, earlier, images);
  if (status === 'held' && failedVersion !== undefined) return { ...young, failedVersion };
  if (status !== 'stale' || !isNewer(earlier.latest, order)) return undefined;
  const name = quoted(familiarReference(subject.reference));
  const reason = `The newest image of ${name} is too young for the cooldown, and the tag keeps moving: ${shortDigest(earlier.latest.digest)} is old enough`;
  const { latest: instead } = earlier;
  const chosen = { insteadDigest: instead.digest, instead, eligibleAtMs: undefined, cooldown, failedVersion };
  const { hold: _, ...rest } = young;
  return { ...rest, status: 'stale', reason, ...chosen };
}

/** Earlier dates come from reproducible builds and carry no information. */
const firstRealDateMs = Date.UTC(1980, 0, 2);

function isNewer({ createdAtMs }: RemoteImage, order: Order): boolean {
  if (order === 'known') return true;
  const { ownCreatedAtMs = 0 } = order;
  return createdAtMs !== undefined && ownCreatedAtMs >= firstRealDateMs && createdAtMs > ownCreatedAtMs;
}

/** Sightings of the tag after the running digest; undefined if the running digest was never seen. */
export function seenSince(subject: CheckSubject, seen: readonly Sighting[]): readonly Sighting[] | undefined {
  const own = seen.findLastIndex(({ digest }) => isRunning(subject, [digest]));
  return own === -1 ? undefined : seen.slice(own + 1);
}
