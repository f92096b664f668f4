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
