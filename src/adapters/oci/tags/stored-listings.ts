import { putNewest, createLru } from '../../../domain/text/plain-data.ts';
import type { SharedRecords } from '../../../domain/outside/outside.ts';
import { isTag } from '../../../domain/image/image-reference.ts';
import { objectOf } from '../../../domain/text/json.ts';
import type { KnownPages, Page } from './list-tags.ts';

/** The pages of one listing in their stored form. */
export type StoredListing = {
  /** Host, prefix and name of the repository. */
  readonly place: string;
  readonly pages: readonly KeptPage[];
};

type KeptPage = Page & { readonly query: string };

/** The pages of earlier listings, for requests with their ETags. */
export type ListingCache = {
  /** Never throws. */
  readonly find: (place: string) => Promise<KnownPages | undefined>;
  /** Replaces the stored listing. */
  readonly note: (place: string, pages: KnownPages) => void;
  readonly forget: (place: string) => void;
  /** Resolves when every write has ended, successfully or not. */
  readonly settled: () => Promise<unknown>;
};

/**
 * Keeps the listings of the 100 repositories that were listed last. A store adds the listings of earlier processes, at
 * the first `find`.
 */
export function createListingCache(store?: SharedRecords<StoredListing>): ListingCache {
  const listings = createLru<KnownPages>(mostListings);
  let loading: Promise<void> | undefined;
  let written: Promise<unknown> = Promise.resolve();

  async function load(): Promise<void> {
    for (const { place, pages } of compactListings((await store?.read()) ?? []))
      listings.set(place, new Map(pages.map(({ query, ...page }) => [query, page])));
  }

  return {
    async find(place) {
      await (loading ??= load());
      return listings.get(place);
    },
    note(place, pages) {
      const before = listings.get(place);
      listings.set(place, pages);
      if (store === undefined || (before !== undefined && areSame(before, pages))) return;
      const kept = [...pages].flatMap(([query, page]) => (page.etag === undefined ? [] : { ...page, query }));
      written = Promise.all([written, store.append([{ place, pages: kept }])]);
    },
    forget: listings.delete,
    settled: () => written,
  };
}

/** The last listing of each repository, for the 100 that changed last, oldest first. */
export function compactListings(records: readonly StoredListing[]): readonly StoredListing[] {
  const places = new Map<string, StoredListing>();
  for (const record of records) putNewest(places, record.place, record, mostListings);
  return [...places.values()];
}

/** Reads a record of the file. Undefined for any other value. */
export function readStoredListing(value: unknown): StoredListing | undefined {
  const { place, pages } = objectOf(value) ?? {};
  if (typeof place !== 'string' || !Array.isArray(pages)) return undefined;
  const read = pages.flatMap((page) => readPage(page) ?? []);
  return read.length === pages.length ? { place, pages: read } : undefined;
}

function readPage(value: unknown): KeptPage | undefined {
  const { query, tags, next, etag } = objectOf(value) ?? {};
  if (typeof query !== 'string' || !query.startsWith('?')) return undefined;
  if (!isAbsentOrText(next) || !isAbsentOrText(etag) || (next !== undefined && !next.startsWith('?'))) return undefined;
  // Node throws for a header with other characters: https://www.rfc-editor.org/rfc/rfc9110#name-etag
  if (etag !== undefined && !/^[\x21-\x7e]{1,1000}$/.test(etag)) return undefined;
  if (!Array.isArray(tags) || !tags.every((tag: unknown): tag is string => typeof tag === 'string' && isTag(tag)))
    return undefined;
  return { query, tags, next, etag };
}

const mostListings = 100;

/** An unchanged page is the same object. */
function areSame(before: KnownPages, after: KnownPages): boolean {
  return before.size === after.size && [...after].every(([query, page]) => before.get(query) === page);
}

function isAbsentOrText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
