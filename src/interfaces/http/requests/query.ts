import { parse } from 'node:querystring';
import { HttpError } from '../replies/errors.ts';
import { parseTimestamp } from '../../json/timestamps.ts';
import { queryOf } from './request-target.ts';

/** One parameter of a query: how it is documented, and how its value is read from what was given, in order. */
export type Parameter<Value> = {
  readonly documentation: ParameterDocumentation;
  /** Throws 400 for a malformed value. */
  readonly read: (given: readonly string[], name: string) => Value;
};

/** Form of OpenAPI 2.0: https://swagger.io/specification/v2/#parameter-object. `hidden`: understood, but not shown. */
export type ParameterDocumentation = {
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly hidden?: true;
};

export type QueryTable = Readonly<Record<string, Parameter<unknown>>>;

export type ValuesOf<Table extends QueryTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Parameter<infer Value> ? Value : never;
};

/** A query as `node:querystring` reads it: a list for a name that is repeated. */
export type RawQuery = Readonly<Record<string, string | string[] | undefined>>;

/** The query of a request's target; a malformed escape stands for itself. */
export function parseQuery(target: string): RawQuery {
  // 0: any number of names; the head of a request is bounded.
  return parse(queryOf(target), '&', '=', { maxKeys: 0 });
}

/** Reads all parameters of a table; parameters that it does not know are no concern of ours. */
export function readQuery<Table extends QueryTable>(table: Table, raw: RawQuery): ValuesOf<Table> {
  const values: Record<string, unknown> = {};
  for (const name in table) values[name] = table[name]?.read(given(raw, name), name);
  // Every name of the table has the value that its own reader made.
  return values as ValuesOf<Table>;
}

/** Repeatable, and each a comma-separated list; nothing left is an empty list. */
export function list(description: string): Parameter<readonly string[]> {
  return {
    documentation: { type: 'string', description },
    read: (texts) =>
      texts
        .flatMap((text) => text.split(','))
        .map((item) => item.trim())
        .filter((item) => item !== ''),
  };
}

/** The first that was given; empty counts as not given. */
export function text(description: string): Parameter<string | undefined> {
  return { documentation: { type: 'string', description }, read: ([first]) => first || undefined };
}

/** Only `true` counts, in any case. */
export function flag(description: string): Parameter<boolean> {
  return {
    documentation: { type: 'boolean', description },
    read: ([first]) => first?.toLowerCase() === 'true',
  };
}

/** A moment in RFC 3339, in milliseconds; undefined when it was not given, 400 when it is empty or malformed. */
export function moment(description: string): Parameter<number | undefined> {
  return {
    documentation: { type: 'string', format: 'date-time', description },
    read: ([first], name) => {
      if (first === undefined) return undefined;
      // A `+` of an offset that was not escaped arrives as a space.
      const ms = parseTimestamp(first.replace(/ (?=\d\d:\d\d$)/, '+'));
      if (ms === undefined) throw new HttpError(400, `invalid query parameter "${name}": expected an RFC 3339 time`);
      return ms;
    },
  };
}

/** Undefined for all of it: when it is not given, empty, or 0. */
export function count(description: string): Parameter<number | undefined> {
  return {
    documentation: { type: 'integer', minimum: 0, description },
    read: ([first = ''], name) => {
      if (first === '') return undefined;
      if (/^\d{1,15}$/.test(first)) return Number(first) || undefined;
      throw new HttpError(400, `invalid query parameter "${name}": expected a whole number, 0 or more`);
    },
  };
}

/** Understood, and told of in the words of its route: the specification closes the list of parameters. */
export function unlisted<Value>({ documentation, read }: Parameter<Value>): Parameter<Value> {
  return { documentation: { ...documentation, hidden: true }, read };
}

/** A name that looks like another's plural: ignoring it would do much more than was asked. */
export function misspelling(right: string): Parameter<undefined> {
  return {
    documentation: { type: 'string', description: '', hidden: true },
    read: (texts, name) => {
      if (texts.length === 0) return undefined;
      throw new HttpError(400, `unknown query parameter "${name}": did you mean "${right}"?`);
    },
  };
}

function given(raw: RawQuery, name: string): readonly string[] {
  const value = raw[name];
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}
