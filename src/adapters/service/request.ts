import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { isJsonObject, type JsonObject, parseJson } from '../../domain/text/json.ts';
import { connectionFailure, invalidAnswer, refusal } from './failure.ts';

export type Call = {
  /** Without a trailing slash. */
  readonly base: string;
  /** The path of a socket of this machine, instead of the address in `base`. */
  readonly socketPath?: string | undefined;
  /** `/v1/history` */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The longest silence of the server, before and within its answer. */
  readonly silenceMs: number;
  /** GET by default. */
  readonly method?: 'GET' | 'POST' | 'DELETE' | undefined;
  /** JSON. */
  readonly body?: string;
  readonly signal: AbortSignal;
};

/**
 * One request on its own connection. Redirects are not followed, so that a token stays on its host. Throws a
 * `ServiceError`.
 */
export function open(call: Call): Promise<IncomingMessage> {
  const { base, socketPath, path, headers, silenceMs, signal, method = 'GET', body } = call;
  return new Promise((resolve, reject) => {
    const send = base.toLowerCase().startsWith('https:') ? requestTls : requestPlain;
    const type =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const reached = socketPath === undefined ? {} : { socketPath };
    const options = { method, headers: { ...headers, ...type }, agent: false, signal, timeout: silenceMs, ...reached };
    const made = send(`${base}${path}`, options);
    made.on('timeout', () => made.destroy(new Error('silence', { cause: 'silence' })));
    made.on('error', (error) => reject(signal.aborted ? signal.reason : connectionFailure(error, base)));
    made.on('response', resolve);
    // Without this listener, a switch of protocols would end the connection without any event.
    made.on('upgrade', ({ statusCode }, socket) => {
      reject(invalidAnswer(base, `${path} answers with status ${statusCode}`));
      socket.destroy();
    });
    made.end(body);
  });
}

type ResponseContext = { readonly base: string; readonly path: string; readonly nowMs: number };

/** The document of a service's answer. Throws a `ServiceError` for any other answer. */
export async function readDocument(response: IncomingMessage, asked: ResponseContext): Promise<JsonObject> {
  await refuseFailure(response, asked);
  const document = parse(await readText(response, asked.base, largestDocument));
  if (document === undefined) throw invalidAnswer(asked.base, `${asked.path} holds no document of its API`);
  return document;
}

/** Throws the reason for any status but 200 and 201. */
export async function refuseFailure(response: IncomingMessage, { base, path, nowMs }: ResponseContext): Promise<void> {
  const status = response.statusCode ?? 0;
  if (status === 200 || status === 201) return;
  // Without a readable body, the error has only the status.
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
      if (size > most) throw invalidAnswer(base, `its answer is larger than ${most} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Error && error.name === 'ServiceError' ? error : connectionFailure(error, base);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Undefined if the text is not in the API's format. */
function parse(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) && value['api_version'] === 'v1' ? value : undefined;
}

/** Seconds or a date: https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3 */
function retryAfterMs({ headers }: IncomingMessage, nowMs: number): number | undefined {
  const header = headers['retry-after']?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
