import { parseJson, isJsonObject, arrayOf, type JsonObject } from '../../../domain/text/json.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { EngineRequest, EngineResponse } from './request.ts';

export const megabyte = 1_048_576;

/** Largest answer about one object. An inspect is about 10 kB. */
export const maxAnswerBytes = 8 * megabyte;
const maxErrorBytes = 65_536;
const maxMessageChars = 1_000;

/**
 * The body as JSON. Throws `engine-refused` when it is too large or not JSON. `doing` is the failed action, for the
 * message.
 */
export async function readJson(body: EngineResponse['body'], limitBytes: number, doing = 'go on'): Promise<unknown> {
  const answer = parseJson(await readText(body, limitBytes, doing));
  if (answer !== undefined) return answer;
  throw notJson();
}

function tooLarge(doing: string, limitBytes: number): ServiceError {
  const limit = `${Math.round(limitBytes / megabyte)} MB`;
  return new ServiceError('engine-refused', `Cannot ${doing}: the engine's answer is larger than ${limit}`);
}

export function notJson(cause?: unknown): ServiceError {
  return new ServiceError('engine-refused', "Cannot read the engine's answer: it is not JSON", {
    remedy: 'Check --host (DOCKER_HOST): another server may listen there',
    cause,
  });
}

/** The body as text. Throws `engine-refused` when it is too large. `doing` is the failed action, for the message. */
export async function readText(body: EngineResponse['body'], limitBytes: number, doing: string): Promise<string> {
  const bytes = await readBytes(body, limitBytes);
  if (bytes.length > limitBytes) throw tooLarge(doing, limitBytes);
  return bytes.toString('utf8');
}

/** The body as JSON, else undefined. Calls that change state answer with nothing, "OK" or an object. */
export async function readAnswer(body: EngineResponse['body']): Promise<unknown> {
  return parseJson((await readBytes(body, maxAnswerBytes)).toString('utf8'));
}

export type EngineError = {
  readonly status: number;
  /** One printable line, at most 1,000 characters. */
  readonly message: string;
  /** False for an answer of another server, e.g. the 404 of a proxy. */
  readonly fromEngine: boolean;
  /** A proxy before the engine, or a plugin of the engine, forbids the call for everyone. */
  readonly isForbidden: boolean;
};

/**
 * The engine's errors are `{"message": …}`: https://docs.docker.com/reference/api/engine/#section/Errors. A proxy
 * answers a forbidden call with 403 (HAProxy, nginx), 405 (wollomatic's, for a method) or 404 (a router without the
 * path), and a page or a line of its own.
 */
export async function readError({ status, body }: EngineResponse, call: EngineCall): Promise<EngineError> {
  const raw = (await readBytes(body, maxErrorBytes)).toString('utf8');
  const parsed = parseJson(raw);
  const said = text(fields(parsed)['message']);
  const isUnknownCall = said === 'page not found';
  const fromEngine = isJsonObject(parsed) && said !== '' && !isUnknownCall;
  const isProxys = !fromEngine && !isUnknownCall && proxyRefusals.includes(status);
  const message = isProxys
    ? `a proxy before the engine forbids ${shownCall(call)} (${status})`
    : printable((said || withoutTags(raw)).trim(), maxMessageChars) || `status ${status} without a message`;
  return { status, message, fromEngine, isForbidden: isProxys || (fromEngine && isPolicy(status, said)) };
}

type EngineCall = Pick<EngineRequest, 'method' | 'path'>;

const proxyRefusals: readonly number[] = [401, 403, 404, 405];

/** Docker answers 403 also for a used address or endpoint. https://docs.docker.com/engine/extend/plugins_authorization/ */
function isPolicy(status: number, message: string): boolean {
  return (
    (status === 401 || status === 403 || status === 405) &&
    /^(?:authorization denied by plugin|forbidden\b|unauthorized\b|method not allowed|(?:request|access) (?:denied|forbidden))/i.test(
      message,
    )
  );
}

