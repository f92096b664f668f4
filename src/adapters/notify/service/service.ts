import type { Message, MessageLevel } from '../../../domain/notification/message.ts';
import type { ParameterTable, ValuesOf } from './parameters.ts';
import { InvalidUrlError, type UrlParts } from './url.ts';
import type { Exchange, ExchangeOptions, HttpAnswer, HttpRequest } from './exchange.ts';
import type { AnswerCheck } from './answer.ts';
import { withoutSecretParts } from '../../../domain/text/hidden-secrets.ts';

/** The functions and values that services need from outside. */
export type NotifyDeps = ExchangeOptions & {
  readonly hostName: string;
  /** Unix milliseconds, for signatures. */
  readonly nowMs: () => number;
  /** Writes a message to the log or to standard output, for `logger://`. */
  readonly writeLog: (text: string, level: MessageLevel) => void;
  /** Time limit of one message to one target; 10 s by default. */
  readonly deadlineMs?: number;
};

/** One of the requests for a message. */
export type Part = HttpRequest & {
  /** The recipient, if a message has several. A failure of one does not stop the others. */
  readonly to?: string;
  /** The request to send after a refusal of this one. Undefined: none. */
  readonly otherwise?: (answer: HttpAnswer) => Part | undefined;
};

/** The delivery of a message: HTTP requests that `openTarget` sends, or a protocol of the service. */
export type Delivery =
  | {
      /** Returns the same requests for the same message. May ask the service first. */
      readonly requests: (
        message: Message,
        exchange: Exchange,
        signal: AbortSignal,
      ) => readonly Part[] | Promise<readonly Part[]>;
      readonly judge?: AnswerCheck;
    }
  | {
      /** Resolves to the service's answer; throws `Refused`. */
      readonly deliver: (message: Message, exchange: Exchange, signal: AbortSignal) => Promise<string>;
    };

type Given<Table extends ParameterTable, Address> = {
  readonly address: Address;
  readonly parts: UrlParts;
} & Query<Table>;

type ServiceDefinition<Table extends ParameterTable, Address> = {
  /** The first scheme is the one in the documentation. */
  readonly schemes: readonly [string, ...string[]];
  /** Words that may stand after a `+` in the scheme; none by default. */
  readonly variants?: readonly string[];
  readonly title: string;
  readonly form: string;
  /** For the documentation: the origin of the parts of the URL, and exceptions. */
  readonly about: string;
  readonly example: string;
  readonly parameters: Table;
  /** Treatment of a key that is not in the table: a warning, ignored, or forwarded to the receiver. */
  readonly otherKeys?: 'reported' | 'ignored' | 'forwarded';
  /** Whether it also gets a message at the start of a run. */
  readonly wantsRunStart?: true;
  /** Reads the part before the query. Throws an `InvalidUrlError`. */
  readonly readAddress: (parts: UrlParts, values: ValuesOf<Table>) => Address;
  /** Removed from every answer of the service, and hidden in the shown URL. */
  readonly secrets: (given: Given<Table, Address>) => readonly string[];
  /** Not secret, but hidden in the shown URL. */
  readonly hidden?: (given: Given<Table, Address>) => readonly string[];
  readonly open: (given: Given<Table, Address>, deps: NotifyDeps) => Delivery;
};

/** A service without the types of its parameters and address. */
export type Service = Omit<ServiceDefinition<ParameterTable, never>, 'readAddress' | 'secrets' | 'hidden' | 'open'> & {
  /** Throws an `InvalidUrlError`. */
  readonly read: (parts: UrlParts) => ReadTarget;
};

/** A URL that has been parsed. */
export type ReadTarget = {
  readonly secrets: readonly string[];
  readonly shown: string;
  /** Keys that the service does not know. An empty text stands for a key that may be a secret. */
  readonly unknownKeys: readonly string[];
  /** The faults of values that are ignored, without the values. */
  readonly faults: readonly string[];
  readonly open: (deps: NotifyDeps) => Delivery;
};

export function defineService<Table extends ParameterTable, Address>(
  definition: ServiceDefinition<Table, Address>,
): Service {
  const { readAddress, secrets: secretsOf, hidden: hiddenOf, open, ...described } = definition;
  const { parameters, otherKeys = 'reported' } = definition;
  return {
    ...described,
    read(parts) {
      const query = readQuery(parameters, parts.query);
      const given = { address: readAddress(parts, query.values), parts, ...query };
      const secrets = [...secretsOf(given), ...secretValues(parameters, query)].filter((secret) => secret !== '');
      const pairs = queryPairs(parameters, query).filter(([key]) => parameters[key]?.isSecret !== true);
      return {
        secrets,
        shown: redactedUrl({ ...parts, query: pairs }, [...secrets, ...(hiddenOf?.(given) ?? [])]),
        unknownKeys: otherKeys === 'reported' ? unknownKeysOf(query) : [],
        faults: query.faults,
        open: (deps) => open(given, deps),
      };
    },
  };
}

