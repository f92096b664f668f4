import * as http from 'node:http';
import * as https from 'node:https';
import type { SecureContext } from 'node:tls';
import { readNetworkError } from '../../http/exchange.ts';
import { proxyAuthorization, createTunnelAgent } from '../../http/agents.ts';
import type { SendFailure } from '../../../domain/notification/message.ts';

export type HttpRequest = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether any certificate is accepted. */
  readonly skipsVerification?: boolean;
};

export type HttpAnswer = {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** At most its first 64 kB. */
  readonly body: string;
};

/** One request, one answer. Throws `Refused` without an answer. Follows redirects only within the same host and port. */
export type Exchange = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>;

export type ExchangeOptions = {
  readonly version: string;
  /** The proxy for a URL from the environment variables; undefined: none. */
  readonly proxyFor: (url: URL) => URL | undefined;
  /** Authorities that a host's certificate is checked against. */
  readonly contextFor: (host: string) => Promise<SecureContext>;
};

/** Messages cause a few requests a day, so no connection is kept. */
export function createExchange(options: ExchangeOptions): Exchange {
  return async function exchange(request, signal) {
    for (let { url } = request, hops = 0; ; hops += 1) {
      const answer = await attempt({ ...request, url }, options, signal);
      if (!redirects.includes(answer.status) || answer.headers.location === undefined) return answer;
      if (hops === maxHops) throw new Refused('rejected', 'it redirects too often');
      url = redirectedTo(url, answer.headers.location);
    }
  };
}

/**
 * 303 asks for another method, so it is treated as a final answer:
 * https://www.rfc-editor.org/rfc/rfc9110.html#section-15.4
 */
const redirects = [301, 302, 307, 308];
const maxHops = 3;

/** URL, headers and body are credentials: they stay on their host and port, and with their scheme. */
function redirectedTo(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href)) throw new Refused('rejected', 'it redirects to an invalid address');
  const to = new URL(location, from);
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new Refused('rejected', 'it redirects from https to http, which is not followed');
  if (to.hostname !== from.hostname || !/^https?:$/.test(to.protocol))
    throw new Refused('rejected', 'it redirects to another host, which is not followed; give the address of that host');
  if (to.origin !== from.origin)
    throw new Refused('rejected', 'it redirects to another port, which is not followed; give that address');
  return to;
}

async function attempt(wanted: HttpRequest, options: ExchangeOptions, signal: AbortSignal): Promise<HttpAnswer> {
  const { url, method, headers, body } = wanted;
  const proxy = options.proxyFor(url);
  const route = url.protocol === 'https:' ? await secureRoute(wanted, proxy, options) : plainRoute(url, proxy);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const { send, path = url.pathname + url.search, proxyHeaders, ...address } = route;
    const request = send({
      ...address,
      method,
      path,
      signal,
      headers: {
        host: url.host,
        'user-agent': `upkeep/${options.version}`,
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        ...proxyHeaders,
        ...headers,
      },
    });
    const fail = (error: unknown): void =>
      reject(
        signal.aborted ? (signal.reason as Error) : new Refused('network', readNetworkError(error, url.host).message),
      );
    request.on('error', fail);
    request.on('response', (response) => void readAnswer(response).then(resolve, fail));
    request.end(body);
  });
}

/** As in the client for registries: Node's default of 250 ms is too short for a distant address. */
const agentOptions = { autoSelectFamilyAttemptTimeout: 1000 };

type Route = {
  readonly send: (options: https.RequestOptions) => http.ClientRequest;
  readonly agent: http.Agent;
  readonly host: string;
  readonly port: string;
  /** The whole URL, for requests through a proxy. */
  readonly path?: string;
  readonly proxyHeaders?: Readonly<Record<string, string>>;
};

async function secureRoute(
  { url, skipsVerification = false }: HttpRequest,
  proxy: URL | undefined,
  { contextFor }: ExchangeOptions,
): Promise<Route> {
  const secureContext = await contextFor(url.host);
  const secure = { secureContext, rejectUnauthorized: !skipsVerification, ...agentOptions };
  const agent = proxy === undefined ? new https.Agent(secure) : createTunnelAgent(proxy, tunnelMs, secure);
  return { send: https.request, agent, ...addressOf(url) };
}

/** The deadline of the message is not longer. */
const tunnelMs = 10_000;

function plainRoute(url: URL, proxy: URL | undefined): Route {
  const { Agent, request: send } = proxy?.protocol === 'https:' ? https : http;
  const agent = new Agent(agentOptions);
  if (proxy === undefined) return { send, agent, ...addressOf(url) };
  return { send, agent, ...addressOf(proxy), path: url.href, proxyHeaders: proxyAuthorization(proxy) };
}

function addressOf({ hostname, port, protocol }: URL): { readonly host: string; readonly port: string } {
  const usual = protocol === 'https:' ? '443' : '80';
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: port === '' ? usual : port };
}

async function readAnswer(response: http.IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // The end of the loop destroys the response.
    if (size >= maxBytes) break;
  }
  const body = Buffer.concat(chunks).subarray(0, maxBytes).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

const maxBytes = 65_536;

/**
 * A message was not accepted. `failure` decides about a retry, the error's message is Upkeep's text, and `said` is the
 * text of the service.
 */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly failure: SendFailure;
  /** May contain secrets. */
  readonly said: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    failure: SendFailure,
    why: string,
    details: { readonly said?: string; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(why);
    this.failure = failure;
    this.said = details.said ?? '';
    this.retryAfterMs = details.retryAfterMs;
  }
}
