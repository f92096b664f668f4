import type { Message } from '../message.ts';
import type { Outbox, OutboxEntry } from './outbox.ts';

/** Bounds of the outbox: a target that never answers must not fill memory or disk. */
export type OutboxBounds = { readonly mostEntries: number; readonly mostCharacters: number };

/** Years of daily messages to one target, or a day of hourly ones to forty. */
export const outboxBounds: OutboxBounds = { mostEntries: 1000, mostCharacters: 8_000_000 };

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
  while (count > bounds.mostEntries || characters > bounds.mostCharacters) {
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
