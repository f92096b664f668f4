import type { IncomingMessage } from 'node:http';
import { isJsonObject, type JsonObject } from '../../domain/text/json-value.ts';
import { connectionFailure, notUpkeep, refusal } from './failure.ts';

type Asked = { readonly base: string; readonly path: string; readonly nowMs: number };

/** The document that a service answers with. Throws a `ServiceError` for anything else. */
export async function readDocument(response: IncomingMessage, asked: Asked): Promise<JsonObject> {
  await refuseFailure(response, asked);
  const document = parse(await readText(response, asked.base, largestDocument));
  if (document === undefined) throw notUpkeep(asked.base, `${asked.path} holds no document of its API`);
  return document;
}

/** Throws the reason for any status but success. */
export async function refuseFailure(response: IncomingMessage, { base, path, nowMs }: Asked): Promise<void> {
  const status = response.statusCode ?? 0;
  if (status === 200 || status === 201) return;
  // If the body cannot be read, the status has to do.
  const body = parse(await readText(response, base, largestProblem).catch(() => ''));
  const said = typeof body?.['error'] === 'string' ? body['error'] : undefined;
  throw refusal({ base, path, status, said, retryAfterMs: retryAfterMs(response, nowMs) });
}

/** Two thousand containers are about 2 MB. */
const largestDocument = 64 * 1024 * 1024;
const largestProblem = 64 * 1024;

async function readText(response: IncomingMessage, base: string, most: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > most) throw notUpkeep(base, `its answer is larger than ${most} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Error && error.name === 'ServiceError' ? error : connectionFailure(error, base);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Undefined if the text is not in the API's format. */
function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && value['api_version'] === 'v1' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds or a date: https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3 */
function retryAfterMs({ headers }: IncomingMessage, nowMs: number): number | undefined {
  const header = headers['retry-after']?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
