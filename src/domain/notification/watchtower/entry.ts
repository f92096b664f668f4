import type { MessageLevel } from '../message.ts';

/** One line of the stream that templates of the Watchtower family know as `.Entries`. */
export type Entry = {
  readonly message: string;
  readonly level: MessageLevel;
  /** Keys and values that the family's log lines have: users' templates read them. */
  readonly data: Readonly<Record<string, string | number>>;
  readonly atMs: number;
};

const order: readonly MessageLevel[] = ['debug', 'info', 'warn', 'error'];

export function isAtLeast(level: MessageLevel, least: MessageLevel): boolean {
  return order.indexOf(level) >= order.indexOf(least);
}

/** The most severe; `info` of none. */
export function gravestLevel(entries: readonly Pick<Entry, 'level'>[]): MessageLevel {
  const levels = entries.map(({ level }) => level);
  return order.findLast((level) => levels.includes(level)) ?? 'info';
}
