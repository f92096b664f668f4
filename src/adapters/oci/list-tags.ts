import { maxTagListBytes, maxTags, type TagList } from '../../domain/outside/registry.ts';
import { isTag } from '../../domain/image/image-reference.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Client } from './client.ts';
import { etagOf, type RepositoryEndpoint } from './manifest.ts';
import { HttpFailure, type WireAnswer } from '../http/exchange.ts';
import { hasAtMost, requireFound, nextQuery } from './answer.ts';
import { parseJsonObject, objectOf } from '../../domain/text/json.ts';
import { putNewest, createLru } from '../../domain/text/plain-data.ts';
import type { SharedRecords } from '../../domain/outside/outside.ts';

/** A page with its ETag. `next` is the query of the page after it. */
type Page = {
  readonly tags: readonly string[];
  /** The number of its entries, if not all of them are tags. */
  readonly entries?: number;
  /** The last entry, if none of them is a tag. */
  readonly last?: string;
  readonly next: string | undefined;
  readonly etag: string | undefined;
};

/** The pages of an earlier listing by their queries. */
export type KnownPages = ReadonlyMap<string, Page>;

/** `pages` is empty if they are too many to be kept for a later listing. */
type Listing = TagList & { readonly pages: KnownPages };

type ListingOptions = {
  readonly known?: KnownPages | undefined;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
};

/**
 * Requests page after page, at most 50. The answer for a page that is unchanged since an earlier listing has no body.
 */
export async function listTags(
  client: Client,
  place: RepositoryEndpoint,
  { known, nowMs }: ListingOptions,
  signal?: AbortSignal,
): Promise<Listing> {
  const untilMs = nowMs() + deadlineMs;
  const texts = new Set<string>();
  const asked = new Set<string>();
  const pages = new Map<string, Page>();
  const room = { tags: maxTags, bytes: maxTagListBytes };
  const end = (isCut: boolean): Listing => {
    const isKept = maxTags - room.tags <= maxTagsKept && maxTagListBytes - room.bytes <= maxKeptBytes;
    return { tags: [...texts].join('\n'), isCut, pages: isKept ? pages : new Map() };
  };
  let isPromised = true;
  let linksPages = false;
  let fullPage: number | undefined;
  let otherEntry: string | undefined;
  for (let query = `?n=${pageSize}`; ;) {
    if (nowMs() > untilMs)
      throw new HttpFailure('timeout', `its list of tags did not end within ${formatDuration(deadlineMs)}`);
    const fetching: Promise<Page> = fetchPage(client, place, query, known?.get(query), signal);
    const page: Page | undefined = isPromised ? await fetching : await fetching.catch(undefinedIfRefused);
    const found = page?.tags ?? [];
    asked.add(query);
    const taken = takeWithin(found, room);
    if (page !== undefined && maxTags - room.tags <= maxTagsKept) pages.set(query, page);
    const text = taken.join('\n');
    // Of a registry that leaves out what it does not show.
    const isEmpty = found.length === 0 && page?.entries === undefined && page?.next !== undefined;
    const isOther = isEmpty || (text === '' && page?.last !== undefined && page.last !== otherEntry);
    const isNews = isOther || (text !== '' && !texts.has(text) && (isPromised || hasNews(taken, texts)));
    otherEntry = page?.last ?? otherEntry;
    if (!isNews && !isPromised) return end(false);
    if (text !== '') texts.add(text);
    if (taken.length < found.length) return end(true);
    linksPages ||= page?.next !== undefined;
    isPromised = linksPages;
    const entries = page?.entries ?? found.length;
    fullPage ??= entries;
    const isFull = entries === fullPage && entries <= pageSize && isRound(entries);
    const next = linksPages ? page?.next : isFull ? queryAfter(found.at(-1) ?? page?.last) : undefined;
    if (next === undefined) return end(false);
    // Pages that repeat have no end.
    if (!isNews || asked.has(next) || asked.size === maxPages) return end(true);
    query = next;
  }
}

function hasNews(tags: readonly string[], texts: ReadonlySet<string>): boolean {
  const known = new Set([...texts].flatMap((text) => text.split('\n')));
  return tags.some((tag) => !known.has(tag));
}

/** The tags at the beginning for which there is room, which gets smaller. */
function takeWithin(tags: readonly string[], room: { tags: number; bytes: number }): readonly string[] {
  const end = tags.findIndex((tag) => {
    room.tags -= 1;
    room.bytes -= tag.length + 1;
    return room.tags < 0 || room.bytes < 0;
  });
  return end < 0 ? tags : tags.slice(0, end);
}

/** Some registries send smaller pages. */
const pageSize = 1000;

/**
 * The query of a page that may follow a full one without a link. The registry of go-containerregistry links no pages.
 */
function queryAfter(last: string | undefined): string | undefined {
  return last === undefined ? undefined : `?n=${pageSize}&last=${encodeURIComponent(last)}`;
}

/** A maximum of a registry that is less than `pageSize` is a round number, decimal or binary. */
function isRound(count: number): boolean {
  return count % 50 === 0 || (count >= 64 && Number.isInteger(Math.log2(count)));
}

/** A registry that knows no pages may refuse to be asked for one that it has not named. */
function undefinedIfRefused(error: unknown): undefined {
  if (error instanceof HttpFailure && (error.code === 'invalid' || error.code === 'not-found')) return undefined;
  throw error;
}

