import { putNewest } from '../text/plain-data.ts';
import {
  mostSevereLevel,
  headings,
  messageLevels,
  type Message,
  type Heading,
  type MessageItem,
  type MessageLine,
  type MessageLevel,
  type NotificationSettings,
  type QuietHours,
  type SendFailure,
  type MessageSection,
  type RunOccasion,
} from './message.ts';
import { boundedDraft, type Draft } from './run-facts.ts';
import { titled } from './upkeep-composer.ts';
import { isJsonObject, parseJson, type JsonObject } from '../text/json.ts';

/** A message on its way to one target. */
export type OutboxEntry = {
  readonly target: string;
  readonly message: Message;
  /** Attempts with an answer. */
  readonly attempts: number;
  /** The earliest time of the next attempt, in Unix milliseconds. */
  readonly dueAtMs: number;
  /** On hold: it is sent together with others. */
  readonly hold?: MessageHold;
  /** An attempt has begun and has no answer yet. */
  readonly isUnanswered: boolean;
  /** The reason of the last failed attempt; empty: none. */
  readonly lastFailure: string;
};

/** Unsent messages, and findings that were reported before. */
export type Outbox = {
  /** By `entryKey`, in order of arrival. */
  readonly entries: ReadonlyMap<string, OutboxEntry>;
  /** The time of each finding's last report, oldest first. */
  readonly found: ReadonlyMap<string, number>;
};

export const emptyOutbox: Outbox = { entries: new Map(), found: new Map() };

function entryKey(target: string, id: string): string {
  return `${target}\n${id}`;
}

/** Applies records to an outbox. Records about unknown entries change nothing. */
export function applyRecords(outbox: Outbox, records: readonly OutboxRecord[]): Outbox {
  const entries = new Map(outbox.entries);
  const found = new Map(outbox.found);
  for (const record of records) {
    if (record.kind === 'found') {
      putNewest(found, record.key, record.atMs, maxFound);
      continue;
    }
    const key = entryKey(record.target, record.kind === 'put' ? record.message.id : record.id);
    const entry = entries.get(key);
    if (record.kind === 'put') entries.set(key, entry ?? newEntry(record));
    else if (record.kind === 'end') entries.delete(key);
    else if (entry !== undefined) entries.set(key, changed(entry, record));
  }
  return { entries, found };
}

/** More than the containers of a host, with a newer version or two for each. */
const maxFound = 2000;

function newEntry({ target, message, dueAtMs, hold }: OutboxRecord & { kind: 'put' }): OutboxEntry {
  const entry = { target, message, attempts: 0, dueAtMs, isUnanswered: false, lastFailure: '' };
  return hold === undefined ? entry : { ...entry, hold };
}

function changed(entry: OutboxEntry, record: OutboxRecord & { kind: 'try' | 'retry' }): OutboxEntry {
  if (record.kind === 'try') return { ...entry, isUnanswered: true };
  const { attempts, dueAtMs, reason: lastFailure } = record;
  return { ...entry, attempts, dueAtMs, isUnanswered: false, lastFailure };
}

/** The smallest list of records with the same result, for a file that has grown. */
export function recordsOf({ entries, found }: Outbox): readonly OutboxRecord[] {
  const records: OutboxRecord[] = [...found].map(([key, atMs]) => ({ kind: 'found', key, atMs }));
  for (const { target, message, dueAtMs, hold, ...state } of entries.values()) {
    const { id } = message;
    const { attempts, lastFailure: reason } = state;
    records.push({ kind: 'put', target, message, dueAtMs, ...(hold && { hold }) });
    if (attempts > 0) records.push({ kind: 'retry', target, id, attempts, dueAtMs, reason });
    if (state.isUnanswered) records.push({ kind: 'try', target, id });
  }
  return records;
}

/** The next action for a target's queue: send its first message, merge held messages, or wait. */
export type QueueStep =
  | { readonly kind: 'send'; readonly entry: OutboxEntry }
  | { readonly kind: 'merge'; readonly entries: readonly OutboxEntry[] }
  /** Undefined: until something new arrives. */
  | { readonly kind: 'wait'; readonly ms: number | undefined };

/**
 * Messages are sent in order; those on hold do not block others. The wall clock
 * may have been set, so no attempt waits longer than `maxDelayMs`.
 */
