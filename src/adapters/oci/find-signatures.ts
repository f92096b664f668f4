import { setImmediate } from 'node:timers/promises';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { FoundSignature, FoundSignatures } from '../../domain/image/signature.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Client } from './client.ts';
import { nextQuery, requireFound, verify } from './answer.ts';
import { acceptedTypes, type RepositoryEndpoint } from './manifest.ts';
import type { WireAnswer } from '../http/exchange.ts';
import { HttpFailure } from '../http/failure.ts';
import {
  readBundle,
  manifestToRead,
  referrersIn,
  referrerToRead,
  signatureArtifacts,
  type Referrer,
  type ToRead,
} from './signature-manifest.ts';

export type SignatureSearch = {
  readonly client: Client;
  readonly place: RepositoryEndpoint;
  readonly digest: Digest;
  readonly monotonicMs: () => number;
};

/**
 * Reads the signatures of an image part by part, so that a caller can stop at a valid one. First comes the tag of
 * cosign 2, `sha256-….sig`. Then come the image's referrers
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers): of each type of signature,
 * or from the tag `sha256-…` at registries without this list. Ends with `cut` at a limit of bytes, pages or time. Throws
 * a `HttpFailure` if the registry does not answer; a broken signature is `unreadable`.
 */
export async function findSignatures(search: SignatureSearch, signal?: AbortSignal): Promise<FoundSignatures> {
  const reading: Reading = {
    ...search,
    tag: search.digest.replace(':', '-'),
    startedMs: search.monotonicMs(),
    bytes: 0,
    count: 0,
    listed: new Set(),
  };
  const listed = (later?: AbortSignal) => readReferrers(reading, { types: [...signatureArtifacts, anyType] }, later);
  return readAll(reading, await manifestBehind(reading, `${reading.tag}.sig`, signal), listed, signal);
}

type Reading = SignatureSearch & {
  readonly tag: string;
  readonly startedMs: number;
  bytes: number;
  count: number;
  /** Digests of the referrers that are signatures. */
  readonly listed: Set<string>;
  /** The image's own manifest, once it was needed. */
  manifest?: Buffer;
};

type ReadOn = (signal?: AbortSignal) => Promise<FoundSignatures>;

/** Many signatures, and some lists of thousands of referrers. */
const maxBytes = 8 * 1024 * 1024;

const maxPages = 50;

const maxMs = 30_000;

/** Requests at a time. */
const maxTogether = 8;

/** Signatures before the event loop continues: a verification takes up to some milliseconds for each key. */
const maxInPart = 8;

/** The minimum of a registry's limit for manifests. */
const maxManifestBytes = 4 * 1024 * 1024;

/** A payload and a manifest have some hundred bytes, a bundle with certificates and proofs some ten thousand. */
const maxSignatureBytes = 256 * 1024;

/** The first referrers of all types. Asked for if there are none of the known types, to tell about others. */
const anyType = '';

/** One page of the list of referrers with the first of the types. */
async function readReferrers(
  reading: Reading,
  { types, query, pages = 0 }: { readonly types: readonly string[]; readonly query?: string; readonly pages?: number },
  signal?: AbortSignal,
): Promise<FoundSignatures> {
  const [type = anyType, ...others] = types;
  const limit = pages === maxPages ? `there are more than ${maxPages} pages of them` : limitOf(reading);
  if (limit !== undefined) return cut(limit);
  const list = `referrers/${reading.digest}`;
  const filter = type === anyType ? '' : `?artifactType=${encodeURIComponent(type)}`;
  const answer = await ask(reading, { path: list + (query ?? filter), isTentative: true }, signal);
  // An answer of 500 and above does not mean an empty list. A registry without the list answers 404, 501 or refuses.
  if (answer.status >= 500 && answer.status !== 501) requireFound(answer, '');
  const entries = answer.status === 200 ? referrersIn(answer.body) : undefined;
  if (entries === 'too many') return cut(tooMany);
  if (entries === undefined && query !== undefined) return cut('the list of referrers ended with an error');
  if (entries === undefined) return readAll(reading, await behindTag(reading, signal), undefined, signal);
  const next = type === anyType ? undefined : nextQuery(answer, reading.place, list);
  const isFiltered = entries.every((entry) => entry.type === type);
  const rest = (): ReadOn | undefined => {
    if (next !== undefined) return (later) => readReferrers(reading, { types, query: next, pages: pages + 1 }, later);
    const remaining = isFiltered ? others : [];
    const wanted = reading.listed.size > 0 ? remaining.filter((each) => each !== anyType) : remaining;
    return wanted.length === 0 ? undefined : (later) => readReferrers(reading, { types: wanted }, later);
  };
  return readAll(reading, toReadOf(reading, entries), rest(), signal);
}

const tooMany = 'the list of referrers has very many entries';

/** https://github.com/opencontainers/distribution-spec/blob/main/spec.md#referrers-tag-schema */
async function behindTag(reading: Reading, signal: AbortSignal | undefined): Promise<readonly ToRead[]> {
  const body = await bodyOf(reading, { path: `manifests/${reading.tag}` }, signal);
  if (body === undefined) return [];
  const entries = Buffer.isBuffer(body) ? referrersIn(body) : undefined;
  if (entries === 'too many') return [{ kind: 'known', found: { kind: 'cut', why: tooMany } }];
  if (entries !== undefined) return toReadOf(reading, entries);
  const why = Buffer.isBuffer(body) ? 'the list of referrers is not an index' : body.why;
  return [{ kind: 'known', found: { kind: 'unreadable', why } }];
}

