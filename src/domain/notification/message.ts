/** The severities of a message or of one of its lines, as log levels name them, in rising order. */
export const messageLevels = ['debug', 'info', 'warn', 'error'] as const;

export type MessageLevel = (typeof messageLevels)[number];

export function isAtLeast(level: MessageLevel, least: MessageLevel): boolean {
  return messageLevels.indexOf(level) >= messageLevels.indexOf(least);
}

/** The most severe level; `info` for an empty list. */
export function mostSevereLevel(lines: readonly { readonly level: MessageLevel }[]): MessageLevel {
  const levels = lines.map(({ level }) => level);
  return messageLevels.findLast((level) => levels.includes(level)) ?? 'info';
}

/** `high`: a failure. `low`: nothing has changed. */
export type Urgency = 'high' | 'low';

/** One message for one target. Its texts are UTF-8 of any length: the service splits or cuts them to its own limit. */
export type Message = {
  /** Stays the same over retries and restarts; services with an idempotency key get it. */
  readonly id: string;
  /** Empty: the title of the target's URL, or none. */
  readonly title: string;
  /** Plain text, lines separated by `\n`. */
  readonly text: string;
  /** The same content as CommonMark, for services that render it. Undefined for the text of a user's own template. */
  readonly markdown?: string;
  /** The text comes from a user's own template, so its markup is intended. Markup in any other text is foreign. */
  readonly isFromTemplate?: true;
  readonly level: MessageLevel;
  /** How much it deserves the attention of a person: services have priorities for it. Undefined: as usual. */
  readonly urgency?: Urgency;
  /** The begin of the title before its outcome: the same for all messages of a host. */
  readonly origin?: string;
  /**
   * The lines of the text with their levels and times, for services that colour each line (Discord embeds). Empty where
   * unknown.
   */
  readonly lines: readonly MessageLine[];
  /**
   * The same content in sections, for a message that is sent together with others. Undefined for a text without
   * sections.
   */
  readonly sections?: readonly MessageSection[];
  /** In Unix milliseconds. */
  readonly createdAtMs: number;
  /** For services that watch runs (healthchecks.io, Uptime Kuma). Undefined for an ordinary message. */
  readonly run?: RunOccasion;
  /** For webhooks that carry the event itself; its data is as in the HTTP API. */
  readonly event?: { readonly type: string; readonly data: unknown };
};

/** A moment of a run. `failure`: a container failed, or the run itself. */
export type RunOccasion = {
  readonly kind: 'start' | 'success' | 'failure';
  /** A UUID that start and end share. */
  readonly id: string;
  /** The time from start to end; undefined at the start. */
  readonly durationMs?: number;
};

export type MessageSection = { readonly heading: Heading; readonly items: readonly MessageItem[] };

/** A paragraph about one thing, with its time. `about` is a container by `entryKeyOf`, or `start`. */
export type MessageItem = {
  readonly about: string;
  readonly level: MessageLevel;
  readonly text: string;
  readonly markdown: string;
  readonly atMs: number;
};

/** In the order in which people read them. */
export const headings = [
  'Needs you',
  'Rolled back',
  'Updated',
  'Went back',
  'Restarted with them',
  'Not updated',
  'Earlier updates',
  'Started',
] as const;

export type Heading = (typeof headings)[number];

export type MessageLine = { readonly level: MessageLevel; readonly text: string; readonly atMs: number };

/** `auth`: check the token; `gone`: the target was deleted, so no retry; `rate`: after `retryAfterMs`; `network`: with back-off. */
export type SendFailure = 'auth' | 'gone' | 'rate' | 'network' | 'rejected';

/** `reason` and `answer` are texts of the service without any secret of the target. */
export type SendOutcome =
  | { readonly kind: 'sent'; readonly answer: string }
  | {
      readonly kind: 'failed';
      readonly failure: SendFailure;
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
    };