export function nextStep({ entries }: Outbox, target: string, nowMs: number): QueueStep {
  const own = [...entries.values()].filter((entry) => entry.target === target);
  const held = own.filter(({ hold }) => hold !== undefined);
  const dueHeld = held.filter(({ dueAtMs }) => dueAtMs <= nowMs || dueAtMs - nowMs > maxHoldMs);
  if (dueHeld.length > 0) return { kind: 'merge', entries: dueHeld };
  const head = own.find(({ hold }) => hold === undefined);
  const waits = held.map(({ dueAtMs }) => Math.min(recheckMs, dueAtMs - nowMs));
  if (head !== undefined) {
    const waitMs = head.dueAtMs - nowMs;
    if (waitMs <= 0 || waitMs > maxDelayMs) return { kind: 'send', entry: head };
    waits.push(waitMs);
  }
  return { kind: 'wait', ms: waits.length === 0 ? undefined : Math.min(...waits) };
}

/** A digest is daily, and quiet hours at its time end within a day. A day may have 25 hours. */
const maxHoldMs = 2 * 25 * 3_600_000;

/** The wall clock may be set, and messages on hold wait for a time of the day. */
const recheckMs = 60_000;

/** The limit of `--notifications-delay`. */
const maxDelayMs = 86_400_000;

/** Bounds of the outbox: a target that never answers must not fill memory or disk. */
export type OutboxBounds = { readonly maxEntries: number; readonly maxCharacters: number };

/** Years of daily messages to one target, or a day of hourly ones to forty. */
export const outboxBounds: OutboxBounds = { maxEntries: 1000, maxCharacters: 8_000_000 };

/**
 * The entries to drop to keep the bounds: repeatedly the oldest of the target with the most entries. An entry with an
 * attempt under way stays.
 */
export function overflowOf({ entries }: Outbox, bounds: OutboxBounds): readonly OutboxEntry[] {
  const queues = new Map<string, OutboxEntry[]>();
  let [count, characters] = [0, 0];
  for (const entry of entries.values()) {
    count += 1;
    characters += sizeOf(entry.message);
    if (entry.isUnanswered) continue;
    const queue = queues.get(entry.target);
    if (queue === undefined) queues.set(entry.target, [entry]);
    else queue.push(entry);
  }
  const lost: OutboxEntry[] = [];
  while (count > bounds.maxEntries || characters > bounds.maxCharacters) {
    const longest = longestOf([...queues.values()]);
    const oldest = longest?.shift();
    if (oldest === undefined) break;
    lost.push(oldest);
    count -= 1;
    characters -= sizeOf(oldest.message);
  }
  return lost;
}

function longestOf(queues: readonly OutboxEntry[][]): OutboxEntry[] | undefined {
  let longest: OutboxEntry[] | undefined;
  for (const queue of queues) if (longest === undefined || queue.length > longest.length) longest = queue;
  return longest;
}

function sizeOf({ title, text, markdown = '', lines, sections = [] }: Message): number {
  let size = title.length + text.length + markdown.length;
  for (const line of lines) size += line.text.length;
  for (const { items } of sections) for (const item of items) size += item.text.length + item.markdown.length;
  return size;
}

/**
 * Combines several messages, oldest first, into one, with the records that replace them. A single message stays as it
 * is. The id comes from the last message, whose end is recorded last: a merge repeated after a crash gives the same id.
 */
export function merge(entries: readonly OutboxEntry[], nowMs: number): readonly OutboxRecord[] {
  const last = entries.at(-1);
  if (last === undefined) return [];
  const { target } = last;
  const { sections: _, ...alone } = last.message;
  const message: Message = { ...(entries.length === 1 ? alone : merged(entries, last)), id: `${last.message.id}-due` };
  const ends = entries.map(({ message: { id } }): OutboxRecord => ({ kind: 'end', target, id, end: 'merged' }));
  return [{ kind: 'put', target, message, dueAtMs: nowMs }, ...ends];
}

function merged(entries: readonly OutboxEntry[], { hold, message: last }: OutboxEntry): Omit<Message, 'id'> {
  const messages = entries.map(({ message }) => message);
  const distinct = [...new Map(messages.map((message) => [message.text, message])).values()];
  const occasion = hold === 'quiet' ? 'In quiet hours' : 'Since the last digest';
  const digest = digestOf(messages, occasion);
  const title = digest === undefined || last.origin === undefined ? last.title : titled(last.origin, digest.counts);
  const draft = boundedDraft({ title, ...(digest?.draft ?? joined(distinct)), ...urgencyOf(messages) });
  return { ...draft, ...(last.origin !== undefined && { origin: last.origin }), createdAtMs: last.createdAtMs };
}

