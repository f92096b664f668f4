import { formatDuration } from '../../../domain/text/duration.ts';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Connection, SocketKind } from './connection.ts';
import { ServiceError, codeOf, type ErrorCode } from '../../../domain/text/errors.ts';
import { printable } from '../../../domain/text/printable.ts';

export type EngineRequest = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** With version and query. */
  readonly path: string;
  readonly body?: unknown;
  /** JSON that is sent unchanged instead of `body`. */
  readonly json?: string | undefined;
  /** A tar archive that is sent instead of `body`. */
  readonly archive?: Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly socket: SocketKind;
  readonly timeLimit: TimeLimit;
  readonly signal?: AbortSignal | undefined;
};

/** The scope of the limit: the whole exchange, the silence between two pieces of the answer, or the wait for its head. */
type TimeLimit = { readonly for: 'whole' | 'silence' | 'head'; readonly ms: number };

/** Read the body to its end, or leave the loop with `break`: the socket stays in use until then. */
export type EngineResponse = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncGenerator<Uint8Array, void, undefined>;
};

/** One HTTP exchange. Throws an `EngineFailure`, or the signal's reason; so does reading the body. */
export async function sendRequest(
  connection: Connection,
  clock: Clock,
  request: EngineRequest,
): Promise<EngineResponse> {
  const { socket, timeLimit, signal } = request;
  const endTurn = connection.takeTurn && (await connection.takeTurn({ socket, ms: timeLimit.ms, signal }));
  const exchange = startExchange(connection, clock, request, endTurn);
  try {
    const response = await exchange.response;
    if (request.timeLimit.for === 'head') exchange.deadline.end();
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: readBody(response, exchange, request.timeLimit),
    };
  } catch (error) {
    exchange.end();
    throw exchange.failure(error);
  }
}

async function* readBody(
  response: IncomingMessage,
  exchange: Exchange,
  timeLimit: TimeLimit,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    const chunks: AsyncIterable<Uint8Array> = response;
    for await (const chunk of chunks) {
      if (timeLimit.for === 'silence') exchange.deadline.extend();
      yield chunk;
    }
  } catch (error) {
    throw exchange.failure(error);
  } finally {
    exchange.end();
  }
}

type Exchange = {
  readonly response: Promise<IncomingMessage>;
  readonly deadline: Deadline;
  readonly end: () => void;
  /** The real cause of a failure. An aborted request fails with a meaningless error. */
  readonly failure: (error: unknown) => unknown;
};

function startExchange(
  connection: Connection,
  clock: Clock,
  request: EngineRequest,
  endTurn: () => void = () => undefined,
): Exchange {
  const { signal, timeLimit } = request;
  if (signal?.aborted || connection.closed()) {
    endTurn();
    signal?.throwIfAborted();
    throw new EngineFailure(closed, { host: connection.address.text, sent: false });
  }
  const json = request.json ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const payload = request.archive ?? (json === undefined ? undefined : Buffer.from(json));
  const type = request.archive === undefined ? 'application/json' : 'application/x-tar';
  const head = {
    method: request.method,
    path: request.path,
    headers: {
      ...request.headers,
      ...(payload && { 'content-type': type, 'content-length': payload.length }),
    },
    socket: request.socket,
  };
  const { message, ended } = connection.request(head, breakOff);
  const deadline = startDeadline(clock, timeLimit.ms, breakOff);
  const wasSent = watchSocket(message);
  let answered = false;
  let giveUp: (error: Error) => void = () => undefined;
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    giveUp = reject;
    message.once('response', (answer) => {
      answered = true;
      resolve(answer);
    });
    // The listener stays, because errors may also follow the head of the answer.
    message.on('error', reject);
  });
  signal?.addEventListener('abort', breakOff, { once: true });
  message.end(payload);

  /** `destroy` alone emits no error while the request waits for a socket. */
  function breakOff(): void {
    message.destroy();
    giveUp(new Error('broken off'));
  }

  return {
    response,
    deadline,
    end() {
      deadline.end();
      ended();
      endTurn();
      signal?.removeEventListener('abort', breakOff);
    },
    failure(error) {
      if (signal?.aborted) return signal.reason as unknown;
      const state = { host: connection.address.text, sent: wasSent(), cause: error };
      if (deadline.passed()) return new EngineFailure(timedOut(timeLimit), state);
      if (connection.closed()) return new EngineFailure(closed, state);
      const stale = message.reusedSocket && !answered;
      const sent = state.sent && !(stale && connection.wasUnread(error));
      return new EngineFailure(explain(error), { ...state, sent, stale });
    },
  };
}

/** Reports whether the connection was established. A failure before that certainly had no effect. */
function watchSocket(message: ClientRequest): () => boolean {
  let sent = false;
  message.once('socket', (socket) => {
    if (!socket.connecting) sent = true;
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => (sent = true));
  });
  return () => sent;
}

function timedOut(timeLimit: TimeLimit): Explained {
  const what = timeLimit.for === 'silence' ? 'it sent nothing' : 'it has not answered';
  return {
    code: 'timeout',
    why: `${what} for ${formatDuration(timeLimit.ms)}`,
    remedy: 'Check the load and the log of the engine',
  };
}

const closed: Explained = {
  code: 'engine-unreachable',
  why: 'the connection has been closed',
  remedy: 'Start the service again',
};

/** A limit on a wait. */
export type Deadline = {
  /** Restarts the time, for a limit on silence instead of the whole exchange. */
  readonly extend: () => void;
  readonly end: () => void;
  readonly passed: () => boolean;
};

/**
 * Calls `onPassed` once when `ms` have passed since the start or the last `extend()`, unless `end()` was called before.
 */
