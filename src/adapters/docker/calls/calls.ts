import { ServiceError, describeError } from '../../../domain/text/errors.ts';
import { maxAnswerBytes, readAnswer, readJson, fields, text, type EngineError } from '../transport/answer.ts';
import type { Client, Query, EngineVersion } from '../transport/client.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { EngineFailure, type EngineResponse } from '../transport/request.ts';
import type { CallOutcome } from '../../../domain/outside/engine.ts';
import { supportsApi } from '../../../domain/container/recipe/networks.ts';

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
const allowIt = 'Allow this call in the proxy before the engine: docs/engines.md lists the calls of Upkeep';

type Change = {
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

type ChangeAnswer = { readonly kind: 'done'; readonly answer: unknown } | Exclude<CallOutcome, { kind: 'done' }>;

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

/**
 * The differences between engines and API versions that affect the calls of this adapter. The recipe handles the
 * differences in containers' settings.
 */
type Capabilities = {
  /** `POST /containers/{id}/stop` accepts a signal; older versions ignore it. */
  readonly stopSignal: boolean;
  /**
   * A stop also works while the restart policy is about to start the container. Podman reports this container as
   * stopped and then starts it.
   */
  readonly stopsBetweenTries: boolean;
  /** `POST /containers/{id}/update` accepts a restart policy: Podman from version 5. */
  readonly restartPolicies: boolean;
  /**
   * The engine runs HEALTHCHECKs itself. Podman leaves them to systemd timers, and does not show whether these exist.
   */
  readonly healthProbes: boolean;
  /** The engine sends an event after `docker container prune`: Docker since 1.41, the oldest supported version. */
  readonly tellsOfPrunes: boolean;
  /** The engine describes containers and images as Docker does. Podman's answers go through `podman/`. */
  readonly dockerWords: boolean;
};

/** https://docs.docker.com/reference/api/engine/version-history/ */
const stopSignalSince = '1.42';

export function capabilitiesOf({ kind, product, apiVersion }: EngineVersion): Capabilities {
  const podman = kind === 'podman';
  return {
    stopSignal: supportsApi(apiVersion, stopSignalSince),
    stopsBetweenTries: !podman,
    restartPolicies: !podman || Number.parseInt(product, 10) >= 5,
    healthProbes: !podman,
    tellsOfPrunes: !podman,
    dockerWords: !podman,
  };
}

/** Engine messages that identify a failure where the status is not enough. */
export const errorPatterns = {
  /** Docker: 409 "The container name … is already in use by container …". Podman: 500 "… that name is already in use". */
  nameTaken: /\bname\b.{0,300} is already in use/i,
  /** Podman: 500 "container … does not exist in database: no such container", for a container that is being removed. */
  absent: /does not exist in database: no such container/i,
  /**
   * Docker records this in the container's state. Podman says "… OCI runtime attempted to invoke a command that was not
   * found", or "… OCI permission denied".
   */
  commandUnusable: /OCI runtime attempted to invoke a command that was not found|OCI permission denied/i,
  /** Docker: 500 "Cannot link to a non running container: /db AS /web/db". Podman has no links. */
  linkBroken: /cannot link to a non running container/i,
  /**
   * Docker with containerd's image store, 500 and 404: "failed to create an image … with target … after deleting the
   * existing one: AlreadyExists: …", "creating image … failed because it already exists, but accessing it also failed".
   */
  tagMoved: /after deleting the existing one: AlreadyExists|failed because it already exists, but accessing it also/i,
  /**
   * Docker answers 409. Podman: 500 "unable to delete image … by ID with more than one tag …: please force removal".
   */
  severalTags: /by ID with more than one tag/i,
  /** Docker: 403 "endpoint with name … already exists in network …". Podman: "… is already connected to network …". */
  alreadyConnected: /already (?:exists in|connected to) network/i,
  /** Podman: 500 "read /proc/18744/cgroup: no such process", for a process that ends during the inspection. */
  processEnded: /^\w+ \/proc\/\d+\/\w+: no such (?:process|file or directory)/i,
  /** Docker: 409 "network with name … already exists". Podman: 500 "network name … already used: …". */
  networkTaken: /network (?:with )?name .{0,300} already (?:exists|used)/i,
  /** Docker: 409 "removal of container … is already in progress". */
  removalInProgress: /removal of container .{0,300} is already in progress/i,
} as const;

/** Podman's event names, with Docker's names for them. */
export const podmanActions: ReadonlyMap<string, string> = new Map([
  ['died', 'die'],
  ['remove', 'destroy'],
]);

/** Podman's states that Docker does not have. Other unknown states count as `exited`. */
export const podmanStates = [
  ['configured', 'created'],
  ['initialized', 'created'],
  ['stopping', 'running'],
  ['stopped', 'exited'],
] as const;

/** Podman matches names without the leading slash, Docker with it. */
export function namePattern(prefix: string): string {
  return `^/?${prefix.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}`;
}
