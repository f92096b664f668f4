import { ServiceError } from '../../../domain/text/errors.ts';
import { maxAnswerBytes, readAnswer, readJson, type EngineError } from '../transport/answer.ts';
import { errorPatterns } from './capabilities.ts';
import type { Client, Query } from '../transport/client.ts';
import { fields, text } from '../transport/json-fields.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import type { EngineResponse } from '../transport/request.ts';

export type Read = {
  /** The failed action in a message: `inspect the container "web"`. */
  readonly doing: string;
  readonly path: string;
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
};

/** The JSON of a `GET`. Undefined when the engine reports that the object does not exist. Throws a `ServiceError`. */
export async function read(client: Client, request: Read): Promise<unknown> {
  const body = await get(client, request);
  return body && (await readJson(body, maxAnswerBytes, request.doing));
}

/** The body of the answer to a `GET`. Undefined and throws as for `read`. */
export async function get(
  client: Client,
  { doing, path, query = {}, signal }: Read,
  send = client.send,
): Promise<EngineResponse['body'] | undefined> {
  const patience = { for: 'whole', ms: client.deadlines.readMs } as const;
  const ask = () => send({ method: 'GET', path, query, socket: 'shared', patience, signal });
  let reply = await ask();
  if (reply.kind === 'error' && errorPatterns.processEnded.test(reply.message)) reply = await ask();
  if (reply.kind === 'ok') return reply.body;
  if (isNotFound(reply)) return undefined;
  throw refusal(doing, reply);
}

/** A 404 of a proxy or another server does not mean that the container no longer exists. */
export function isNotFound({ status, message, fromEngine }: EngineError): boolean {
  return fromEngine && (status === 404 || (status === 500 && errorPatterns.absent.test(message)));
}

/** Like `read`, for objects that always exist. */
export async function readExisting(client: Client, request: Read): Promise<unknown> {
  const answer = await read(client, request);
  if (answer === undefined) throw refusal(request.doing, notFound);
  return answer;
}

const notFound: EngineError = { status: 404, message: 'not found', fromEngine: true, isForbidden: false };

/** Like `read`, for an object with an id. */
export async function readInspected(client: Client, request: Read): Promise<JsonObject | undefined> {
  const answer = await read(client, request);
  if (answer === undefined) return undefined;
  if (text(fields(answer)['Id']) === '') throw unexpectedAnswer(request.doing, 'an object with an id');
  return fields(answer);
}

/**
 * Sends a ping on its own connection, without waiting for the API version. Where a proxy forbids it, the cheapest call
 * that everything else needs shows the same.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemPing
 */
export async function ping(client: Client, signal?: AbortSignal): Promise<void> {
  const patience = { for: 'whole', ms: client.deadlines.readMs } as const;
  const call = { method: 'GET', socket: 'own', patience, signal } as const;
  let reply = await client.sendUnversioned({ ...call, path: '/_ping' });
  if (reply.kind === 'error' && reply.isForbidden) {
    const filters = JSON.stringify({ id: ['0'.repeat(64)] });
    reply = await client.send({ ...call, path: '/containers/json', query: { filters } });
  }
  if (reply.kind === 'error') throw refusal('reach the engine', reply);
  await readAnswer(reply.body);
}

export function unexpectedAnswer(doing: string, wanted: string): ServiceError {
  return new ServiceError('engine-refused', `Cannot ${doing}: the engine's answer is not ${wanted}`, {
    remedy: 'Check --host (DOCKER_HOST): another program may answer there',
  });
}

export function refusal(doing: string, { status, message, fromEngine, isForbidden }: EngineError): ServiceError {
  if (isForbidden || status === 401 || status === 403) {
    const why = fromEngine ? `the engine forbids it: ${status}, "${message}"` : message;
    return new ServiceError('engine-denied', `Cannot ${doing}: ${why}`, { remedy: allowIt });
  }
  if (status === 502 || status === 504 || (status === 503 && (!fromEngine || /^service unavailable/i.test(message)))) {
    const why = `the proxy before it cannot reach it (${status}, "${message}")`;
    return new ServiceError('engine-unreachable', `Cannot ${doing}: ${why}`, { remedy: awaitIt });
  }
  return new ServiceError('engine-refused', `Cannot ${doing}: the engine answered ${status}, "${message}"`);
}

const awaitIt = 'Check the engine and the proxy before it';

/** The remedy for a forbidden call. */
export const allowIt = 'Allow this call in the proxy before the engine: docs/engines.md lists the calls of Upkeep';