/** One recipient of messages, parsed from a URL. Its secrets stay inside: only `shown` may be printed. */
export type Target = {
  /** The name given by the user (`ops=discord://…`), else the service with a number: `discord`, `discord-2`. */
  readonly name: string;
  /** The scheme, lower case. */
  readonly service: string;
  /** The target's address without secrets: `scheme://[redacted]`. */
  readonly shown: string;
  /** Whether it also gets the messages about a run's start, which people do not need. */
  readonly wantsRunStart?: boolean;
  /** Always resolves within 10 s or at the abort. Never throws. */
  readonly send: (message: Message, signal: AbortSignal) => Promise<SendOutcome>;
};

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

/** Targets for messages about a container; undefined: all; empty: none. */
type Recipients = readonly string[] | undefined;

/** Reads the value of a container's label: names of targets separated by commas, or `off`. */
export function readRecipients(text: string): Recipients {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return undefined;
  return names.some((name) => /^(?:off|none|false)$/i.test(name)) ? [] : names;
}

/** Whether messages about a container with that label go to the target. An unknown name counts like no label. */
export function isFor(
  target: Pick<Target, 'name'>,
  recipients: Recipients,
  all: readonly Pick<Target, 'name'>[],
): boolean {
  if (recipients === undefined || recipients.length === 0) return recipients === undefined;
  const known = recipients.filter((name) => all.some((one) => sameName(one.name, name)));
  return known.length === 0 || known.some((name) => sameName(target.name, name));
}

/** Whether the target raises an alarm if a run does not report to it. */
export function watchesRuns({ service, wantsRunStart }: Pick<Target, 'service' | 'wantsRunStart'>): boolean {
  return wantsRunStart === true || service === 'kuma';
}

/** The least severe level that is sent to the target. */
export function leastLevelOf(
  { name }: Pick<Target, 'name'>,
  { level, levelOf }: Pick<NotificationSettings, 'level' | 'levelOf'>,
): MessageLevel {
  return Object.entries(levelOf).find(([of]) => sameName(of, name))?.[1] ?? level;
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/**
 * The URLs in a text, separated by white space and commas. A comma begins a URL only if `[name=]scheme://` follows it
 * directly: `?to=a@x,b@y` and `?contexts=link:https://…,image:https://…` stay whole. A web address in the `actions` of
 * ntfy begins none: `?actions=view,Docs,https://…`.
 */
export function splitUrls(text: string): readonly string[] {
  const urls: string[] = [];
  for (const word of text.split(/\s+/)) {
    let url = '';
    for (const piece of word.split(',')) {
      if (url !== '' && !beginsUrl(piece, url)) url += `,${piece}`;
      else {
        urls.push(url);
        url = piece;
      }
    }
    urls.push(url);
  }
  return urls.map((url) => url.replace(/,+$/, '')).filter((url) => url !== '');
}

/**
 * The URLs in one line of a file, which may contain spaces: usually one. Lines of Watchtower's files have several, each
 * with another scheme than that of the web.
 */
export function splitLine(line: string): readonly string[] {
  return line
    .split(/[\s,]+(?=(?:[\w.-]+=)?(?!https?:)[a-z][a-z0-9.+-]*:\/\/)/i)
    .map((url) => url.trim().replace(/,+$/, ''))
    .filter((url) => url !== '');
}

function beginsUrl(piece: string, before: string): boolean {
  const [, scheme] = /^(?:[\w.-]+=)?([a-z][a-z0-9.+-]*):\/\//i.exec(piece) ?? [];
  const isWeb = scheme !== undefined && /^https?$/i.test(scheme);
  return scheme !== undefined && !(isWeb && /[?&]actions=[^&]*$/i.test(before));
}

/** The counts of a target since the start. */
export type TargetCounts = {
  readonly sent: number;
  /** Failed attempts with a retry. */
  readonly retried: number;
  /** Messages that were given up. */
  readonly failed: number;
  /** Messages that were dropped because too many waited. */
  readonly lost: number;
  readonly lastSentAtMs: number | undefined;
  /** Undefined also when a message has been sent since. Without secrets. */
  readonly lastFailure: { readonly atMs: number; readonly reason: string } | undefined;
};

export type TargetStatus = TargetCounts & Pick<Target, 'name' | 'service' | 'shown'> & { readonly pending: number };
