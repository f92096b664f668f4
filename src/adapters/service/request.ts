import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { connectionFailure } from './failure.ts';

export type Call = {
  /** Without a trailing slash. */
  readonly base: string;
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
export function open({ base, path, headers, silenceMs, signal, method = 'GET', body }: Call): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = base.toLowerCase().startsWith('https:') ? requestTls : requestPlain;
    const type =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const options = { method, headers: { ...headers, ...type }, agent: false, signal, timeout: silenceMs };
    const made = send(`${base}${path}`, options);
    made.on('timeout', () => made.destroy(new Error('silence', { cause: 'silence' })));
    made.on('error', (error) => reject(signal.aborted ? signal.reason : connectionFailure(error, base)));
    made.on('response', resolve);
    made.end(body);
  });
}
