import { ServiceError } from '../../../domain/errors.ts';
import { megabyte, notJson, readText } from '../transport/answer.ts';
import type { Client } from '../transport/client.ts';
import { get, type Read } from '../reading/reads.ts';

/** An answer as text that is valid JSON. */
export type RawAnswer = { readonly text: string; readonly value: unknown };

/** A `GET` in the engine's newest version. Undefined when the object does not exist. Throws a `ServiceError`. */
export async function readRaw(client: Client, request: Read): Promise<RawAnswer | undefined> {
  const body = await get(client, request, client.sendInNewest);
  if (body === undefined) return undefined;
  const text = await readText(body, maxRawBytes, request.doing);
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
