import { setMaxListeners } from 'node:events';
import { orAborted } from '../../../domain/concurrency/or-aborted.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { maxAnswerBytes, readAnswer, readError, readJson, type EngineError } from './answer.ts';
import type { Connection } from './connection.ts';
import type { Deadlines } from './deadline.ts';
import { EngineFailure } from './failure.ts';
import { createOmittedEntryWarning, type OmittedEntryWarning } from './omitted-entries.ts';
import { sendRequest, type EngineRequest, type EngineResponse } from './request.ts';
import { createNegotiation, notAnEngine, readPingHead, readVersion, type EngineVersion } from './version.ts';

/** Speaks HTTP with one engine, in the newest version that both sides support. */
export type Client = {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** True if the engine is reached over a socket of this host. */
  readonly isLocal: boolean;
  readonly version: (signal?: AbortSignal) => Promise<EngineVersion>;
  /** Throws a `ServiceError` (an `EngineFailure` when there was no answer), or the signal's reason. */
  readonly send: (call: Call) => Promise<Reply>;
  /**
   * Like `send`, in the engine's newest version, even if Upkeep does not know that version. For texts that are copied
   * unparsed: with an older version in the path the engine drops settings and answers 200.
   */
  readonly sendInNewest: (call: Call) => Promise<Reply>;
  readonly tellLeftOut: OmittedEntryWarning;
  /** The engine's clock by the head of its last answer, behind by a second at most. Undefined before the first one. */
  readonly engineNowMs: () => number | undefined;
  /** Like `send`, without a version in the path. For calls that every version answers alike. */
  readonly sendUnversioned: (call: Call) => Promise<Reply>;
};

export type Call = Omit<EngineRequest, 'path'> & {
  /** Without the version: `/containers/json`. */
  readonly path: string;
  readonly query?: Query;
};

export type Query = Readonly<Record<string, string | undefined>>;

export type Reply = { readonly headers: EngineResponse['headers'] } & (
  | { readonly kind: 'ok'; readonly status: number; readonly body: EngineResponse['body'] }
  | ({ readonly kind: 'error' } & EngineError)
);

export type ClientOptions = {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly pinnedVersion: string | undefined;
  readonly warn: (message: string) => void;
};

export function createClient({ connection, clock, deadlines, pinnedVersion, warn }: ClientOptions): Client {
  const host = connection.address.text;
  const briefly = { socket: 'own', patience: { for: 'whole', ms: deadlines.readMs } } as const;
  const negotiation = createNegotiation(askVersion);
  const warned = new Set<string>();
  let pinned = pinnedVersion;
  let engineClock: { readonly atMs: number; readonly notedMs: number } | undefined;

  function warnOnce(message: string): void {
    if (warned.has(message) || warned.size >= mostWarnings) return;
    warned.add(message);
    warn(message);
  }

  async function askVersion(): Promise<EngineVersion> {
    const call = { method: 'GET', path: '/version' } as const;
    const response = await sendRequest(connection, clock, { ...call, ...briefly });
    const options = { host, pinned, warn: warnOnce };
    if (response.status === 200) {
      const answer = await readJson(response.body, maxAnswerBytes).catch((cause: unknown) => {
        throw notAnEngine(host, cause);
      });
      return readVersion(answer, options);
    }
    const error = await readError(response, call);
    const answer = error.isForbidden ? await versionOfPing() : undefined;
    if (answer === undefined) throw refusedVersion(host, error);
    return readVersion(answer, options);
  }

  /** A proxy that forbids the question for the version may permit a ping, whose answer has it in its head. */
  async function versionOfPing(): Promise<object | undefined> {
    const { status, headers, body } = await sendRequest(connection, clock, {
      method: 'HEAD',
      path: '/_ping',
      ...briefly,
    });
    await readAnswer(body);
    return status === 200 ? readPingHead(headers) : undefined;
  }

  async function send(call: Call): Promise<Reply> {
    // The many listeners on one signal are not a leak: a check shares it among its calls.
    if (call.signal !== undefined) setMaxListeners(0, call.signal);
    const reply = await sendOnce(call);
    if (reply.kind === 'ok' || reply.status !== 400 || !versionRefused.test(reply.message)) return reply;
    // The engine rejected the version and changed nothing: it does not report its versions, or an older engine replaced
    // it.
    if (pinned !== undefined)
      warnOnce(`API version ${quoted(pinned, 20)} cannot be used: ${printable(reply.message, 300)}`);
    pinned = undefined;
    negotiation.forget();
    return await sendOnce(call);
  }

  async function sendOnce(call: Call): Promise<Reply> {
    const { apiVersion } = await version(call.signal);
    return await sendBelow(`/v${apiVersion}`, call);
  }

  async function sendInNewest(call: Call): Promise<Reply> {
    const { engineApiVersion } = await version(call.signal);
    return await sendBelow(`/v${engineApiVersion}`, call);
  }

  async function sendBelow(prefix: string, call: Call): Promise<Reply> {
    const response = await sendTo(`${prefix}${call.path}${queryOf(call.query)}`, call);
    const { status, headers, body } = response;
    negotiation.notice(String(headers['api-version'] ?? ''));
    if (status < 300) noteDate(headers.date);
    if (status < 300 || status === 304) return { kind: 'ok', status, headers, body };
    return { kind: 'error', headers, ...(await readError(response, call)) };
  }

  function noteDate(date: string | undefined): void {
    const atMs = Date.parse(date ?? '');
    if (!Number.isNaN(atMs)) engineClock = { atMs, notedMs: clock.monotonicMs() };
  }

  async function sendTo(path: string, call: Call): Promise<EngineResponse> {
    try {
      return await sendRequest(connection, clock, { ...call, path });
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error;
      if (error.stale && call.socket === 'shared')
        return await sendRequest(connection, clock, { ...call, path, socket: 'own' });
      negotiation.forget();
      throw error;
    }
  }

  function version(signal?: AbortSignal): Promise<EngineVersion> {
    return orAborted(negotiation.current(), signal);
  }

  return {
    clock,
    deadlines,
    version,
    send,
    sendInNewest,
    isLocal: connection.address.kind === 'unix',
    sendUnversioned: (call) => sendBelow('', call),
    engineNowMs: () => engineClock && engineClock.atMs + clock.monotonicMs() - engineClock.notedMs,
    tellLeftOut: createOmittedEntryWarning(warn),
  };
}

/** Different engines behind one address cause different warnings, because a warning names the versions. */
const mostWarnings = 10;

/** `client version 1.51 is too new. Maximum supported API version is 1.41` */
const versionRefused = /client version .{1,20} is too (?:new|old)/;

function queryOf(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  const written = parameters.toString();
  return written === '' ? '' : `?${written}`;
}

function refusedVersion(host: string, error: EngineError): ServiceError {
  if (error.isForbidden && error.status !== 404) {
    return new ServiceError(
      'engine-denied',
      `Cannot ask the container engine at "${host}" for its version: ${error.message}`,
      { remedy: 'Allow GET /version, or HEAD /_ping, in the proxy before the engine' },
    );
  }
  // Go's HTTPS server gives this answer to plain HTTP.
  if (error.message.includes('HTTP request to an HTTPS server')) {
    return new ServiceError('engine-unreachable', `Cannot reach the container engine at "${host}": it wants TLS`, {
      remedy: 'Give --tlsverify (DOCKER_TLS_VERIFY) and --cert-path (DOCKER_CERT_PATH)',
    });
  }
  return notAnEngine(host, error);
}