/** Referrers that are said to be signatures are read first. */
function toReadOf(reading: Reading, entries: readonly Referrer[]): readonly ToRead[] {
  const fresh = entries.filter(({ digest, type }) => {
    if (reading.listed.has(digest)) return false;
    if (referrerToRead({ digest, type, predicateType: undefined }) !== undefined) reading.listed.add(digest);
    return true;
  });
  const said = fresh.filter(({ predicateType }) => predicateType !== undefined);
  const unsaid = fresh.filter(({ predicateType }) => predicateType === undefined);
  return [...said, ...unsaid].flatMap((entry) => referrerToRead(entry) ?? []);
}

/** Reads what is due, some at a time, and then the rest. */
async function readAll(
  reading: Reading,
  due: readonly ToRead[],
  rest: ReadOn | undefined,
  signal: AbortSignal | undefined,
): Promise<FoundSignatures> {
  if (due.length === 0) return rest === undefined ? { found: [] } : rest(signal);
  const limit = limitOf(reading);
  if (limit !== undefined) return cut(limit);
  const left = due.slice(maxTogether);
  const found = await Promise.all(due.slice(0, maxTogether).map((each) => read(reading, each, signal)));
  const next: ReadOn | undefined = left.length > 0 ? (later) => readAll(reading, left, rest, later) : rest;
  return inParts(reading, found.flat(), next);
}

function inParts(reading: Reading, found: readonly FoundSignature[], next: ReadOn | undefined): FoundSignatures {
  reading.count += Math.min(found.length, maxInPart);
  if (found.length <= maxInPart) return { found, ...(next && { next }) };
  const others = async (): Promise<FoundSignatures> => {
    await setImmediate();
    const limit = limitOf(reading);
    return limit === undefined ? inParts(reading, found.slice(maxInPart), next) : cut(limit);
  };
  return { found: found.slice(0, maxInPart), next: others };
}

function limitOf({ bytes, startedMs, monotonicMs, count }: Reading): string | undefined {
  if (bytes > maxBytes) return `the first ${count} have more than ${maxBytes / 1024 / 1024} MiB`;
  return monotonicMs() - startedMs > maxMs ? `the first ${count} took more than ${formatDuration(maxMs)}` : undefined;
}

function cut(why: string): FoundSignatures {
  return { found: [{ kind: 'cut', why }] };
}

async function read(
  reading: Reading,
  due: ToRead,
  signal: AbortSignal | undefined,
): Promise<readonly FoundSignature[]> {
  if (due.kind === 'known') return [due.found];
  const { kind, digest } = due;
  const path = `${kind === 'manifest' ? 'manifests' : 'blobs'}/${digest}`;
  const body = await bodyOf(reading, { path, digest, limit: maxSignatureBytes }, signal);
  if (body === undefined) return [{ kind: 'unreadable', why: `the registry does not have ${digest}` }];
  if (!Buffer.isBuffer(body)) return [body];
  if (kind === 'payload')
    return due.signatures.map((signature) => ({ kind: 'simple-signing', payload: body, ...signature }));
  if (kind === 'bundle') return [await completed(reading, readBundle(body), signal)];
  return (await Promise.all(manifestToRead(body).map((each) => read(reading, each, signal)))).flat();
}

/** A signature over the manifest needs its bytes, because the hash in a signature depends on the key. */
async function completed(
  reading: Reading,
  content: ReturnType<typeof readBundle>,
  signal: AbortSignal | undefined,
): Promise<FoundSignature> {
  if (content.kind !== 'manifest') return content;
  const { digest } = reading;
  const { digest: signed = digest, ...signature } = content;
  if (signed !== digest && signed.startsWith(digest.slice(0, 'sha256:'.length)))
    return { kind: 'unreadable', why: `its bundle is of another digest, ${signed}` };
  const body = reading.manifest ?? (await bodyOf(reading, { path: `manifests/${digest}`, digest }, signal));
  if (body === undefined) return { kind: 'unreadable', why: `the registry does not have ${digest}` };
  if (!Buffer.isBuffer(body)) return body;
  reading.manifest = body;
  return { ...signature, payload: body, digest };
}

async function manifestBehind(
  reading: Reading,
  tag: string,
  signal: AbortSignal | undefined,
): Promise<readonly ToRead[]> {
  const body = await bodyOf(reading, { path: `manifests/${tag}` }, signal);
  if (body === undefined) return [];
  return Buffer.isBuffer(body) ? manifestToRead(body) : [{ kind: 'known', found: body }];
}

type Question = {
  readonly path: string;
  readonly digest?: Digest;
  readonly limit?: number;
  readonly isTentative?: boolean;
};

/** Undefined: the registry does not have it. Content that is too long, or has another digest, is unreadable. */
async function bodyOf(
  reading: Reading,
  question: Question,
  signal: AbortSignal | undefined,
): Promise<Buffer | Extract<FoundSignature, { kind: 'unreadable' }> | undefined> {
  try {
    const answer = await ask(reading, question, signal);
    if (answer.status === 404) return undefined;
    requireFound(answer, '');
    if (question.digest !== undefined) verify(answer, question.digest);
    return answer.body;
  } catch (error) {
    if (error instanceof HttpFailure && error.code === 'invalid') return { kind: 'unreadable', why: error.message };
    throw error;
  }
}

async function ask(
  reading: Reading,
  { path, limit = maxManifestBytes, isTentative = false }: Question,
  signal: AbortSignal | undefined,
): Promise<WireAnswer> {
  const { client, place } = reading;
  const { endpoint, repository } = place;
  const headers = { accept: acceptedTypes };
  const request = { method: 'GET', repository, path, headers, maxBytes: limit, isTentative } as const;
  try {
    const answer = await client(endpoint, request, signal);
    reading.bytes += answer.body.length;
    return answer;
  } catch (error) {
    // It may have been read up to the limit.
    reading.bytes += limit;
    throw error;
  }
}
