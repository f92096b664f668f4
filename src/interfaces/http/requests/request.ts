import { parse } from 'node:querystring';
import { HttpError, errorBody, jsonType, type Problem } from '../replies/errors.ts';
import { parseTimestamp } from '../../json/timestamps.ts';
import { editDistance } from '../../../domain/text/name-pattern.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseJsonObject, type JsonObject } from '../../../domain/text/json.ts';

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

/** The parameter that a name of another program, or a misspelt one, most likely stands for. */
export function meantBy(name: string, own: readonly string[]): string | undefined {
  const typed = plain(name);
  const parameters = own.map((each) => ({ name: each, plain: plain(each) }));
  const same = parameters.find((each) => each.plain === typed);
  if (same !== undefined) return same.name;
  const parts = wordsIn(name);
  // `filter.engine`, `now[0]`
  const runs = new Set(
    parts.flatMap((_, from) => parts.slice(from).map((__, more) => parts.slice(from, from + more + 1).join(''))),
  );
  const within = parameters.find((each) => runs.has(each.plain));
  if (within !== undefined) return within.name;
  for (const isMeant of [
    (names: ReadonlySet<string>) => names.has(typed),
    (names: ReadonlySet<string>) => parts.some((part) => part.length >= 3 && names.has(part)),
  ]) {
    const alias = Object.entries(aliases).find(([right, names]) => own.includes(right) && isMeant(names));
    if (alias !== undefined) return alias[0];
  }
  const similar = parameters.find((each) => isSimilar(typed, each.plain));
  return similar?.name;
}

/** The name `dry_run` if a client asks for no change in other words, also on a route that has no rehearsal. */
export function rehearsalIn(name: string, value: RawQuery[string]): string | undefined {
  const isAction = actions.has(plain(name)) && [value].flat().some((one) => refusals.test(one?.trim() ?? ''));
  return isAction ? 'dry_run' : meantBy(name, ['dry_run']);
}

/** `serviceName`, `service-name` and `service.name` have the word `service`. `name` alone says nothing of what it names. */
function wordsIn(name: string): readonly string[] {
  const words = name.slice(0, maxCompared).split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u);
  return words.map((word) => word.toLowerCase()).filter((word) => word !== 'name' && word !== 'names');
}

/** `Dry-Run`, `dry.run`, `dryRun[]` and `DRY_RUN` are the same name. */
function plain(name: string): string {
  return name
    .slice(0, maxCompared)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Longer than any parameter; bounds the time of the comparison. */
const maxCompared = 40;

/** An abbreviation (`cont`), a longer form (`containerNames`), or one typing mistake, two in a long name. */
function isSimilar(typed: string, right: string): boolean {
  if (typed.length >= 3 && right.startsWith(typed)) return true;
  if (right.length >= 5 && typed.includes(right)) return true;
  const mistakes = right.length < 4 ? 0 : right.length < 7 ? 1 : 2;
  return Math.abs(typed.length - right.length) <= mistakes && editDistance(typed, right) <= mistakes;
}

/**
 * Names under which clients of Watchtower, its forks, What's Up Docker, Diun, Portainer and Percona PMM narrow a
 * request, by the parameter that does it here.
 */
const aliases: Readonly<Record<string, ReadonlySet<string>>> = {
  image: words(
    'i img imgs newimagename oldimagename repository repositories repo repos tag tags reference ref registry digest',
    'digests version versions',
  ),
  engine: words('node nodes agent agents server servers environment environments endpoint endpoints machine machines'),
  dry_run: words(
    'dry dr preview plan planonly simulate simulation sim noop whatif pretend rehearse rehearsal test testrun checkonly',
    'check monitoronly monitor noupdate readonly pullonly nopull norestart nostart listonly fake mock diff compare show',
    'print estimate validate validation verify prepare safe dont dontupdate skipupdate mode action method command cmd',
  ),
  container: words(
    'c n q s ctr cnt name names id ids cid service services hostname hostnames host target targets only filter filters',
    'include includes exclude excludes except skip app apps project projects stack stacks compose pod scope label labels',
    'selector select selected selection subset query search match pattern regex regexp where which group groups',
    'namespace unit units workload deployment job object item items entity resource instance instances vm uuid limit max',
    'count first list',
  ),
};

/** Words for an update, which with a negative value ask for none. */
const actions = words(
  'apply confirm confirmed execute run do update commit install deploy pull restart recreate real go',
);

const refusals = /^(?:false|f|0|no?|off|none|never)$/i;

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.join(' ').split(' '));
}

