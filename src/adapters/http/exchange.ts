import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Agents, Route } from './agents.ts';
import { abortReasonOf, orAborted } from '../../domain/concurrency.ts';
import { withoutSecrets } from '../../domain/text/hidden-secrets.ts';
import { createLru } from '../../domain/text/plain-data.ts';
import { printable } from '../../domain/text/printable.ts';
import { codeOf, connectionFault, unknownAuthority } from '../../domain/text/errors.ts';

export type WireRequest = {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A longer answer is an error. */
  readonly maxBytes: number;
};

export type WireAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Address of the answer after a redirect to another host. */
  readonly elsewhere?: URL;
  /** Makes a text of the answer safe to show: hides each secret that was sent. */
  readonly showable: (words: string) => string;
};

/** One request, one whole answer. Throws a `HttpFailure` if there is none. */
export type Exchange = (request: WireRequest, signal?: AbortSignal) => Promise<WireAnswer>;

type ExchangeOptions = {
  /** Time limit from connecting to the last byte. */
  readonly deadlineMs: number;
  readonly userAgent: string;
  readonly sent: SentSecrets;
};

/** Redirects are returned like other answers. */
export function createExchange(agents: Agents, options: ExchangeOptions): Exchange {
  const context: ExchangeContext = { ...options, inTurn: createTickBatches(Infinity) };
  return async function exchange(request, signal) {
    const { url } = request;
    try {
      for (let tries = 0; tries < maxStaleConnections; tries += 1) {
        const route = await orAborted(agents.routeTo(url), signal);
        const answer = await attempt(route, request, context, signal);
        if (answer !== 'stale') return answer;
      }
      throw new HttpFailure('unreachable', 'it closes every connection', {
        host: url.host,
        isTransient: true,
      });
    } catch (error) {
      if (error instanceof HttpFailure && isTlsError(error)) agents.forget(url);
      throw error;
    }
  };
}

/** Answers that arrived in the same tick continue together. */
type ExchangeContext = ExchangeOptions & { readonly inTurn: TickBatches };

/** The server may close a kept connection at the moment of its use, and several after its restart. */
const maxStaleConnections = 3;

function attempt(
  route: Route,
  wanted: WireRequest,
  { deadlineMs, userAgent, sent, inTurn }: ExchangeContext,
  signal: AbortSignal | undefined,
): Promise<WireAnswer | 'stale'> {
  const { url, method, headers, body, maxBytes } = wanted;
  // The user name of a URL is not sent, because it is not from the configuration.
  const path = url.pathname + url.search;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return void reject(abortReasonOf(signal));
    let hasAnswered = false;
    const sentHeaders = { ...route.proxyHeaders, ...headers };
    sent.note(sentHeaders, body);
    const request = route.request({
      ...route.options,
      method,
      path: route.proxyHeaders === undefined ? path : url.origin + path,
      headers: { host: url.host, 'user-agent': userAgent, ...sentHeaders },
    });
    const abort = (): void => fail(abortReasonOf(signal));
    const timer = setTimeout(() => fail(timedOut(url.host, deadlineMs)), deadlineMs);
    signal?.addEventListener('abort', abort, { once: true });

    request.on('response', (response) => {
      hasAnswered = true;
      const finish = (read: Buffer): void => {
        const { statusCode: status = 0, headers: received } = response;
        succeed({ status, headers: received, body: read, showable: sent.showable });
      };
      collect(response, maxBytes, finish, (error) => fail(readNetworkError(error, url.host)));
    });
    request.on('error', (error) => {
      if (request.reusedSocket && !hasAnswered && isClosed(error)) succeed('stale');
      else fail(readNetworkError(error, url.host));
    });
    request.end(body);

    function succeed(answer: WireAnswer | 'stale'): void {
      settle();
      inTurn(() => resolve(answer));
    }

    function fail(error: Error): void {
      settle();
      reject(error);
      request.destroy();
    }

    function settle(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  });
}

function isClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

function timedOut(host: string, deadlineMs: number): HttpFailure {
  return new HttpFailure('timeout', `it did not answer within ${formatDuration(deadlineMs)}`, { host });
}

function collect(
  response: IncomingMessage,
  maxBytes: number,
  finish: (body: Buffer) => void,
  fail: (error: Error) => void,
): void {
  const { add, bytes } = collectBytes();
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxBytes) add(chunk);
    else fail(new HttpFailure('invalid', `it answered with more than ${maxBytes} bytes`));
  });
  response.on('end', () => finish(bytes()));
  response.on('error', fail);
}

