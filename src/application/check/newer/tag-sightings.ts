import { putNewest } from '../../../domain/text/plain-data.ts';
import {
  withSighting,
  compactSeenTags,
  mostSeenTags,
  toMonotonicClock,
  toWallClock,
  type Now,
  type Sighting,
  type SeenTag,
} from '../../../domain/check/sightings.ts';
import type { Digest } from '../../../domain/image/image-reference.ts';
import type { Clock, SharedRecords } from '../../../domain/outside/outside.ts';

/** Digests seen behind each tag since this process began, or with a store since earlier processes. */
export type TagSightings = {
  /** Reads the sightings of earlier processes, once. Does nothing without a store. Never throws. */
  readonly load: () => Promise<void>;
  /** Notes the current digest; returns all digests of the tag, oldest first. */
  readonly see: (
    reference: string,
    digest: Digest,
    at: { readonly now: Now; readonly cooldownMs: number; readonly isNew?: boolean },
  ) => readonly Sighting[];
  /** The sightings of a tag, oldest first. */
  readonly of: (reference: string) => readonly Sighting[];
  /** The highest candidate by a key as last noted, empty if there was none. Undefined: it was never noted. */
  readonly highest: (key: string) => string | undefined;
  readonly noteHighest: (key: string, tag: string) => void;
  /** Begins to write the sightings since the last call. */
  readonly keep: () => void;
  /** Resolves when every write has ended, successfully or not. */
  readonly settled: () => Promise<unknown>;
};

export type KeptTags = { readonly clock: Clock; readonly store: SharedRecords<SeenTag> | undefined };

/** Beyond 10,000 tags, the tag that was read longest ago is dropped. */
export function createTagSightings({ clock, store }: KeptTags): TagSightings {
  const tags = new Map<string, Omit<SeenTag, 'reference'>>();
  /** As stored, by reference. Their age is known once their registry has told the time. */
  const stored = new Map<string, SeenTag>();
  const highest = new Map<string, string>();
  const moved = new Set<string>();
  let loading: Promise<void> | undefined;
  let written: Promise<unknown> = Promise.resolve();

  function now() {
    return { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  }

  async function load(): Promise<void> {
    const records = (await store?.read()) ?? [];
    for (const record of compactSeenTags(records)) stored.set(record.reference, record);
  }

  function find(reference: string, at: Now): Omit<SeenTag, 'reference'> | undefined {
    const known = tags.get(reference);
    const record = known === undefined ? stored.get(reference) : undefined;
    return record === undefined ? known : toMonotonicClock(record, at);
  }

  return {
    load: () => (loading ??= load()),
    see(reference, digest, { now: at, cooldownMs, isNew = false }) {
      const { monotonicMs } = at;
      const known = find(reference, at) ?? { longestMs: 0, seen: [] };
      stored.delete(reference);
      const longestMs = Math.max(known.longestMs, cooldownMs);
      const seen = withSighting(known.seen, digest, { monotonicMs, longestMs, isNew });
      putNewest(tags, reference, { longestMs, seen }, mostSeenTags);
      if (known.seen.at(-1)?.digest !== digest) moved.add(reference);
      return seen;
    },
    of: (reference) => find(reference, { ...now(), nowMs: 0 })?.seen ?? [],
    highest: (key) => highest.get(key),
    noteHighest: (key, tag) => putNewest(highest, key, tag, mostSeenTags),
    keep() {
      const records = [...moved].flatMap((reference) => {
        const known = tags.get(reference);
        return (known && toWallClock({ reference, ...known }, now())) ?? [];
      });
      if (store !== undefined && records.length > 0) written = Promise.all([written, store.append(records)]);
      moved.clear();
    },
    settled: () => written,
  };
}
