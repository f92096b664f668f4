import type { MessageLevel } from './message.ts';

/** How people are told, after flags, environment and defaults. */
export type NotificationSettings = {
  /** Each with its name before it, where it has one: `ops=discord://…`. Secrets. */
  readonly urls: readonly string[];
  /** The URLs among them that deprecated options stand for. */
  readonly legacyUrls: readonly string[];
  /** Other secrets of the options of old. */
  readonly legacySecrets: readonly string[];
  /** Wording and data of messages: Upkeep's own, or the Watchtower family's. */
  readonly style: 'watchtower' | 'upkeep';
  /** The least severe that is sent. */
  readonly level: MessageLevel;
  /** The same for targets by name. */
  readonly levelOf: Readonly<Record<string, MessageLevel>>;
  readonly delayMs: number;
  /** Undefined: the machine's own. */
  readonly hostname: string | undefined;
  /** The name of a template, or its text; undefined: the style's own. */
  readonly template: string | undefined;
  /** Templates get the report of the session, and not only its log lines. */
  readonly report: boolean;
  readonly splitByContainer: boolean;
  /** Empty: none. */
  readonly titleTag: string;
  /** Messages for `logger://` go to standard output, and not to the log. */
  readonly logStdout: boolean;
  readonly skipTitle: boolean;
  readonly startupMessage: boolean;
  /** A finding is told of at each run, and not only at the first. */
  readonly repeat: boolean;
  readonly digest: NextTime | undefined;
  readonly quietHours: QuietHours | undefined;
  /** Before the second attempt, doubled for each one after. */
  readonly retryMs: number;
  /** Of times in messages; undefined: the system's. */
  readonly timeZone: string | undefined;
};

/** The first such time after another, both in Unix milliseconds; undefined: never again. */
export type NextTime = (ms: number) => number | undefined;

export type QuietHours = { readonly from: NextTime; readonly until: NextTime };

/** Nothing is told to anybody. */
export const noNotifications: NotificationSettings = {
  urls: [],
  legacyUrls: [],
  legacySecrets: [],
  style: 'upkeep',
  level: 'info',
  levelOf: {},
  delayMs: 0,
  hostname: undefined,
  template: undefined,
  report: false,
  splitByContainer: false,
  titleTag: '',
  logStdout: false,
  skipTitle: false,
  startupMessage: true,
  repeat: false,
  digest: undefined,
  quietHours: undefined,
  retryMs: 30_000,
  timeZone: undefined,
};
