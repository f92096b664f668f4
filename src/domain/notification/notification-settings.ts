import type { MessageLevel } from './message.ts';

/** The settings of notifications after flags, environment and defaults. */
export type NotificationSettings = {
  /** Each with an optional name before it: `ops=discord://…`. Secrets. */
  readonly urls: readonly string[];
  /** The URLs among them that come from deprecated options. */
  readonly legacyUrls: readonly string[];
  /** Other secrets of deprecated options. */
  readonly legacySecrets: readonly string[];
  /** Wording and data of messages: Upkeep's own, or the Watchtower family's. */
  readonly style: 'watchtower' | 'upkeep';
  /** The least severe level that is sent. */
  readonly level: MessageLevel;
  /** The same by the name of a target. */
  readonly levelOf: Readonly<Record<string, MessageLevel>>;
  readonly delayMs: number;
  /** Undefined: the machine's own. */
  readonly hostname: string | undefined;
  /** The name of a template, or its text; undefined: the style's own. */
  readonly template: string | undefined;
  /** Templates get the report of the session, not only its log lines. */
  readonly report: boolean;
  readonly splitByContainer: boolean;
  /** Empty: none. */
  readonly titleTag: string;
  /** Messages for `logger://` are written to standard output, not to the log. */
  readonly logStdout: boolean;
  readonly skipTitle: boolean;
  readonly startupMessage: boolean;
  /** A finding is reported in every run, not only in the first. */
  readonly repeat: boolean;
  readonly digest: NextTime | undefined;
  readonly quietHours: QuietHours | undefined;
  /** The pause before the second attempt. It doubles with each further one. */
  readonly retryMs: number;
  /** The time zone of times in messages. */
  readonly timeZone: string;
};

/** The next time after the given one, both in Unix milliseconds; undefined: never again. */
export type NextTime = (ms: number) => number | undefined;

export type QuietHours = { readonly from: NextTime; readonly until: NextTime };