/** The call as in docs/engines.md: without version and ids. */
function shownCall({ method, path }: EngineCall): string {
  const plain = path
    .replace(/^\/v\d[\d.]*(?=\/)/, '')
    .replace(/\?.*$/, '')
    .replaceAll('%3A', ':');
  return printable(`${method} ${plain.replaceAll(/\b[0-9a-f]{64}\b/g, '{id}')}`, 300);
}

/** A page of a proxy as a line of text. */
function withoutTags(raw: string): string {
  if (!/^\s*<(?:!doctype|html|head|body|h\d|p|div)\b/i.test(raw)) return raw;
  return raw
    .replaceAll(/<(?:title|style|script)\b[^>]{0,500}>[^<]{0,5000}<\/[a-z]{1,10}>/gi, ' ')
    .replaceAll(/<[^>]{0,1000}>/g, ' ')
    .replaceAll(/[<>]/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

/** At most one chunk more than the limit. */
export async function readBytes(body: EngineResponse['body'], limitBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limitBytes) break;
  }
  return Buffer.concat(chunks, length);
}

/** A line of the engine's streams is some 300 bytes; an event carries all labels of a container. */
const maxLineBytes = 1_048_576;

/** The engine does not limit labels. A longer line counts as endless. */
const maxPassedBytes = 1_024 * maxLineBytes;

/** Replaces a line above the limit, if the stream continues after it. */
export const longLine = Symbol('a line that is too long');

type LineLimits = {
  readonly limitBytes?: number;
  /** A line above the limit becomes a `longLine` instead of an error, up to 1 GB. */
  readonly passesLongLines?: boolean;
};

/**
 * The JSON values of a stream, one per line, in chunks of any size. Blank lines are skipped. Throws `engine-refused`
 * for a line that is not JSON or too long.
 */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
  { limitBytes = maxLineBytes, passesLongLines = false }: LineLimits = {},
): AsyncGenerator<unknown, void, undefined> {
  let begun: Uint8Array[] = [];
  let length = 0;

  function add(piece: Uint8Array): void {
    length += piece.length;
    if (length > limitBytes && length <= maxPassedBytes && passesLongLines) begun = [];
    else if (length > limitBytes)
      throw new ServiceError(
        'engine-refused',
        `Cannot read the engine's stream: a line is longer than ${limitBytes} bytes`,
      );
    else if (piece.length > 0) begun.push(piece);
  }

  function takeLine(): string | typeof longLine {
    const isLong = length > limitBytes;
    const line = Buffer.concat(begun).toString('utf8').trim();
    begun = [];
    length = 0;
    return isLong ? longLine : line;
  }

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      const line = takeLine();
      if (line !== '') yield parseLine(line);
    }
    add(chunk.subarray(start));
  }
  const last = takeLine();
  if (last !== '') yield parseLine(last);
}

const lineFeed = 0x0a;

function parseLine(line: string | typeof longLine): unknown {
  if (line === longLine) return line;
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new ServiceError('engine-refused', "Cannot read the engine's stream: a line is not JSON", { cause });
  }
}

/**
 * An object's fields; none if the value is not an object. The engine's JSON is read field by field with a default for
 * each, so that a missing or unexpected field affects only itself.
 */
export function fields(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

export function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

export function texts(value: unknown): readonly string[] {
  return arrayOf(value).filter((item) => typeof item === 'string');
}

export function isTextMap(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

/** Entries with a string value. `fromEntries` treats the key `__proto__` like any other. */
export function textMap(value: unknown): Readonly<Record<string, string>> {
  if (isTextMap(value)) return value;
  return Object.fromEntries(
    Object.entries(fields(value)).flatMap(([key, item]) => (typeof item === 'string' ? [[key, item]] : [])),
  );
}

/** RFC 3339 to milliseconds since the epoch; 0 for any other text, and for Go's zero time of the year 1. */
export function timeMs(value: unknown): number {
  const ms = Date.parse(text(value));
  return ms > 0 ? ms : 0;
}

/** Replaces half of a surrogate pair, on which `encodeURIComponent` throws, with the replacement character. */
export function pathSegment(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString());
}