/**
 * Combines several messages in Upkeep's own wording, oldest first. Each heading and each item appears once. Undefined
 * if one of them has no sections.
 */
function digestOf(
  messages: readonly Message[],
  occasion: string,
): { readonly counts: string; readonly draft: Omit<Draft, 'title'> } | undefined {
  const sectionLists = messages.map(({ sections }) => sections);
  if (sectionLists.includes(undefined)) return undefined;
  const all = sectionLists.flatMap((sections = [], index) =>
    sections.flatMap(({ heading, items }) => items.map((item) => ({ ...item, heading, index }))),
  );
  const latest = new Map(all.map(({ about, index }) => [about, index]));
  const kept = all.filter(({ heading, about, index }) => !passing.includes(heading) || latest.get(about) === index);
  const sections = headings.flatMap((heading) => {
    const items = kept.filter((item) => item.heading === heading);
    return items.length === 0 ? [] : [{ heading, items }];
  });
  const counts = sections.flatMap(({ heading, items }) =>
    heading === 'Started' ? [] : [`${items.length} ${words[heading]}`],
  );
  const summary = counts.length === 0 ? occasion : `${occasion}: ${counts.join(', ')}`;
  const print = (headingOf: (heading: Heading) => readonly string[], show: (item: MessageItem) => string) =>
    [summary, ...sections.flatMap(({ heading, items }) => [...headingOf(heading), ...items.map(show)])].join('\n');
  const lines = sections.flatMap(({ items }) =>
    items.map(({ level, text, atMs }): MessageLine => ({ level, text, atMs })),
  );
  const draft = {
    text: print(
      (heading) => ['', `${heading}:`],
      ({ text }) => text,
    ),
    markdown: print(
      (heading) => ['', `**${heading}**`, ''],
      ({ markdown }) => markdown,
    ),
    level: mostSevereLevel(messages),
    lines: [{ level: 'info', text: summary, atMs: messages.at(-1)?.createdAtMs ?? 0 } as const, ...lines],
  };
  return { counts: counts.length === 0 ? 'nothing new' : counts.join(', '), draft };
}

/** A failure makes the whole urgent. */
function urgencyOf(messages: readonly Message[]): Pick<Message, 'urgency'> {
  const all = messages.map(({ urgency }) => urgency);
  if (all.includes('high')) return { urgency: 'high' };
  return all.every((urgency) => urgency === 'low') ? { urgency: 'low' } : {};
}

/** True until something else is known about the same container. */
const passing: readonly Heading[] = ['Needs you', 'Not updated', 'Started'];

const words: Readonly<Record<Exclude<Heading, 'Started'>, string>> = {
  'Needs you': 'in need of you',
  'Rolled back': 'rolled back',
  Updated: 'updated',
  'Went back': 'went back',
  'Restarted with them': 'restarted',
  'Not updated': 'not updated',
  'Earlier updates': 'repaired',
};

/** Log lines continue from one message to the next. Texts of templates are separated. */
function joined(messages: readonly Message[]): Omit<Draft, 'title'> {
  const gap = messages.every(({ lines }) => lines.length > 0) ? '\n' : '\n\n';
  return {
    text: messages.map(({ text }) => text.trimEnd()).join(gap),
    ...(messages.every(({ isFromTemplate }) => isFromTemplate) && { isFromTemplate: true }),
    level: mostSevereLevel(messages),
    lines: messages.flatMap(({ lines }) => lines),
  };
}

/** When a message may be sent. `hold`: together with all others that wait for the same time. */
export type ReleaseTime = { readonly dueAtMs: number; readonly hold?: MessageHold };

/**
 * Failures are sent at once. Other messages wait for the digest if there is one, else for the delay, and for the end of
 * quiet hours.
 */