/**
 * An exchange that follows redirects of GET and HEAD: at most five, never from https to http, and without our
 * credentials after a change of host. Registries redirect to their stores:
 * https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-blobs
 */
export function followingRedirects(exchange: Exchange): Exchange {
  return async function follow(wanted, signal) {
    let request = wanted;
    for (let hops = 0; hops <= maxRedirects; hops += 1) {
      const answer = await exchange(request, signal);
      const target = redirectOf(request, answer);
      if (target === undefined)
        return request.url.host === wanted.url.host ? answer : { ...answer, elsewhere: request.url };
      request = redirected(request, target);
    }
    throw refuse(wanted, `it redirects more than ${maxRedirects} times`);
  };
}

const maxRedirects = 5;

/** 303 requests a GET, so the method does not change. Redirects of POST are not followed: only token servers get it. */
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirectOf(request: WireRequest, { status, headers, showable }: WireAnswer): URL | undefined {
  if (!redirects.has(status) || headers.location === undefined || request.method === 'POST') return undefined;
  const { location } = headers;
  if (!URL.canParse(location, request.url.href)) throw refuse(request, `it redirects to "${showable(cut(location))}"`);
  const target = new URL(location, request.url.href);
  if (target.protocol === 'https:' || (target.protocol === 'http:' && request.url.protocol === 'http:')) return target;
  throw refuse(request, `it redirects from ${request.url.protocol} to ${showable(cut(target.protocol))}`);
}

function redirected(request: WireRequest, url: URL): WireRequest {
  if (url.origin === request.url.origin) return { ...request, url };
  const { authorization: _, ...headers } = request.headers;
  return { ...request, url, headers };
}

function refuse({ url }: WireRequest, why: string): HttpFailure {
  return new HttpFailure('invalid', why, { host: url.host });
}

/** Logins and tokens that were sent to servers. No message may quote them from an answer. */
type SentSecrets = {
  readonly note: (headers: Readonly<Record<string, unknown>>, body: string | undefined) => void;
  /**
   * The text of a server, with `***` for each secret. Secrets of other hosts count as well, because two hosts may be one
   * server.
   */
  readonly showable: (words: string) => string;
};

export function createSentSecrets(): SentSecrets {
  const noted = createLru<readonly string[]>(maxNoted);
  return {
    note(headers, body) {
      for (const [name, value] of Object.entries(headers)) {
        if (typeof value === 'string' && /authorization$/i.test(name) && noted.get(value) === undefined)
          noted.set(value, secretsOf(value));
      }
      for (const [name, value] of new URLSearchParams(body)) if (secretFields.has(name)) noted.set(value, [value]);
    },
    showable: (words) => withoutSecrets(words, [...noted.values()].flat()),
  };
}

/** Of the forms of OAuth 2.0: https://www.rfc-editor.org/rfc/rfc6749, https://www.rfc-editor.org/rfc/rfc7636 */
const secretFields: ReadonlySet<string> = new Set(['refresh_token', 'client_secret', 'code', 'code_verifier']);

/** Enough for a token of each repository, and the logins. Above it, the oldest are dropped; they have expired. */
const maxNoted = 1000;

/** The header's text after the scheme; for `Basic` also the password. */
function secretsOf(header: string): readonly string[] {
  const shown = header.replace(/^\S+ /, '');
  if (!/^basic /i.test(header)) return [shown];
  const login = Buffer.from(shown, 'base64').toString();
  return [shown, login.slice(login.indexOf(':') + 1)];
}

/** Bytes in one buffer that grows. */
type CollectedBytes = {
  readonly add: (chunk: Uint8Array) => void;
  readonly bytes: () => Buffer;
};

/** Copies the chunks, because a list of them takes 200 bytes for each chunk, and a server may send chunks of one byte. */
export function collectBytes(): CollectedBytes {
  let room = Buffer.alloc(0);
  let length = 0;
  return {
    add(chunk) {
      const needed = length + chunk.length;
      if (needed > room.length) {
        const larger = Buffer.allocUnsafe(Math.max(needed, 2 * room.length));
        room.copy(larger, 0, 0, length);
        room = larger;
      }
      room.set(chunk, length);
      length = needed;
    },
    bytes: () => room.subarray(0, length),
  };
}

/** Calls back in the next turn of the event loop. */
type TickBatches = (go: () => void) => void;

/**
 * Starts at most `places` functions per tick of the event loop. All at once would delay the first one; one per tick
 * would wake the network each time. Without batches, checks take a quarter more CPU time (test/bench/check.bench.ts).
 */