const maxPages = 50;

/** A hundred listings of this size take some thirty megabytes. */
const maxTagsKept = 5000;
const maxKeptBytes = 256 * 1024;

/** Time limit for all pages together. */
const deadlineMs = 120_000;

/** Some registries send all tags at once. This is enough for 120,000 tags of 60 characters. */
const maxPageBytes = 8 * 1024 * 1024;

async function fetchPage(
  client: Client,
  place: RepositoryEndpoint,
  query: string,
  known: Page | undefined,
  signal: AbortSignal | undefined,
): Promise<Page> {
  const { endpoint, repository } = place;
  const path = `tags/list${query}`;
  const headers: Record<string, string> = { accept: 'application/json' };
  if (known?.etag !== undefined) headers['if-none-match'] = known.etag;
  const answer = await client(endpoint, { method: 'GET', repository, path, headers, maxBytes: maxPageBytes }, signal);
  if (answer.status === 304 && known !== undefined) return known;
  if (answer.status === 405 || answer.status === 501 || saysUnsupported(answer))
    throw new HttpFailure('invalid', 'it does not list the tags of a repository');
  requireFound(answer, 'it has no such repository');
  return { ...tagsIn(answer.body), next: nextQuery(answer, place, 'tags/list'), etag: etagOf(answer) };
}

/** https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes */
function saysUnsupported({ status, body }: WireAnswer): boolean {
  return status === 404 && body.length < 10_000 && /"code"\s*:\s*"UNSUPPORTED"/.test(body.toString());
}

/** Each tag once. Some registries send `null` for an empty repository. Invalid tags are ignored. */
function tagsIn(body: Buffer): Pick<Page, 'tags' | 'entries' | 'last'> {
  if (!hasAtMost(maxParts, body)) throw new HttpFailure('invalid', tooManyEntries);
  const tags = parseJsonObject(body)?.['tags'];
  if (tags === null) return { tags: [] };
  if (!Array.isArray(tags)) throw new HttpFailure('invalid', 'its answer is not a list of tags');
  const valid = new Set<string>();
  for (const [at, tag] of (tags as readonly unknown[]).entries()) {
    if (typeof tag === 'string' && isTag(tag)) valid.add(tag);
    // One more shows that the list is cut.
    if (valid.size > maxTags) break;
    if (at === maxEntries) throw new HttpFailure('invalid', tooManyEntries);
  }
  const last: unknown = valid.size === 0 ? tags.at(-1) : undefined;
  return {
    tags: [...valid],
    ...(tags.length !== valid.size && { entries: tags.length }),
    ...(isShortText(last) && { last }),
  };
}

/** Long enough for any name of a registry, and short enough for a query. */
function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 500;
}

/** A page may repeat tags. Beyond this number it costs too much time to look for more. */
const maxEntries = 4 * maxTags;

/** gcr.io describes each image too, in nine parts. */
const maxParts = 2 * maxEntries;

const tooManyEntries = 'its list of tags has very many entries that are no tags';

/** The pages of one listing in their stored form. */
export type StoredListing = {
  /** Host, prefix and name of the repository. */
  readonly place: string;
  readonly pages: readonly KeptPage[];
};

type KeptPage = Page & { readonly query: string };

/** The pages of earlier listings, for requests with their ETags. */
type ListingCache = {
  /** Never throws. */
  readonly find: (place: string) => Promise<KnownPages | undefined>;
  /** Replaces the stored listing. */
  readonly note: (place: string, pages: KnownPages) => void;
  readonly forget: (place: string) => void;
  /** Resolves when every write has ended, successfully or not. */
  readonly flush: () => Promise<unknown>;
};

/**
 * Keeps the listings of the 100 repositories that were listed last. A store adds the listings of earlier processes, at
 * the first `find`.
 */
export function createListingCache(store?: SharedRecords<StoredListing>): ListingCache {
  const listings = createLru<KnownPages>(maxListings);
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
    flush: () => written,
  };
}

/** The last listing of each repository, for the 100 that changed last, oldest first. */
export function compactListings(records: readonly StoredListing[]): readonly StoredListing[] {
  const places = new Map<string, StoredListing>();
  for (const record of records) putNewest(places, record.place, record, maxListings);
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
  const { query, tags, entries, last, next, etag } = objectOf(value) ?? {};
  if (typeof query !== 'string' || !query.startsWith('?')) return undefined;
  if (!isAbsentOrText(next) || !isAbsentOrText(etag) || (next !== undefined && !next.startsWith('?'))) return undefined;
  // Node throws for a header with other characters: https://www.rfc-editor.org/rfc/rfc9110#name-etag
  if (etag !== undefined && !/^[\x21-\x7e]{1,1000}$/.test(etag)) return undefined;
  if (!Array.isArray(tags) || !tags.every((tag: unknown): tag is string => typeof tag === 'string' && isTag(tag)))
    return undefined;
  return {
    query,
    tags,
    ...(typeof entries === 'number' && { entries }),
    ...(isShortText(last) && { last }),
    next,
    etag,
  };
}

const maxListings = 100;

/** An unchanged page is the same object. */
function areSame(before: KnownPages, after: KnownPages): boolean {
  return before.size === after.size && [...after].every(([query, page]) => before.get(query) === page);
}

function isAbsentOrText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
