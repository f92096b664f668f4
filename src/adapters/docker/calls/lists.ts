import { ServiceError } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { maxAnswerBytes, megabyte, notJson, readText, fields, text, texts } from '../transport/answer.ts';
import type { Client, Query } from '../transport/client.ts';
import { unexpectedAnswer, refusal } from './calls.ts';
import type { EngineResponse } from '../transport/request.ts';
import { parseJson, type JsonObject } from '../../../domain/text/json.ts';

export type ListRead = {
  readonly thing: 'container' | 'image' | 'network';
  readonly path: string;
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
};

/** Largest entry: the limit of an inspect. A container's entry is about 1 kB; the engine itself has no limit. */
const maxEntryBytes = maxAnswerBytes;

/** A list up to this size is parsed as one text, which takes a fraction of the time. */
const smallListBytes = 256 * 1024;

/** Largest total of kept entries; 100,000 containers fit. */
const maxKeptBytes = 128 * megabyte;

/** Most bytes read from a list, including the omitted entries. */
const maxListBytes = 4_096 * megabyte;

/** Twice as many as fit. A flood of tiny entries would cost time until the deadline. */
const maxEntries = 200_000;

/**
 * Entries of a list. An entry above the limit is omitted with a warning, so that the labels of one container do not
 * hide the others. If the total is too large, the largest entries are omitted. Go writes an empty list as null. Throws
 * a `ServiceError` for any other value.
 */
export async function readList(
  client: Client,
  { thing, path, query = {}, signal }: ListRead,
): Promise<readonly unknown[]> {
  const doing = `list ${thing}s`;
  const timeLimit = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.send({ method: 'GET', path, query, socket: 'shared', timeLimit, signal });
  if (reply.kind === 'error') throw refusal(doing, reply);
  const { text: whole, body } = await readSmall(reply.body);
  if (whole !== undefined) return entriesIn(doing, whole);
  const [beginning, rest] = await readFirstCharacter(body);
  if (beginning !== '[') return entriesIn(doing, await readText(rest, maxAnswerBytes, doing));
  const { entries, omitted } = await readEntries(doing, rest);
  client.tellLeftOut(thing, omitted.map(nameOf));
  return entries;
}

/** The whole text of a small answer, or the body of a larger one from its first byte on. */
async function readSmall(body: EngineResponse['body']) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let next = await body.next(); next.done !== true; next = await body.next()) {
    chunks.push(next.value);
    length += next.value.length;
    if (length > smallListBytes) return { body: followedBy(Buffer.concat(chunks), body) };
  }
  return { text: Buffer.concat(chunks).toString('utf8'), body };
}

function entriesIn(doing: string, text: string): readonly unknown[] {
  const value = parseJson(text);
  if (value === undefined) throw notJson();
  if (value === null) return [];
  if (!Array.isArray(value)) throw unexpectedAnswer(doing, 'a list');
  return value as readonly unknown[];
}

/** The first non-blank character, and the body from its chunk on. */
async function readFirstCharacter(body: EngineResponse['body']): Promise<readonly [string, EngineResponse['body']]> {
  for (let next = await body.next(); next.done !== true; next = await body.next()) {
    const [first] = Buffer.from(next.value).toString('latin1').trimStart();
    if (first !== undefined) return [first, followedBy(next.value, body)];
  }
  return ['', body];
}

async function* followedBy(first: Uint8Array, body: EngineResponse['body']): EngineResponse['body'] {
  try {
    yield first;
    yield* body;
  } finally {
    await body.return();
  }
}

async function readEntries(doing: string, body: EngineResponse['body']) {
  const list = createListEntries(maxEntryBytes);
  const kept = createEntryBuffer(maxKeptBytes);
  let length = 0;
  let count = 0;
  try {
    for await (const chunk of body) {
      const found = list.push(chunk);
      if ((count += found.length) > maxEntries)
        throw new ServiceError('engine-refused', `Cannot ${doing}: the list has more than 200,000 entries`);
      for (const entry of found) kept.add(entry);
      if ((length += chunk.length) > maxListBytes) throw tooLarge(doing);
    }
    list.end();
  } catch (error) {
    throw error instanceof SyntaxError ? notJson(error) : error;
  }
  return kept.read();
}

type EntryBuffer = {
  readonly add: (entry: ListEntry) => void;
  readonly read: () => {
    readonly entries: readonly unknown[];
    /** The beginnings of the omitted entries. */
    readonly omitted: readonly JsonObject[];
  };
};

/** The kept entries of a list. If they are larger than `limitBytes` together, the largest are dropped first. */
export function createEntryBuffer(limitBytes: number): EntryBuffer {
  let entries: Extract<ListEntry, { kind: 'whole' }>[] = [];
  const omitted: JsonObject[] = [];
  let bytes = 0;

  function omit(beginning: JsonObject): void {
    if (omitted.length < maxNamed) omitted.push(beginning);
  }

  function omitLargest(): void {
    const bySize = entries.toSorted((one, other) => other.bytes - one.bytes);
    const dropped = new Set<ListEntry>();
    for (const entry of bySize) {
      if (bytes <= limitBytes * 0.75) break;
      dropped.add(entry);
      bytes -= entry.bytes + entryOverheadBytes;
      omit(idAndNames(entry.value));
    }
    entries = entries.filter((entry) => !dropped.has(entry));
  }

  return {
    add(entry: ListEntry): void {
      if (entry.kind === 'large') omit(entry.beginning);
      else {
        entries.push(entry);
        bytes += entry.bytes + entryOverheadBytes;
        if (bytes > limitBytes) omitLargest();
      }
    },
    read: () => ({ entries: entries.map(({ value }) => value), omitted }),
  };
}