export function releaseTimeOf(
  level: MessageLevel,
  nowMs: number,
  { digest, quietHours, delayMs }: Pick<NotificationSettings, 'digest' | 'quietHours' | 'delayMs'>,
): ReleaseTime {
  const release = { dueAtMs: nowMs + delayMs };
  if (level === 'error') return release;
  const digestAtMs = digest?.(nowMs);
  const quietUntilMs = quietHours && endOfQuiet(digestAtMs ?? nowMs, quietHours);
  if (digestAtMs !== undefined) return { dueAtMs: quietUntilMs ?? digestAtMs, hold: 'digest' };
  return quietUntilMs === undefined ? release : { dueAtMs: quietUntilMs, hold: 'quiet' };
}

/**
 * Quiet hours are active when their end comes before their next beginning, also across midnight. If a clock change
 * skips both, they fall on one moment, and the state after it counts.
 */
function endOfQuiet(nowMs: number, { from, until }: QuietHours): number | undefined {
  const [begin, end] = [from(nowMs), until(nowMs)];
  if (begin === undefined || end === undefined) return undefined;
  const isQuiet = end === begin ? isBefore(until(end), from(end)) : end < begin;
  return isQuiet ? end : undefined;
}

function isBefore(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && a < b;
}

type FailedAttempt = {
  readonly failure: SendFailure;
  /** Undefined: the service gave no time. */
  readonly retryAfterMs: number | undefined;
  /** Answered attempts, this one included. */
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly nowMs: number;
  /** From 0 up to 1; spreads the attempts of many instances. */
  readonly chance: number;
};

/**
 * When to try again, in Unix milliseconds; undefined: never. The second attempt comes after `retryMs`, and this pause
 * doubles with each further one.
 */
export function nextAttemptAtMs(attempt: FailedAttempt, retryMs: number): number | undefined {
  const { failure, retryAfterMs, attempts, createdAtMs, nowMs, chance } = attempt;
  if (attempts >= maxAttempts[failure] || nowMs - createdAtMs >= giveUpAfterMs) return undefined;
  if (retryAfterMs !== undefined) return nowMs + Math.min(maxPauseMs, Math.max(0, retryAfterMs));
  const doubled = Math.min(maxPauseMs, retryMs * 2 ** Math.min(attempts - 1, 20));
  return nowMs + Math.round(doubled * (0.9 + 0.2 * chance));
}

/** The longest pause between two attempts, whatever the service asks for. After an outage, messages arrive soon. */
const maxPauseMs = 30 * 60_000;

/** An older message is given up. A service that is down over a weekend still gets its messages. */
const giveUpAfterMs = 3 * 86_400_000;

/**
 * A refusal is repeated by every attempt. A wrong token may be a temporary problem of the service. A target that is
 * gone is not tried again.
 */
const maxAttempts: Readonly<Record<SendFailure, number>> = {
  gone: 1,
  rejected: 2,
  auth: 4,
  rate: Number.POSITIVE_INFINITY,
  network: Number.POSITIVE_INFINITY,
};

/** Why a message is on hold, to be sent together with others. */
export type MessageHold = 'quiet' | 'digest';

/** The end of an entry: `merged` into another message, or `lost` because the outbox was full or the target is gone. */
type EntryEnd = 'sent' | 'failed' | 'merged' | 'lost';

/** One stored change. The outbox is the result of its records, in order. Times are Unix milliseconds. */
export type OutboxRecord =
  | {
      readonly kind: 'put';
      readonly target: string;
      readonly message: Message;
      readonly dueAtMs: number;
      readonly hold?: MessageHold;
    }
  /** Written before an attempt: after a crash, the attempt counts as unanswered. */
  | { readonly kind: 'try'; readonly target: string; readonly id: string }
  | {
      readonly kind: 'retry';
      readonly target: string;
      readonly id: string;
      readonly attempts: number;
      readonly dueAtMs: number;
      /** Without secrets of the target. */
      readonly reason: string;
    }
  | { readonly kind: 'end'; readonly target: string; readonly id: string; readonly end: EntryEnd }
  /** A finding was reported for the first time: see `findings.ts`. */
  | { readonly kind: 'found'; readonly key: string; readonly atMs: number };

