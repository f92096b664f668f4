import { boundedDraft } from '../bounded-draft.ts';
import { digestOf } from '../digest.ts';
import { gravestLevel } from '../level.ts';
import type { Message } from '../message.ts';
import type { Draft } from '../run-facts.ts';
import type { OutboxEntry } from './outbox.ts';
import type { OutboxRecord } from './record.ts';

/**
 * Combines several messages, oldest first, into one, with the records that replace them. A single message stays as it
 * is. The id comes from the last message, which ends last: a merge repeated after a crash gives the same message.
 */
export function merge(entries: readonly OutboxEntry[], nowMs: number): readonly OutboxRecord[] {
  const last = entries.at(-1);
  if (last === undefined) return [];
  const { target } = last;
  const { sections: _, ...alone } = last.message;
  const message: Message = { ...(entries.length === 1 ? alone : merged(entries)), id: `${last.message.id}-due` };
  const ends = entries.map(({ message: { id } }): OutboxRecord => ({ kind: 'end', target, id, end: 'merged' }));
  return [{ kind: 'put', target, message, dueAtMs: nowMs }, ...ends];
}

function merged(entries: readonly OutboxEntry[]): Message {
  const messages = entries.map(({ message }) => message);
  const said = [...new Map(messages.map((message) => [message.text, message])).values()];
  const last = messages.at(-1);
  const occasion = entries.at(-1)?.hold === 'quiet' ? 'In quiet hours' : 'Since the last digest';
  const draft = boundedDraft({ title: last?.title ?? '', ...(digestOf(messages, occasion) ?? joined(said)) });
  return { ...draft, id: '', createdAtMs: last?.createdAtMs ?? 0, isRepeat: false };
}

/** Log lines continue from one message to the next. Texts of templates are separated. */
function joined(messages: readonly Message[]): Omit<Draft, 'title'> {
  const gap = messages.every(({ lines }) => lines.length > 0) ? '\n' : '\n\n';
  return {
    text: messages.map(({ text }) => text.trimEnd()).join(gap),
    level: gravestLevel(messages),
    lines: messages.flatMap(({ lines }) => lines),
  };
}
