import type { Clock, Log } from '../../domain/outside/outside.ts';
import { isJsonObject, parseJson, type JsonObject } from '../../domain/text/json.ts';
import type { RunningService } from '../../domain/run/event.ts';
import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { connectionFaultOf, readRetryAfter, type ConnectionFault } from '../http/exchange.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { printable, quoted } from '../../domain/text/printable.ts';

type ServiceClientOptions = {
  /** `http://server:8080`, without a trailing slash. */
  readonly url: string;
  /** Path of the socket of a service on this machine; `url` then only names it. */
  readonly socketPath?: string;
  readonly token: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<typeof usualLimits>;
};

/** The socket of a running service in its folder of --state-dir. */
export const socketName = 'upkeep.sock';

/** Sent over the socket, which only the owner of the service can open: the file system protects it, not this word. */
export const socketToken = 'owner-of-the-socket';

const usualLimits = {
  /** Time limit for a whole document. */
  replyMs: 30_000,
  /** Time limit of silence in the stream; a service sends a byte every 15 s. */
  silenceMs: 60_000,
  /** The longest wait for an unreachable service; longer than a restart of its machine. */
  patienceMs: 600_000,
};

/** A running service over its HTTP API. Each request has its own connection and deadline. */
export function createServiceClient({
  url: base,
  socketPath,
  token,
  clock,
  log,
  limits,
}: ServiceClientOptions): RunningService {
  const { replyMs, silenceMs, patienceMs } = { ...usualLimits, ...limits };
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };

  async function connect(lastEventId: string | undefined, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const path = '/v1/events';
    const resume = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    const headers = { Accept: 'text/event-stream', ...authorization, ...resume };
    const response = await open({ base, socketPath, path, headers, silenceMs, signal });
    await refuseFailure(response, { base, path, nowMs: clock.nowMs() });
    const type = response.headers['content-type'] ?? '';
    if (type.startsWith('text/event-stream')) return response;
    response.destroy();
    throw invalidAnswer(base, `${path} is no stream of events`);
  }

  async function ask(call: Pick<Call, 'path' | 'method' | 'body'>, signal: AbortSignal): Promise<JsonObject> {
    const { path } = call;
    const deadline = AbortSignal.timeout(replyMs);
    const either = AbortSignal.any([signal, deadline]);
    const headers = { Accept: 'application/json', ...authorization };
    try {
      const response = await open({ base, socketPath, ...call, headers, silenceMs: replyMs, signal: either });
      return await readDocument(response, { base, path, nowMs: clock.nowMs() });
    } catch (error) {
      signal.throwIfAborted();
      throw deadline.aborted ? connectionFailure(new Error('silence', { cause: 'silence' }), base) : error;
    }
  }

  return {
    read: (what, signal) => ask({ path: `/v1/${what}` }, signal),
    send: ({ method, what, body }, signal) =>
      ask({ path: `/v1/${what}`, method, ...(body && { body: JSON.stringify(body) }) }, signal),
    follow: (signal) => follow({ base, clock, log, connect, patienceMs }, signal),
  };
}

type Call = {
  /** Without a trailing slash. */
  readonly base: string;
  /** The path of a socket of this machine, instead of the address in `base`. */
  readonly socketPath?: string | undefined;
  /** `/v1/history` */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The longest silence of the server, before and within its answer. */
  readonly silenceMs: number;
  /** GET by default. */
  readonly method?: 'GET' | 'POST' | 'DELETE' | undefined;
  /** JSON. */
  readonly body?: string;
  readonly signal: AbortSignal;
};

/**
 * One request on its own connection. Redirects are not followed, so that a token stays on its host. Throws a
 * `ServiceError`.
 */
function open(call: Call): Promise<IncomingMessage> {
  const { base, socketPath, path, headers, silenceMs, signal, method = 'GET', body } = call;
  return new Promise((resolve, reject) => {
    const send = base.toLowerCase().startsWith('https:') ? requestTls : requestPlain;
    const type =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const reached = socketPath === undefined ? {} : { socketPath };
    const options = { method, headers: { ...headers, ...type }, agent: false, signal, timeout: silenceMs, ...reached };
    const made = send(`${base}${path}`, options);
    made.on('timeout', () => made.destroy(new Error('silence', { cause: 'silence' })));
    made.on('error', (error) => reject(signal.aborted ? signal.reason : connectionFailure(error, base)));
    made.on('response', resolve);
    // Without this listener, a switch of protocols would end the connection without any event.
    made.on('upgrade', ({ statusCode }, socket) => {
      reject(invalidAnswer(base, `${path} answers with status ${statusCode}`));
      socket.destroy();
    });
    made.end(body);
  });
}

