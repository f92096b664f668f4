import type { Clock, Log } from '../../domain/outside/outside.ts';
import type { JsonObject } from '../../domain/text/json.ts';
import type { RunningService } from '../../domain/run/event.ts';
import { connectionFailure, invalidAnswer } from './failure.ts';
import { follow } from './follow.ts';
import { open, readDocument, refuseFailure, type Call } from './request.ts';

export type ServiceClientOptions = {
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