export function createTickBatches(places: number): TickBatches {
  let due: (() => void)[] = [];
  return (go) => {
    if (due.length === 0 || due.length === places) {
      const turn: (() => void)[] = [];
      due = turn;
      setImmediate(() => {
        if (due === turn) due = [];
        for (const next of turn) next();
      });
    }
    due.push(go);
  };
}

/** A server did not answer as it should. The message has only the reason; who asked adds the object and the action. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  readonly code: FailureCode;
  /** The host that failed; undefined: the host of the request. */
  readonly host: string | undefined;
  readonly remedy: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** True if the same request is likely to succeed soon. */
  readonly isTransient: boolean;

  constructor(code: FailureCode, why: string, details: FailureDetails = {}) {
    super(why, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.host = details.host;
    this.remedy = details.remedy;
    this.retryAfterMs = details.retryAfterMs;
    this.isTransient = details.isTransient ?? false;
  }
}

type FailureCode = 'unreachable' | 'timeout' | 'denied' | 'not-found' | 'rate-limited' | 'invalid';

type FailureDetails = {
  readonly host?: string | undefined;
  readonly remedy?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly isTransient?: boolean;
  readonly cause?: unknown;
};

/** Untrusted text for a message: at most 200 printable characters. */
export function cut(text: string): string {
  return printable(text.trim(), 200);
}

/** Translates Node's connection error into a message with a remedy for a registry. */
export function readNetworkError(error: unknown, host: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const { kind, why } = connectionFaultOf(error);
  return new HttpFailure(kind === 'not-http' ? 'invalid' : 'unreachable', why, {
    host,
    remedy: remedies[kind]?.replace('HOST', host),
    isTransient: ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'].includes(codeOf(error)),
    cause: error,
  });
}

const remedies: Readonly<Record<ConnectionFault['kind'], string | undefined>> = {
  'unknown-authority':
    'put the certificate of its authority into /etc/docker/certs.d/HOST/ca.crt, or name it with --registry-ca',
  'wrong-clock': "check this machine's clock",
  'client-certificate': 'put client.cert and client.key into /etc/docker/certs.d/HOST',
  'not-http': undefined,
  'no-tls': "if it is meant to speak plain HTTP, add HOST to the engine's insecure-registries",
  other: undefined,
};

/** Why a connection failed. The words suit every server; the remedy depends on its kind and on who asked. */
export type ConnectionFault = {
  readonly kind: 'unknown-authority' | 'wrong-clock' | 'client-certificate' | 'not-http' | 'no-tls' | 'other';
  readonly why: string;
};

/** Reads an error of Node's client for HTTP. */
export function connectionFaultOf(error: unknown): ConnectionFault {
  const code = codeOf(error);
  const why = connectionFault(code === 'EPIPE' ? 'ECONNRESET' : code);
  if (why === unknownAuthority) return { kind: 'unknown-authority', why };
  if (why !== undefined) return { kind: code === 'CERT_NOT_YET_VALID' ? 'wrong-clock' : 'other', why };
  if (code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
    return { kind: 'client-certificate', why: 'it requires a client certificate' };
  if (code.startsWith('HPE_')) return { kind: 'not-http', why: 'its answer is not HTTP' };
  if (isTlsMismatch(error)) return { kind: 'no-tls', why: 'it does not speak TLS' };
  if (/SSL|TLS|EPROTO/.test(code)) return { kind: 'other', why: `the TLS handshake failed (${cut(code)})` };
  return { kind: 'other', why: `the connection failed (${cut(code === '' ? String(error) : code)})` };
}

/** True if the failure concerns TLS. Certificates may change while the service runs. */
function isTlsError(failure: HttpFailure): boolean {
  return /CERT|SSL|TLS|EPROTO|ISSUER|SIGNATURE/.test(codeOf(failure.cause));
}

/** True if a TLS handshake failed because the server does not speak TLS. */
export function isTlsMismatch(error: unknown): boolean {
  const cause = error instanceof HttpFailure ? error.cause : error;
  return cause instanceof Error && /wrong version number|packet length too long/i.test(cause.message);
}

/**
 * The pause that a field `Retry-After` requests, in milliseconds: in seconds, with a fraction from Discord, or as a
 * date; undefined without a readable one. https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3
 */
export function readRetryAfter(field: string | undefined, nowMs: number): number | undefined {
  const text = field?.trim() ?? '';
  if (/^\d{1,12}(?:\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const dateMs = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