/** A key without a value may be a misplaced secret, so an empty text replaces it. */
export function unknownKeysOf({ others }: Pick<Query<ParameterTable>, 'others'>): readonly string[] {
  return others.map(([key, value]) => (value === '' ? '' : key));
}

function secretValues<Table extends ParameterTable>(parameters: Table, { values }: Query<Table>): readonly string[] {
  return Object.entries(parameters).flatMap(([key, { isSecret }]) => {
    const value = values[key];
    return isSecret && typeof value === 'string' ? [value] : [];
  });
}

/** The query of a URL, read by a service's table. */
type Query<Table extends ParameterTable> = {
  readonly values: ValuesOf<Table>;
  /** Keys of the table that the URL has. */
  readonly given: ReadonlySet<string>;
  /** The faults of values that are ignored: `the key "color" …`, without the values. */
  readonly faults: readonly string[];
  /** The other keys as written. A leading `__`, which forces a key into this list, is removed. */
  readonly others: UrlParts['query'];
};

/** Keys are matched in any case, and the first value of a key counts. Throws an `InvalidUrlError`. */
export function readQuery<Table extends ParameterTable>(table: Table, query: UrlParts['query']): Query<Table> {
  const keys = keysOf(table);
  const values: Record<string, unknown> = {};
  const others: (readonly [string, string])[] = [];
  const faults: string[] = [];
  for (const [written, value] of query) {
    const key = keys.get(written.toLowerCase());
    if (key === undefined) others.push([unescaped(written, keys), value]);
    else if (!Object.hasOwn(values, key)) readInto(values, key, value);
  }
  const given = new Set(Object.keys(values));
  for (const [key, { isRequired, fallback }] of Object.entries(table)) {
    if (given.has(key) && !(isRequired && isEmpty(values[key]))) continue;
    if (isRequired) throw new InvalidUrlError(`the key "${key}"`, 'is missing');
    values[key] = fallback;
  }
  // Every key of the table was read by its own parameter, or has its default.
  return { values: values as ValuesOf<Table>, given, faults, others };

  /** A decoration never costs the target: with a wrong value, its default counts. */
  function readInto(found: Record<string, unknown>, key: string, value: string): void {
    const parameter = table[key];
    try {
      found[key] = parameter?.read(value);
    } catch (error) {
      const why = error instanceof Error ? error.message : 'cannot be read';
      if (parameter?.isEssential !== false) throw new InvalidUrlError(`the key "${key}"`, why);
      if (value.trim() !== '') faults.push(`the key "${key}" ${why}`);
    }
  }
}

/** The reverse: pairs that parse to the same values, without the other keys. */
export function queryPairs<Table extends ParameterTable>(
  table: Table,
  { given, values }: Pick<Query<Table>, 'given' | 'values'>,
): UrlParts['query'] {
  return [...given].map((key) => [key, table[key]?.print(values[key]) ?? '']);
}

/** From each name and alias, in lower case, to the key. */
function keysOf(table: ParameterTable): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(table).flatMap(([key, { aliases }]) => [key, ...aliases].map((name) => [name.toLowerCase(), key])),
  );
}

function unescaped(written: string, keys: ReadonlyMap<string, string>): string {
  const name = written.replace(/^__/, '');
  return name !== written && keys.has(name.toLowerCase()) ? name : written;
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * The URL for people and logs. Each part that contains one of the secrets is `[redacted]`, and so are the user, the
 * password, and an address with a login or query of its own.
 */
export function redactedUrl(parts: UrlParts, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== '');
  const isSecret = (text: string): boolean =>
    known.some((secret) => text.includes(secret)) || (text.includes('://') && withoutSecretParts(text) !== text);
  const hide = (text: string): string => (isSecret(text) ? hidden : text);
  // A user or password with a slash that is not escaped: the rest of it is in the path.
  const isLoginCut = parts.user === '' && parts.segments.some((segment) => segment.indexOf('@') > 0);
  const host = isLoginCut ? hidden : hide(parts.host) + (parts.port === '' ? '' : `:${parts.port}`);
  const path = isLoginCut ? '' : parts.segments.map((segment) => `/${hide(segment)}`).join('');
  const search = parts.query
    .map(([key, value]) => `${hide(key)}=${hide(value)}`)
    .filter((pair) => !pair.includes(hidden))
    .join('&');
  const login = parts.user + parts.password === '' ? '' : `${hidden}@`;
  const shown = `${schemeOf(parts)}://${login}${host}${path}${search === '' ? '' : `?${search}`}`;
  return shown.replaceAll(repeated, hidden);
}

const hidden = '[redacted]';
const repeated = /\[redacted\](?:\/\[redacted\])+/g;

function schemeOf({ scheme, variant }: UrlParts): string {
  return variant === '' ? scheme : `${scheme}+${variant}`;
}
