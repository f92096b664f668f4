import type { Message, MessageLevel } from '../../../domain/notification/message.ts';
import { queryPairs, readQuery, type Query } from '../url/query.ts';
import type { ParameterTable, ValuesOf } from '../url/parameters.ts';
import type { UrlParts } from '../url/parts.ts';
import { redactedUrl } from '../url/redacted-url.ts';
import type { Exchange, ExchangeOptions, HttpAnswer, HttpRequest } from '../wire/exchange.ts';
import type { AnswerCheck } from '../wire/check-answer.ts';

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

export type Given<Table extends ParameterTable, Address> = {
  readonly address: Address;
  readonly parts: UrlParts;
} & Query<Table>;

export type ServiceDefinition<Table extends ParameterTable, Address> = {
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
