import { ServiceError } from '../../../domain/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { maxAnswerBytes, megabyte, notJson, readJson } from '../transport/answer.ts';
import type { Client, Query } from '../transport/client.ts';
import { createListEntries, type ListEntry } from './list-entries.ts';
import { unexpectedAnswer, refusal } from './reads.ts';
import type { EngineResponse } from '../transport/request.ts';
import { fields, text, texts } from '../transport/json-fields.ts';
import type { JsonObject } from '../../../domain/text/json-value.ts';

export type ListRead = {
  readonly thing: 'container' | 'image' | 'network';
  readonly path: string;
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
};

/** Largest entry: the limit of an inspect. A container's entry is about 1 kB; the engine itself has no limit. */
const maxEntryBytes = maxAnswerBytes;

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
  const patience = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.send({ method: 'GET', path, query, socket: 'shared', patience, signal });
  if (reply.kind === 'error') throw refusal(doing, reply);
  const [beginning, rest] = await readFirstCharacter(reply.body);
  if (beginning !== '[') {
    const answer = await readJson(rest, maxAnswerBytes, doing);
    if (answer === null) return [];
    throw unexpectedAnswer(doing, 'a list');
  }
  const { entries, omitted } = await readEntries(doing, rest);
  client.tellLeftOut(thing, omitted.map(nameOf));
  return entries;
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
      omit(beginningOf(entry.value));
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
function beginningOf(value: unknown): JsonObject {
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
