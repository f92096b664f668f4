import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { formatDuration } from '../../../domain/text/duration.ts';
import type { Agents, Route } from './agents.ts';
import { collectBytes } from './collected-bytes.ts';
import { RegistryFailure } from './failure.ts';
import { isTlsError, readNetworkError } from './network-errors.ts';
import type { SentSecrets } from './sent-secrets.ts';
import { createTickBatches, type TickBatches } from '../async/tick-batches.ts';
import { abortReasonOf, orAborted } from '../../../domain/concurrency.ts';

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
  /** Makes a text of the answer safe to show: replaces it if it repeats a secret that was sent. */
  readonly showable: (words: string) => string;
};

/** One request, one whole answer. Throws a `RegistryFailure` if there is none. */
export type Exchange = (request: WireRequest, signal?: AbortSignal) => Promise<WireAnswer>;

export type ExchangeOptions = {
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
      throw new RegistryFailure('unreachable', 'it closes every connection', {
        host: url.host,
        isTransient: true,
      });
    } catch (error) {
      if (error instanceof RegistryFailure && isTlsError(error)) agents.forget(url);
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

function timedOut(host: string, deadlineMs: number): RegistryFailure {
  return new RegistryFailure('timeout', `it did not answer within ${formatDuration(deadlineMs)}`, { host });
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
    else fail(new RegistryFailure('invalid', `it answered with more than ${maxBytes} bytes`));
  });
  response.on('end', () => finish(bytes()));
  response.on('error', fail);
}