export function startDeadline(clock: Clock, ms: number, onPassed: () => void): Deadline {
  const ended = new AbortController();
  let sinceMs = clock.monotonicMs();
  let passed = false;

  async function run(): Promise<void> {
    for (let remainingMs = ms; remainingMs > 0; remainingMs = sinceMs + ms - clock.monotonicMs()) {
      await clock.sleep(remainingMs, ended.signal);
    }
    passed = true;
    onPassed();
  }

  run().catch(ignoreEnd);
  return {
    extend: () => {
      sinceMs = clock.monotonicMs();
    },
    end: () => ended.abort(theEnd),
    passed: () => passed,
  };
}

/** Shared by all deadlines: each new error costs a stack trace. */
const theEnd = new Error('the deadline was ended');

/** Only the end of a deadline rejects its sleep. */
function ignoreEnd(): void {}

/** Time limits for answers of the engine, in milliseconds. */
export type Deadlines = {
  /** For a whole answer to a read. A list of 3,000 containers takes 0.2 s on a slow machine. */
  readonly readMs: number;
  /**
   * For create, start, rename and similar calls. A volume driver or a full disk can make them slow. A shorter limit
   * would only cause more "unknown" outcomes.
   */
  readonly changeMs: number;
  /** Time after a container's own stop timeout, for the kill and the engine's cleanup. */
  readonly stopMarginMs: number;
  /** For a removal that another client began. */
  readonly removalMs: number;
  /** Silence during a pull. The engine reports progress several times a second. */
  readonly pullSilenceMs: number;
};

export const defaultDeadlines: Deadlines = {
  readMs: 30_000,
  changeMs: 120_000,
  stopMarginMs: 15_000,
  removalMs: 60_000,
  pullSilenceMs: 600_000,
};

/**
 * A call without an answer of the engine. `sent` is false only if the engine cannot have read the whole request; the
 * call then had no effect. `stale` is true when a kept connection was closed.
 */
export class EngineFailure extends ServiceError {
  /** The message without "Cannot reach …", for a message about another action. */
  readonly why: string;
  readonly sent: boolean;
  readonly stale: boolean;

  constructor(
    explained: Explained,
    state: { readonly host: string; readonly sent: boolean; readonly stale?: boolean; readonly cause?: unknown },
  ) {
    super(explained.code, `Cannot reach the container engine at "${state.host}": ${explained.why}`, {
      remedy: explained.remedy,
      cause: state.cause,
    });
    this.why = explained.why;
    this.sent = state.sent;
    this.stale = state.stale ?? false;
  }
}

export type Explained = { readonly code: ErrorCode; readonly why: string; readonly remedy: string };

/** The cause of a failed connection, with a remedy. */
export function explain(error: unknown): Explained {
  const code = codeOf(error);
  const errorText = printable(error instanceof Error ? error.message : String(error), 1_000);
  if (code === sshFailed) return { code: 'engine-unreachable', why: errorText, remedy: checkSsh };
  const known = explanations.find((row) => row.codes.test(code));
  if (!known) return { code: 'engine-unreachable', why: errorText, remedy: checkHost };
  return { code: known.code ?? 'engine-unreachable', why: `${known.why} (${code})`, remedy: known.remedy };
}

/** The `code` of an error whose message ends with the output of `ssh`. */
export const sshFailed = 'ERR_SSH';

const startOrMount =
  'Start the engine, mount its socket (-v /var/run/docker.sock:/var/run/docker.sock) when this runs in a container, or name another engine with --host';
const joinGroup =
  'Run as root, join the group that owns the socket (often "docker"), or mount the socket with the right owner; with userns-remap in the engine, give the container --userns host (userns_mode: host)';
const checkHost = 'Check --host (DOCKER_HOST) and that the engine runs';
const checkTls = 'Check --tlsverify and the certificates (ca.pem, cert.pem, key.pem) in --cert-path';
const omitTls = 'Leave --tlsverify out, or use the port that speaks TLS (usually 2376)';
const checkSsh = 'Make "ssh <host> docker version" work without a prompt, as the user of this process';

type Row = { readonly codes: RegExp; readonly code?: ErrorCode; readonly why: string; readonly remedy: string };

/** First match wins. Codes: https://nodejs.org/api/errors.html and https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const explanations: readonly Row[] = [
  { codes: /^ENOENT$/, why: 'there is no such socket', remedy: startOrMount },
  { codes: /^ECONNREFUSED$/, why: 'nothing listens there', remedy: startOrMount },
  { codes: /^(EACCES|EPERM)$/, code: 'engine-denied', why: 'this user may not use the socket', remedy: joinGroup },
  { codes: /^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, why: 'the host name is unknown', remedy: checkHost },
  { codes: /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/, why: 'the host does not answer', remedy: checkHost },
  { codes: /^ERR_TLS_CERT_ALTNAME_INVALID$/, why: 'its certificate is for another host', remedy: checkTls },
  { codes: /^CERT_HAS_EXPIRED$/, why: 'its certificate has expired', remedy: checkTls },
  { codes: /CERT|SIGNATURE|ISSUER/, why: 'the certificates do not fit', remedy: checkTls },
  {
    codes: /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|^EPROTO$/,
    why: 'it does not speak TLS there',
    remedy: omitTls,
  },
  { codes: /^ERR_(SSL|TLS|OSSL)_/, why: 'TLS failed', remedy: checkTls },
  { codes: /^HPE_/, why: 'the server there does not speak HTTP', remedy: checkHost },
  { codes: /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/, why: 'the connection broke off', remedy: checkHost },
];