/** Keeps the records of an outbox beyond the process. */
export type OutboxStore = {
  /** The records of earlier processes, in order. Unreadable lines are skipped and logged. Never throws. */
  readonly load: () => Promise<readonly OutboxRecord[]>;
  /** The records are synced when it resolves. Rejects with a readable error when they cannot be written. */
  readonly append: (records: readonly OutboxRecord[]) => Promise<void>;
  /** Replaces all earlier records. After a crash, all of the new ones are there or none. */
  readonly replace: (records: readonly OutboxRecord[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Reads a line of the file. Undefined for any other text, such as a line that was cut by a crash. */
export function readRecord(line: string): OutboxRecord | undefined {
  const value = parseJson(line);
  if (!isJsonObject(value)) return undefined;
  const { kind, target, id, key } = value;
  if (kind === 'found') return isText(key) && isNumber(value['atMs']) ? { kind, key, atMs: value['atMs'] } : undefined;
  if (!isText(target)) return undefined;
  if (kind === 'put') return readPut(value, target);
  if (!isText(id)) return undefined;
  if (kind === 'try') return { kind, target, id };
  if (kind === 'retry') return readRetry(value, target, id);
  const { end } = value;
  return kind === 'end' && ends.some((one) => one === end) ? { kind, target, id, end: end as EntryEnd } : undefined;
}

const ends: readonly EntryEnd[] = ['sent', 'failed', 'merged', 'lost'];

function readPut(value: JsonObject, target: string): OutboxRecord | undefined {
  const { dueAtMs, hold } = value;
  const message = readMessage(value['message']);
  if (message === undefined || !isNumber(dueAtMs)) return undefined;
  const put = { kind: 'put', target, message, dueAtMs } as const;
  return hold === 'quiet' || hold === 'digest' ? { ...put, hold } : put;
}

function readRetry(value: JsonObject, target: string, id: string): OutboxRecord | undefined {
  const { attempts, dueAtMs, reason } = value;
  if (!isNumber(attempts) || !isNumber(dueAtMs) || typeof reason !== 'string') return undefined;
  return { kind: 'retry', target, id, attempts, dueAtMs, reason };
}

function readMessage(value: unknown): Message | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, title, text, markdown, lines, createdAtMs } = value;
  const level = readLevel(value['level']);
  if (!isText(id) || typeof title !== 'string' || typeof text !== 'string') return undefined;
  if (level === undefined || !isNumber(createdAtMs) || !Array.isArray(lines)) return undefined;
  const message = { id, title, text, level, lines: lines.flatMap(readLine), createdAtMs };
  const [run, event, sections] = [readRun(value['run']), readEvent(value['event']), readSections(value['sections'])];
  return {
    ...message,
    ...(typeof markdown === 'string' && { markdown }),
    ...(value['isFromTemplate'] === true && { isFromTemplate: true }),
    ...((value['urgency'] === 'high' || value['urgency'] === 'low') && { urgency: value['urgency'] }),
    ...(typeof value['origin'] === 'string' && { origin: value['origin'] }),
    ...(run && { run }),
    ...(event && { event }),
    ...(sections && { sections }),
  };
}

function readRun(value: unknown): RunOccasion | undefined {
  if (!isJsonObject(value)) return undefined;
  const { kind, id, durationMs } = value;
  if ((kind !== 'start' && kind !== 'success' && kind !== 'failure') || !isText(id)) return undefined;
  return { kind, id, ...(isNumber(durationMs) && { durationMs }) };
}

function readEvent(value: unknown): Message['event'] {
  return isJsonObject(value) && isText(value['type']) ? { type: value['type'], data: value['data'] } : undefined;
}

function readSections(value: unknown): readonly MessageSection[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((section: unknown) => {
    if (!isJsonObject(section) || !Array.isArray(section['items'])) return [];
    const heading = headings.find((one) => one === section['heading']);
    return heading === undefined ? [] : [{ heading, items: section['items'].flatMap(readItem) }];
  });
}

function readItem(value: unknown): MessageItem[] {
  if (!isJsonObject(value)) return [];
  const { about, markdown } = value;
  if (typeof about !== 'string' || typeof markdown !== 'string') return [];
  return readLine(value).map((line) => ({ ...line, about, markdown }));
}

function readLine(value: unknown): MessageLine[] {
  if (!isJsonObject(value)) return [];
  const { text, atMs } = value;
  const level = readLevel(value['level']);
  return level !== undefined && typeof text === 'string' && isNumber(atMs) ? [{ level, text, atMs }] : [];
}

function readLevel(value: unknown): MessageLevel | undefined {
  return messageLevels.find((level) => level === value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