/** More omitted entries are not named: an endless list has millions. */
const maxNamed = 1_000;

/** Memory of an entry besides its text. */
export const entryOverheadBytes = 256;

/** The entry's id and names only. */
function idAndNames(value: unknown): JsonObject {
  const { Id, Names, Name, RepoTags } = fields(value);
  return { Id, Names, Name, RepoTags };
}

/** `"web" (1f3a…)`, without unreadable parts; empty if neither can be read. */
function nameOf({ Id, Names, Name, RepoTags }: JsonObject): string {
  const name = (texts(Names)[0] ?? texts(RepoTags)[0] ?? text(Name)).replace(/^\//, '');
  const id = text(Id)
    .replace(/^sha256:/, '')
    .slice(0, 12);
  return [name && quoted(name, 300), id && (name ? `(${quoted(id).slice(1, -1)})` : quoted(id))]
    .filter((word) => word !== '')
    .join(' ');
}

function tooLarge(doing: string): ServiceError {
  return new ServiceError('engine-refused', `Cannot ${doing}: the list is larger than ${maxListBytes / megabyte} MB`);
}

/** One entry of a list: its value, or the readable beginning of an entry above the limit. */
export type ListEntry =
  | { readonly kind: 'whole'; readonly value: unknown; readonly bytes: number }
  | { readonly kind: 'large'; readonly beginning: JsonObject };

type ListEntries = {
  /** Throws a `SyntaxError` unless the text is a list of JSON values. */
  readonly push: (chunk: Uint8Array) => readonly ListEntry[];
  /** Throws a `SyntaxError` if the list has not ended. */
  readonly end: () => void;
};

/**
 * Splits a JSON list into entries while it arrives, in chunks of any size. It keeps at most `limitBytes` of an entry,
 * so one large entry does not make the others unreadable.
 */
export function createListEntries(limitBytes: number): ListEntries {
  let place: 'before' | 'within' | 'after' = 'before';
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  let entries = 0;
  let pieces: Uint8Array[] = [];
  let length = 0;
  /** The end of the entry's last complete field within the limit; 0 if there is none. */
  let fieldsEnd = 0;

  /** Bytes beyond the limit are counted, not kept. */
  function keep(piece: Uint8Array): void {
    const room = limitBytes - length;
    if (room > 0 && piece.length > 0) pieces.push(piece.length > room ? piece.subarray(0, room) : piece);
    length += piece.length;
  }

  function take(): ListEntry {
    const kept = Buffer.concat(pieces);
    const bytes = length;
    const cut = fieldsEnd;
    pieces = [];
    length = 0;
    fieldsEnd = 0;
    entries += 1;
    if (bytes > limitBytes) return { kind: 'large', beginning: beginningOf(kept.toString('utf8', 0, cut)) };
    return { kind: 'whole', value: JSON.parse(kept.toString('utf8')), bytes };
  }

  function push(chunk: Uint8Array): readonly ListEntry[] {
    const found: ListEntry[] = [];
    let start = 0;
    let nextQuote = -1;
    let nextBackslash = -1;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (place !== 'within') {
        if (isBlank(byte)) continue;
        if (place === 'after' || byte !== openList) throw new SyntaxError('not a list');
        place = 'within';
        start = at + 1;
      } else if (inText) {
        if (isEscaped) isEscaped = false;
        else {
          // Strings make up most of a list, so the scan jumps to the end of each.
          if (nextQuote < at) nextQuote = indexOrEnd(chunk, quote, at);
          if (nextBackslash < at) nextBackslash = indexOrEnd(chunk, backslash, at);
          at = Math.min(nextQuote, nextBackslash);
          if (at === chunk.length) break;
          if (at === nextBackslash) isEscaped = true;
          else inText = false;
        }
      } else if (byte === quote) inText = true;
      else if (byte === openObject || byte === openList) depth += 1;
      else if (depth > 0 && (byte === closeObject || byte === closeList)) depth -= 1;
      else if (byte === comma && depth === 1) {
        const end = length + at - start;
        if (end < limitBytes) fieldsEnd = end;
      } else if (depth === 0 && (byte === comma || byte === closeList)) {
        keep(chunk.subarray(start, at));
        start = at + 1;
        if (byte === comma || entries > 0 || pieces.some((piece) => !piece.every(isBlank))) found.push(take());
        if (byte === closeList) place = 'after';
      }
    }
    if (place === 'within') keep(chunk.subarray(start));
    return found;
  }

  return {
    push,
    end: () => {
      if (place !== 'after') throw new SyntaxError('the list does not end');
    },
  };
}

const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];

function indexOrEnd(chunk: Uint8Array, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found === -1 ? chunk.length : found;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Closes an object that was cut after one of its fields. */
function beginningOf(cut: string): JsonObject {
  return fields(parseJson(`${cut}}`));
}
