import { gravestLevel } from '../level.ts';
import type { Message } from '../message.ts';
import type { OutboxEntry } from './outbox.ts';
import type { OutboxRecord } from './record.ts';

/**
 * One message made of several, oldest first, and the records that put it in their place. The same text is said once.
 * A single one stays as it is. The id is made of that of the last one, which ends last: a merge that is done again
 * after a crash makes the same message.
 */
export function merge(entries: readonly OutboxEntry[], nowMs: number): readonly OutboxRecord[] {
  const last = entries.at(-1);
  if (last === undefined) return [];
  const { target } = last;
  const messages = entries.map(({ message }) => message);
  const id = `${last.message.id}-due`;
  const message: Message = { ...(messages.length === 1 ? last.message : mergedText(messages)), id };
  const ends = messages.map(({ id }): OutboxRecord => ({ kind: 'end', target, id, end: 'merged' }));
  return [{ kind: 'put', target, message, dueAtMs: nowMs }, ...ends];
}

function mergedText(messages: readonly Message[]): Message {
  const said = [...new Map(messages.map((message) => [message.text, message])).values()];
  const [first, last = first] = [said[0], messages.at(-1)];
  const markdown = said.every((one) => one.markdown !== undefined)
    ? { markdown: said.map((one) => one.markdown ?? '').join('\n\n---\n\n') }
    : {};
  return {
    id: '',
    title: last?.title ?? '',
    text: said.map(({ text }) => text.trimEnd()).join('\n\n'),
    ...markdown,
    level: gravestLevel(messages),
    lines: said.flatMap(({ lines }) => lines),
    createdAtMs: last?.createdAtMs ?? 0,
    isRepeat: false,
  };
}
