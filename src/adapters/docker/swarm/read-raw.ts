import { ServiceError } from '../../../domain/errors.ts';
import { megabyte, notJson, readText } from '../transport/answer.ts';
import type { Client } from '../transport/client.ts';
import { isNotFound, type Read, refusal } from '../reading/reads.ts';

/** An answer as text that is valid JSON. */
export type RawAnswer = { readonly text: string; readonly value: unknown };

/** A `GET` in the engine's newest version. Undefined when the object does not exist. Throws a `ServiceError`. */
export async function readRaw(
  client: Client,
  { doing, path, query = {}, signal }: Read,
): Promise<RawAnswer | undefined> {
  const patience = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.sendInNewest({ method: 'GET', path, query, socket: 'shared', patience, signal });
  if (reply.kind === 'error') {
    if (isNotFound(reply)) return undefined;
    throw refusal(doing, reply);
  }
  const text = await readText(reply.body, maxRawBytes, doing);
  try {
    return { text, value: JSON.parse(text) };
  } catch (cause) {
    throw notJson(cause);
  }
}

/** Like `readRaw`, for a list. Throws if the list is missing. */
export async function readRawList(client: Client, request: Read): Promise<RawAnswer> {
  const answer = await readRaw(client, request);
  if (answer !== undefined && (answer.value === null || Array.isArray(answer.value))) return answer;
  throw new ServiceError('engine-refused', `Cannot ${request.doing}: the engine's answer is not a list`);
}

/** A service's entry is about 1 kB, a task's 3 kB: 20,000 tasks fit. */
const maxRawBytes = 64 * megabyte;
