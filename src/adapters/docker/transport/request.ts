import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Connection, SocketKind } from './connection.ts';
import { startDeadline, type Deadline } from './deadline.ts';
import { EngineFailure, explain, type Explained } from './failure.ts';

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
  readonly patience: TimeLimit;
  readonly signal?: AbortSignal | undefined;
};

/** The scope of the limit: the whole exchange, the silence between two pieces of the answer, or the wait for its head. */
export type TimeLimit = { readonly for: 'whole' | 'silence' | 'head'; readonly ms: number };

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
  const { socket, patience, signal } = request;
  const endTurn = connection.takeTurn && (await connection.takeTurn({ socket, ms: patience.ms, signal }));
  const exchange = startExchange(connection, clock, request, endTurn);
  try {
    const response = await exchange.response;
    if (request.patience.for === 'head') exchange.deadline.end();
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: readBody(response, exchange, request.patience),
    };
  } catch (error) {
    exchange.end();
    throw exchange.failure(error);
  }
}

async function* readBody(
  response: IncomingMessage,
  exchange: Exchange,
  patience: TimeLimit,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    const chunks: AsyncIterable<Uint8Array> = response;
    for await (const chunk of chunks) {
      if (patience.for === 'silence') exchange.deadline.extend();
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
  const { signal, patience } = request;
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
  const deadline = startDeadline(clock, patience.ms, breakOff);
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
      if (deadline.passed()) return new EngineFailure(timedOut(patience), state);
      if (connection.closed()) return new EngineFailure(closed, state);
      return new EngineFailure(explain(error), { ...state, stale: message.reusedSocket && !answered });
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

function timedOut(patience: TimeLimit): Explained {
  const what = patience.for === 'silence' ? 'it has been silent' : 'it has not answered';
  return {
    code: 'timeout',
    why: `${what} for ${patience.ms / 1000} s`,
    remedy: 'Check the load and the log of the engine',
  };
}

const closed: Explained = {
  code: 'engine-unreachable',
  why: 'the connection has been closed',
  remedy: 'Start the service again',
};