/** 1 MiB. Bodies are ignored, but a client may send one. */
const bodyLimitBytes = 1_048_576;

/**
 * Calls `next` with the size of the body after it was read and discarded, or at once without a body. Answers 413 to a
 * body that is too large.
 */
export function passBody(
  request: IncomingMessage,
  response: ServerResponse,
  { nowMs, next }: { readonly nowMs: () => number; readonly next: (bodyBytes: number) => void },
): void {
  if (!hasBody(request)) return next(0);
  if (announcesTooMuch(request)) return void refuseBody(request, response, nowMs());
  if (waitsForContinue(request)) response.writeContinue();
  skipBody(request, (bytes) => {
    if (bytes > bodyLimitBytes) void refuseBody(request, response, nowMs());
    else next(bytes);
  });
}

/** Whether the request announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether the announced length is too large. */
function announcesTooMuch({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > bodyLimitBytes;
}

/**
 * Node does not answer this header itself, because `checkContinue` has a listener. A client of HTTP/1.0 would read the
 * interim reply as the final one: https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
 */
function waitsForContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue';
}

/**
 * Reads and discards the body. Reports its bytes at its end, or those read so far as soon as they exceed the limit.
 * Never calls back for a client that has disconnected.
 */
function skipBody(request: IncomingMessage, callback: (bytes: number) => void): void {
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bodyLimitBytes) finish();
  };
  function finish(): void {
    request.off('data', onData);
    request.off('end', finish);
    callback(bytes);
  }
  request.on('data', onData);
  request.on('end', finish);
}

async function refuseBody(request: IncomingMessage, response: ServerResponse, nowMs: number): Promise<void> {
  const body = errorBody(`the request body is larger than ${bodyLimitBytes} bytes`, nowMs);
  const headers = { 'Content-Type': jsonType, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  response.writeHead(413, headers);
  if (request.method !== 'HEAD') response.write(body);
  else response.flushHeaders();
  await drainBriefly(request);
  response.end();
}

/**
 * Resolves when enough of a refused body has been read. An immediate close would reset the connection, and the client
 * might not get the reply.
 */
function drainBriefly(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(resolve, maxDrainMs);
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > 16 * bodyLimitBytes) finish();
    });
    request.once('end', finish);
    request.once('close', finish);
  });
}

const maxDrainMs = 2000;

/** Keeps the body of a request, which is discarded otherwise, up to a size. Call it before the body is read. */
export function bufferBody(request: IncomingMessage, response: ServerResponse, maxBytes = maxOwnBytes): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let state: 'kept' | 'too large' | 'no room' = 'kept';
  const drop = (why: typeof state): void => {
    state = why;
    heldBytes -= chunks.splice(0).reduce((sum, { length }) => sum + length, 0);
  };
  bodies.set(request, () => {
    if (state === 'too large') throw new HttpError(413, `the request body is larger than ${maxBytes} bytes`);
    if (state === 'no room') throw new HttpError(503, 'too many request bodies at once', { 'Retry-After': '5' });
    return Buffer.concat(chunks);
  });
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (state !== 'kept') return;
    if (bytes > maxBytes) return drop('too large');
    if (heldBytes + chunk.length > maxHeldBytes) return drop('no room');
    heldBytes += chunk.length;
    chunks.push(chunk);
  });
  response.once('close', () => drop(state));
}

/** The kept body. Throws 413 if it was too large, and 503 if too many are kept already. */
export function bufferedBytes(request: IncomingMessage): Buffer {
  return bodies.get(request)?.() ?? Buffer.alloc(0);
}

/** The JSON object in the kept body. Throws 400 for anything else. */
export function bufferedObject(request: IncomingMessage): JsonObject {
  const value = parseJsonObject(bufferedBytes(request));
  if (value !== undefined) return value;
  throw new HttpError(400, 'invalid request body: expected a JSON object');
}

/** Enough for a decision, which has names, digests and times. */
const maxOwnBytes = 16_384;

const bodies = new WeakMap<IncomingMessage, () => Buffer>();

/** Of all requests together, because nobody has proved anything before the whole body is read. */
const maxHeldBytes = 16 * 1024 * 1024;
let heldBytes = 0;
