import fc from 'fast-check';
import { headings, type Message } from '../../../src/domain/notification/message.ts';
import type { OutboxRecord } from '../../../src/domain/notification/outbox.ts';

/** A short message; its default time is zero. */
export function messageOf(id: string, parts: Partial<Message> = {}): Message {
  return { id, title: 'T', text: `text ${id}`, level: 'info', lines: [], createdAtMs: 0, ...parts };
}

const target = fc.constantFrom('a', 'b');
const id = fc.constantFrom('1', '2', '3', '4');
const timeMs = fc.integer({ min: 0, max: 1_000_000 });

const anyItem = fc.record({
  about: fc.constantFrom('web', 'db', 'start'),
  level: fc.constantFrom('info' as const, 'warn' as const),
  text: fc.string(),
  markdown: fc.string(),
  atMs: timeMs,
});

export const anySections = fc.array(
  fc.record({ heading: fc.constantFrom(...headings), items: fc.array(anyItem, { maxLength: 3 }) }),
  { maxLength: 3 },
);

const anyPlainMessage = fc.record({
  id,
  title: fc.string(),
  text: fc.string({ unit: 'grapheme' }),
  level: fc.constantFrom('debug' as const, 'info' as const, 'warn' as const, 'error' as const),
  lines: fc.array(fc.record({ level: fc.constant('warn' as const), text: fc.string(), atMs: timeMs }), {
    maxLength: 2,
  }),
  createdAtMs: timeMs,
});

const anyMessage = fc.oneof(
  anyPlainMessage,
  anyPlainMessage.map((message) => ({ ...message, isFromTemplate: true as const })),
  anyPlainMessage.map((message) => ({ ...message, urgency: 'high' as const, origin: 'nas' })),
  fc.tuple(anyPlainMessage, anySections).map(([message, sections]) => ({ ...message, sections })),
);

const anyRecord: fc.Arbitrary<OutboxRecord> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), target, message: anyMessage, dueAtMs: timeMs }),
  fc.record({
    kind: fc.constant('put' as const),
    target,
    message: anyMessage,
    dueAtMs: timeMs,
    hold: fc.constantFrom('quiet' as const, 'digest' as const),
  }),
  fc.record({ kind: fc.constant('try' as const), target, id }),
  fc.record({
    kind: fc.constant('retry' as const),
    target,
    id,
    attempts: fc.integer({ min: 1, max: 9 }),
    dueAtMs: timeMs,
    reason: fc.string(),
  }),
  fc.record({
    kind: fc.constant('end' as const),
    target,
    id,
    end: fc.constantFrom('sent' as const, 'failed' as const, 'merged' as const, 'lost' as const),
  }),
  fc.record({ kind: fc.constant('found' as const), key: fc.constantFrom('k1', 'k2', 'k3'), atMs: timeMs }),
);

export const anyRecords: fc.Arbitrary<readonly OutboxRecord[]> = fc.array(anyRecord, { maxLength: 30 });
