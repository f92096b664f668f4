import type { MessageLevel } from '../message.ts';

/** One element of `.Entries` in templates of the Watchtower family. */
export type Entry = {
  readonly message: string;
  readonly level: MessageLevel;
  /** Keys and values of the family's log lines, which users' templates read. */
  readonly data: Readonly<Record<string, string | number>>;
  readonly atMs: number;
};