type ResponseContext = { readonly base: string; readonly path: string; readonly nowMs: number };

/** The document of a service's answer. Throws a `ServiceError` for any other answer. */
async function readDocument(response: IncomingMessage, asked: ResponseContext): Promise<JsonObject> {
  await refuseFailure(response, asked);
  const document = parse(await readText(response, asked.base, maxDocument));
  if (document === undefined) throw invalidAnswer(asked.base, `${asked.path} holds no document of its API`);
  return document;
}

/** Throws the reason for any status but 200 and 201. */
async function refuseFailure(response: IncomingMessage, { base, path, nowMs }: ResponseContext): Promise<void> {
  const status = response.statusCode ?? 0;
  if (status === 200 || status === 201) return;
  // Without a readable body, the error has only the status.
  const body = parse(await readText(response, base, maxProblem).catch(() => ''));
  const said = typeof body?.['error'] === 'string' ? body['error'] : undefined;
  throw refusal({ base, path, status, said, retryAfterMs: readRetryAfter(response.headers['retry-after'], nowMs) });
}

/** Two thousand containers are about 2 MB. */
const maxDocument = 64 * 1024 * 1024;
const maxProblem = 64 * 1024;

async function readText(response: IncomingMessage, base: string, most: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > most) throw invalidAnswer(base, `its answer is larger than ${most} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Error && error.name === 'ServiceError' ? error : connectionFailure(error, base);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Undefined if the text is not in the API's format. */
function parse(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) && value['api_version'] === 'v1' ? value : undefined;
}

type Following = {
  readonly base: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Opens the stream after the event with that id. Throws a `ServiceError`. */
  readonly connect: (lastEventId: string | undefined, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** The longest time that the service may be unreachable after the first connection. */
  readonly patienceMs: number;
};

/**
 * Follows the events. Throws an error of the first connection. Later connections resume after the last event's id.
 * Throws for a permanent error, and after `patienceMs`.
 */
async function* follow(
  { base, clock, log, connect, patienceMs }: Following,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  let lastEventId: string | undefined;
  let pauseMs = usualPauseMs;
  let wasConnected = false;
  let lostMs: number | undefined;
  for (;;) {
    let failure: unknown;
    try {
      const chunks = await connect(lastEventId, signal);
      if (lostMs !== undefined) log.info('The stream of events has resumed');
      wasConnected = true;
      lostMs = undefined;
      for await (const frame of framesIn(chunks)) {
        lastEventId = frame.id ?? lastEventId;
        pauseMs = Math.min(Math.max(frame.retryMs ?? pauseMs, shortestPauseMs), maxPauseMs);
        if (frame.data !== '') yield eventIn(frame, base);
      }
      failure = new ServiceError('service-unreachable', 'The service has ended the stream of events');
    } catch (error) {
      signal.throwIfAborted();
      failure = error instanceof RangeError ? invalidAnswer(base, error.message) : error;
      if (!(failure instanceof ServiceError)) failure = connectionFailure(error, base);
    }
    lostMs ??= clock.monotonicMs();
    const isTooLate = clock.monotonicMs() - lostMs > patienceMs;
    if (!wasConnected || isTooLate || !isTransient(failure)) throw failure;
    log.warn('The stream of events is interrupted', { error: describeError(failure) });
    const requestedMs = failure instanceof ServiceError ? (failure.retryAfterMs ?? 0) : 0;
    await clock.sleep(Math.min(Math.max(pauseMs, requestedMs), maxPauseMs), signal);
  }
}

const usualPauseMs = 5000;
const shortestPauseMs = 100;
const maxPauseMs = 60_000;

function eventIn({ data }: EventFrame, base: string): JsonObject {
  const event = parseJson(data);
  if (isJsonObject(event) && typeof event['type'] === 'string') return event;
  throw invalidAnswer(base, 'its stream contains invalid data');
}

/** One frame of https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export type EventFrame = {
  readonly id?: string;
  /** The pause before the next connection. */
  readonly retryMs?: number;
  /** Empty for a comment. */
  readonly data: string;
};

/** Throws a `RangeError` for a frame that does not end within 1 MiB. */
export async function* framesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EventFrame> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split(/\r\n\r\n|\n\n|\r\r/);
    text = frames.pop() ?? '';
    for (const frame of frames) yield readFrame(frame);
    if (text.length > maxFrame) throw new RangeError('A frame of the stream of events does not end');
  }
}

const maxFrame = 1024 * 1024;

function readFrame(text: string): EventFrame {
  const data: string[] = [];
  let id: string | undefined;
  let retryMs: number | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else if (name === 'id' && /^[\x21-\x7e]{1,200}$/.test(value)) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }
  return { data: data.join('\n'), ...(id !== undefined && { id }), ...(retryMs !== undefined && { retryMs }) };
}

/** True if the same request is likely to succeed soon. */
function isTransient(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'service-unreachable' || error.code === 'busy');
}

/** Translates Node's connection error into a message with a remedy. */
function connectionFailure(error: unknown, base: string): ServiceError {
  const isSilence = error instanceof Error && error.cause === 'silence';
  const { kind, why } = connectionFaultOf(error);
  if (kind === 'not-http') return invalidAnswer(base, why);
  const words = isSilence ? 'it did not answer in time' : why;
  return new ServiceError('service-unreachable', `Cannot reach the service at ${quoted(base)}: ${words}`, {
    cause: error,
    remedy: remedies[kind] ?? 'Check the address, and that the service runs with --http-api-endpoints',
  });
}

const remedies: Partial<Record<ConnectionFault['kind'], string>> = {
  'unknown-authority': 'Name the file of that authority in the variable NODE_EXTRA_CA_CERTS',
  'wrong-clock': "Check this machine's clock",
  'no-tls': 'Write http:// where the service has no certificate',
};

/** The error for an answer that is not from Upkeep. */
function invalidAnswer(base: string, why: string): ServiceError {
  return new ServiceError('service-invalid', `Cannot use the answer of ${quoted(base)}: ${why}`, {
    remedy: 'Check the address: it does not look like that of an Upkeep',
  });
}

type Refusal = {
  readonly base: string;
  /** `/v1/history` */
  readonly path: string;
  readonly status: number;
  /** The service's message; undefined if the answer is not in the API's format. */
  readonly said: string | undefined;
  readonly retryAfterMs: number | undefined;
};

/** The error for any answer but a success, with a remedy. */
function refusal({ base, path, status, said, retryAfterMs }: Refusal): ServiceError {
  const [route = ''] = path.split('?', 1);
  const cannot = `Cannot read ${route} of the service at ${quoted(base)}`;
  const [, , part = ''] = route.split('/');
  const group = part === 'notes' ? 'containers' : part;
  // A rate limiter, of Upkeep or of a proxy, answers without a body: https://www.rfc-editor.org/rfc/rfc6585#section-4
  if (status === 429) {
    const wait = retryAfterMs === undefined ? '' : `; try again in ${formatDuration(retryAfterMs)}`;
    return new ServiceError('busy', `${cannot}: too many requests${wait}`, { retryAfterMs });
  }
  if (said === undefined && ![401, 403, 502, 503, 504].includes(status))
    return invalidAnswer(base, `${path} answers with status ${status}`);
  if (status === 401) {
    const which =
      group === 'events'
        ? "the events token (the service's --http-api-events-token)"
        : "the API token (the service's --http-api-token)";
    const remedy = `Give ${which} with --token or UPKEEP_TOKEN`;
    return new ServiceError('service-denied', `${cannot}: the token is missing or wrong`, { remedy });
  }
  // An endpoint that is served names what it does not find.
  if (status === 404 && said !== undefined && said !== 'not found')
    return new ServiceError('not-found', `${cannot}: ${printable(said, 300)}`);
  if (status === 404) {
    const remedy = `Add ${group} to --http-api-endpoints of the service and start it again`;
    return new ServiceError('not-found', `${cannot}: it does not serve that`, { remedy });
  }
  if (status === 409 && said !== undefined) return new ServiceError('busy', printable(said, 300));
  const why = `status ${status}${said === undefined ? '' : `, ${printable(said, 300)}`}`;
  // A proxy also answers 502 to 504 while the service starts.
  const code = status >= 502 && status <= 504 ? 'service-unreachable' : 'service-refused';
  return new ServiceError(code, `${cannot}: ${why}`, { retryAfterMs });
}
