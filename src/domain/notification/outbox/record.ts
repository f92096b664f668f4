import {
  headings,
  type Message,
  type MessageItem,
  type MessageLevel,
  messageLevels,
  type MessageLine,
  type MessageSection,
  type RunOccasion,
} from '../message.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../text/json.ts';

/** Why a message is on hold, to be sent together with others. */
export type MessageHold = 'quiet' | 'digest';

/** The end of an entry: `merged` into another message, or `lost` because the outbox was full or the target is gone. */
export type EntryEnd = 'sent' | 'failed' | 'merged' | 'lost';

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
