import type { CallOutcome } from '../../../domain/outside/engine.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { readAnswer, type EngineError } from '../transport/answer.ts';
import type { Client, Query } from '../transport/client.ts';
import { EngineFailure } from '../transport/request.ts';
import { isNotFound } from './reads.ts';

export type Change = {
  readonly method?: 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly deadlineMs?: number;
  /** A missing object gives `noop` instead of `refused`, because the call has nothing to do. */
  readonly absentIsNoop?: boolean;
};

/** A call that changes state; `noop` for a 304. Sent again only if the engine cannot have read it. */
export async function change(client: Client, request: Change): Promise<CallOutcome> {
  const outcome = await changeAndRead(client, request);
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

export type ChangeAnswer = { readonly kind: 'done'; readonly answer: unknown } | Exclude<CallOutcome, { kind: 'done' }>;

type Failed = Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

/** Like `change`, with the engine's answer. */
export function changeAndRead(client: Client, request: Change): Promise<ChangeAnswer> {
  return outcomeOf(client, () => sendChange(client, request));
}

/** The outcome of a call. A call is not sent to an engine of unknown version. */
export async function outcomeOf<Outcome>(client: Client, send: () => Promise<Outcome>): Promise<Outcome | Failed> {
  try {
    await client.version();
  } catch (error) {
    return notSent(error);
  }
  try {
    return await send();
  } catch (error) {
    return thrownOutcome(error);
  }
}

async function sendChange(client: Client, request: Change): Promise<ChangeAnswer> {
  const { method = 'POST', path, query = {}, body, deadlineMs = client.deadlines.changeMs } = request;
  const patience = { for: 'whole', ms: deadlineMs } as const;
  const reply = await client.send({ method, path, query, body, socket: 'change', patience });
  if (reply.kind === 'error') return isNotFound(reply) && request.absentIsNoop ? { kind: 'noop' } : errorOutcome(reply);
  const answer = await readAnswer(reply.body);
  return reply.status === 304 ? { kind: 'noop' } : { kind: 'done', answer };
}

/** The outcome of a call that threw. An unsent call has changed nothing. Rethrows any error but a `ServiceError`. */
export function thrownOutcome(error: unknown): Failed {
  if (!(error instanceof ServiceError)) throw error;
  if (error instanceof EngineFailure && !error.sent) return notSent(error);
  return { kind: 'unknown', message: describeError(error) };
}

/**
 * The engine never answers 502 or 504. A proxy does if it lost the engine's answer. A forbidden call has one status,
 * because the 404 of a proxy does not mean that something is missing.
 */
export function errorOutcome({ status, message, isForbidden }: EngineError): Failed {
  if (status === 502 || status === 504) return { kind: 'unknown', message };
  if (isForbidden) return { kind: 'refused', status: 403, message, isForbidden };
  return { kind: 'refused', status, message };
}

/** No byte of the request reached the engine, so nothing has changed. */
function notSent(error: unknown): Failed {
  return { kind: 'refused', status: 503, message: describeError(error) };
}
