import { parse } from 'node:querystring';
import { HttpError, type Problem } from '../replies/errors.ts';
import { parseTimestamp } from '../../json/timestamps.ts';
import type { IncomingMessage } from 'node:http';

/** One parameter of a query: its documentation, and its parser for the given values in order. */
export type Parameter<Value> = {
  readonly documentation: ParameterDocumentation;
  /** Throws 400 for a malformed value. */
  readonly read: (given: readonly string[], name: string) => Value;
};

/**
 * The form of OpenAPI 2.0: https://swagger.io/specification/v2/#parameter-object. `hidden`: not documented there.
 * `required`, `enum` and `pattern` are for OpenAPI 3.1.
 */
export type ParameterDocumentation = {
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly hidden?: true;
  readonly required?: true;
  readonly pattern?: string;
};

export type QueryTable = Readonly<Record<string, Parameter<unknown>>>;

export type ValuesOf<Table extends QueryTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Parameter<infer Value> ? Value : never;
};

/** A query as parsed by `node:querystring`: a list for a repeated name. */
export type RawQuery = Readonly<Record<string, string | string[] | undefined>>;

/** The query of a request's target. A malformed escape stays as it is. */
export function parseQuery(target: string): RawQuery {
  // 0: any number of names. The size of the request's head is bounded.
  return parse(queryOf(target), '&', '=', { maxKeys: 0 });
}

/** Reads all parameters of a table, and no others. */
export function readQuery<Table extends QueryTable>(table: Table, raw: RawQuery): ValuesOf<Table> {
  const values: Record<string, unknown> = {};
  for (const name in table) values[name] = table[name]?.read(given(raw, name), name);
  // Every name of the table has the value of its own reader.
  return values as ValuesOf<Table>;
}

/** Repeatable, each value a comma-separated list. Without items the list is empty. */
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

/** The first value. An empty one counts as not given. */
export function text(description: string): Parameter<string | undefined> {
  return { documentation: { type: 'string', description }, read: ([first]) => first || undefined };
}

/** A boolean of the specification: only `true` counts, in any case. */
export function flag(description: string): Parameter<boolean> {
  return {
    documentation: { type: 'boolean', description },
    read: ([first]) => first?.toLowerCase() === 'true',
  };
}

/**
 * A boolean of Upkeep's own: a bare name, or `true`, `1`, `t`, `yes`, or their opposites, in any case. Throws 400 for
 * any other value, and for values that contradict each other.
 */
export function toggle(description: string): Parameter<boolean> {
  return {
    documentation: { type: 'boolean', description },
    read: (texts, name) => {
      const [first = false, ...others] = texts.map((text) => booleans.get(text.trim().toLowerCase()) ?? 'unclear');
      if (first !== 'unclear' && others.every((other) => other === first)) return first;
      throw new HttpError(400, `invalid query parameter "${name}": expected true or false, once`);
    },
  };
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['', 'true', '1', 't', 'yes'].map((text) => [text, true] as const),
  ...['false', '0', 'f', 'no'].map((text) => [text, false] as const),
]);

/** One of these words, in any case; undefined when it is not given. Throws 400 for any other, and for several. */
export function word<const Word extends string>(
  words: readonly Word[],
  description: string,
): Parameter<Word | undefined> {
  return {
    documentation: { type: 'string', pattern: `^(?:${words.join('|')})$`, description },
    read: (texts, name) => {
      const [first] = texts;
      if (first === undefined) return undefined;
      const found = words.find((one) => one === first.trim().toLowerCase());
      if (found !== undefined && texts.length === 1) return found;
      throw new HttpError(400, `invalid query parameter "${name}": expected ${words.join(' or ')}, once`);
    },
  };
}

/** A time in RFC 3339, in milliseconds. Undefined when it is not given, 400 when it is empty or malformed. */
export function moment(description: string): Parameter<number | undefined> {
  return {
    documentation: { type: 'string', format: 'date-time', description },
    read: ([first], name) => {
      if (first === undefined) return undefined;
      // An unescaped `+` of an offset arrives as a space.
      const ms = parseTimestamp(first.replace(/ (?=\d\d:\d\d$)/, '+'));
      if (ms === undefined) throw new HttpError(400, `invalid query parameter "${name}": expected an RFC 3339 time`);
      return ms;
    },
  };
}

/** Undefined when it is not given, empty, or 0. At most the largest safe integer. */
export function count(description: string): Parameter<number | undefined> {
  return {
    documentation: { type: 'integer', minimum: 0, description },
    read: ([first = ''], name) => {
      if (first === '') return undefined;
      if (/^\d+$/.test(first)) return Math.min(Number(first), Number.MAX_SAFE_INTEGER) || undefined;
      throw new HttpError(400, `invalid query parameter "${name}": expected a whole number, 0 or more`);
    },
  };
}

/** Accepted, but described only in the text of its route, because the specification fixes the list of parameters. */
export function unlisted<Value>({ documentation, read }: Parameter<Value>): Parameter<Value> {
  return { documentation: { ...documentation, hidden: true }, read };
}

/** Without it the route refuses the request. */
export function required<Value>({ documentation, read }: Parameter<Value>): Parameter<Value> {
  return { documentation: { ...documentation, required: true }, read };
}

function given(raw: RawQuery, name: string): readonly string[] {
  const value = raw[name];
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

/** The path of a request's target as written: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
export function pathOf(target: string): string {
  const local = localTarget(target);
  const query = local.search(/[?#]/);
  return query === -1 ? local : local.slice(0, query);
}

/** The query of a request's target, without its `?`. */
export function queryOf(target: string): string {
  const [local = ''] = localTarget(target).split('#', 1);
  const begin = local.indexOf('?');
  return begin === -1 ? '' : local.slice(begin + 1);
}

/** The target without scheme and host, and under `/v1/` without a trailing slash. */
export function normalTarget(target: string): string {
  const local = localTarget(target);
  const path = pathOf(local);
  const isTolerated = path.startsWith('/v1/') && path.length > '/v1/'.length && path.endsWith('/');
  return isTolerated ? path.slice(0, -1) + local.slice(path.length) : local;
}

function localTarget(target: string): string {
  if (target.startsWith('/')) return target;
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * The problem of a request without one valid `Host`. Node's own answer has no body, and Node accepts several hosts and
 * any text. https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function hostProblemOf({ headers, rawHeaders, httpVersion }: IncomingMessage): Problem | undefined {
  if (headers.host === undefined) return httpVersion === '1.1' ? noHost : undefined;
  let hosts = 0;
  // Names and values alternate.
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1) return severalHosts;
  return validHost.test(headers.host) ? undefined : invalidHost;
}

/** A name, an address, or nothing, and a port: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2 */
const validHost = /^(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*(?::\d*)?$|^\[[\w.~!$&'()*+,;=:%-]+\](?::\d*)?$/i;

const noHost: Problem = { status: 400, message: 'the request names no host' };
const severalHosts: Problem = { status: 400, message: 'the request names several hosts' };
const invalidHost: Problem = { status: 400, message: 'the request names an invalid host' };
