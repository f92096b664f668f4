import type { MessageLevel } from '../message.ts';

/** One line of the stream that templates of the Watchtower family know as `.Entries`. */
export type Entry = {
  readonly message: string;
  readonly level: MessageLevel;
  /** Keys and values that the family's log lines have: users' templates read them. */
  readonly data: Readonly<Record<string, string | number>>;
  readonly atMs: number;
};
