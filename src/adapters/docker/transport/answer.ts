import { parseJson, isJsonObject } from '../../../domain/text/json-value.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { EngineResponse } from './request.ts';
import { fields, text } from './json-fields.ts';

export const megabyte = 1_048_576;

/** Largest answer about one object. An inspect is about 10 kB. */
export const maxAnswerBytes = 8 * megabyte;
const maxErrorBytes = 65_536;
const maxMessageChars = 1_000;

/**
 * The body as JSON. Throws `engine-refused` when it is too large or not JSON. `doing` is the failed action, for the
 * message.
 */
export async function readJson(body: EngineResponse['body'], limitBytes: number, doing = 'go on'): Promise<unknown> {
  const answer = parseJson(await readText(body, limitBytes, doing));
  if (answer !== undefined) return answer;
  throw notJson();
}

function tooLarge(doing: string, limitBytes: number): ServiceError {
  const limit = `${Math.round(limitBytes / megabyte)} MB`;
  return new ServiceError('engine-refused', `Cannot ${doing}: the engine's answer is larger than ${limit}`);
}

export function notJson(cause?: unknown): ServiceError {
  return new ServiceError('engine-refused', "Cannot read the engine's answer: it is not JSON", {
    remedy: 'Check --host (DOCKER_HOST): another server may listen there',
    cause,
  });
}

/** The body as text. Throws `engine-refused` when it is too large. `doing` is the failed action, for the message. */
export async function readText(body: EngineResponse['body'], limitBytes: number, doing: string): Promise<string> {
  const bytes = await readBytes(body, limitBytes);
  if (bytes.length > limitBytes) throw tooLarge(doing, limitBytes);
  return bytes.toString('utf8');
}

/** The body as JSON, else undefined. Calls that change state answer with nothing, "OK" or an object. */
export async function readAnswer(body: EngineResponse['body']): Promise<unknown> {
  return parseJson((await readBytes(body, maxAnswerBytes)).toString('utf8'));
}

export type EngineError = {
  readonly status: number;
  /** One printable line, at most 1,000 characters. */
  readonly message: string;
  /** False for an answer of another server, e.g. the 404 of a proxy. */
  readonly fromEngine: boolean;
};

/** The engine's errors are `{"message": …}`: https://docs.docker.com/reference/api/engine/#section/Errors */
export async function readError({ status, body }: EngineResponse): Promise<EngineError> {
  const raw = (await readBytes(body, maxErrorBytes)).toString('utf8');
  const parsed = parseJson(raw);
  const message = text(fields(parsed)['message']);
  return {
    status,
    message: printable((message || raw).trim(), maxMessageChars) || `status ${status} without a message`,
    fromEngine: isJsonObject(parsed) && message !== '' && message !== 'page not found',
  };
}

/** At most one chunk more than the limit. */
async function readBytes(body: EngineResponse['body'], limitBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limitBytes) break;
  }
  return Buffer.concat(chunks, length);
}
