import { ServiceError, describeError } from '../../../domain/text/errors.ts';
import {
  maxAnswerBytes,
  readAnswer,
  readJson,
  fields,
  text,
  texts,
  timeMs,
  type EngineError,
} from '../transport/answer.ts';
import type { Client, Query, EngineVersion } from '../transport/client.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { EngineFailure, type EngineResponse } from '../transport/request.ts';
import type { CallOutcome, EngineInfo } from '../../../domain/outside/engine.ts';
import { supportsApi } from '../../../domain/container/recipe/networks.ts';
import { normalisePlatform, type Platform } from '../../../domain/image/platform.ts';
import { printable } from '../../../domain/text/printable.ts';

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
  const timeLimit = { for: 'whole', ms: client.deadlines.readMs } as const;
  const ask = () => send({ method: 'GET', path, query, socket: 'shared', timeLimit, signal });
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
  const timeLimit = { for: 'whole', ms: client.deadlines.readMs } as const;
  const call = { method: 'GET', socket: 'own', timeLimit, signal } as const;
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
  const sentNothing = status === 503 && (!fromEngine || /^service unavailable/i.test(message));
  if (sentNothing || isProxys({ status, fromEngine })) {
    const does = gatewayErrors.includes(status) ? 'cannot reach it' : 'does not pass the call on';
    const why = `the proxy before it ${does} (${status}, "${message}")`;
    return new ServiceError('engine-unreachable', `Cannot ${doing}: ${why}`, { remedy: awaitIt });
  }
  return new ServiceError('engine-refused', `Cannot ${doing}: the engine answered ${status}, "${message}"`);
}

/**
 * Whether a proxy answers because it lost the engine's answer, or fails itself. The engine never answers 429, 502 or 504. A
 * proxy's 503 says that it sent nothing.
 */
function isProxys({ status, fromEngine }: Pick<EngineError, 'status' | 'fromEngine'>): boolean {
  return status === 429 || status === 502 || status === 504 || (!fromEngine && status >= 500 && status !== 503);
}

const gatewayErrors: readonly number[] = [502, 503, 504];

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
export function changeAndRead(
  client: Client,
  { method = 'POST', path, query = {}, body, deadlineMs = client.deadlines.changeMs, absentIsNoop }: Change,
): Promise<ChangeAnswer> {
  return outcomeOf(client, async () => {
    const timeLimit = { for: 'whole', ms: deadlineMs } as const;
    const reply = await client.send({ method, path, query, body, socket: 'change', timeLimit });
    if (reply.kind === 'error') return isNotFound(reply) && absentIsNoop ? { kind: 'noop' } : errorOutcome(reply);
    const answer = await readAnswer(reply.body);
    return reply.status === 304 ? { kind: 'noop' } : { kind: 'done', answer };
  });
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

/** The outcome of a call that threw. An unsent call has changed nothing. Rethrows any error but a `ServiceError`. */
export function thrownOutcome(error: unknown): Failed {
  if (!(error instanceof ServiceError)) throw error;
  if (error instanceof EngineFailure && !error.sent) return notSent(error);
  return { kind: 'unknown', message: describeError(error) };
}

/** A forbidden call has one status, because the 404 of a proxy does not mean that something is missing. */
export function errorOutcome({ status, message, fromEngine, isForbidden }: EngineError): Failed {
  if (isProxys({ status, fromEngine })) return { kind: 'unknown', message };
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
export function capabilitiesOf({ kind, product, apiVersion }: EngineVersion) {
  const isDocker = kind === 'docker';
  return {
    /**
     * `POST /containers/{id}/stop` accepts a signal; older versions ignore it:
     * https://docs.docker.com/reference/api/engine/version-history/
     */
    stopSignal: supportsApi(apiVersion, '1.42'),
    /**
     * A stop also works while the restart policy is about to start the container. Podman reports this container as
     * stopped and then starts it.
     */
    stopsBetweenTries: isDocker,
    /** `POST /containers/{id}/update` accepts a restart policy: Podman from version 5. */
    restartPolicies: isDocker || Number.parseInt(product, 10) >= 5,
    /**
     * The engine runs HEALTHCHECKs itself. Podman leaves them to systemd timers, and does not show whether these exist.
     */
    healthProbes: isDocker,
    /** The engine sends an event after `docker container prune`: Docker since 1.41, the oldest supported version. */
    tellsOfPrunes: isDocker,
    /** The engine describes containers and images as Docker does. Podman's answers go through `podman.ts`. */
    dockerWords: isDocker,
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

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemInfo */
export async function engineInfo(client: Client, signal?: AbortSignal): Promise<EngineInfo> {
  const version = await client.version(signal);
  const info = await readInfo(client, version, signal);
  const { restartPolicies, healthProbes } = capabilitiesOf(version);
  // The engine shows the URLs of its proxies without their passwords.
  const proxies = [text(info['HttpProxy']), text(info['HttpsProxy'])].filter((url) => url !== '');
  const dataFolder = text(info['DockerRootDir']);
  return {
    id: printable(text(info['ID']), 100),
    kind: version.kind,
    version: version.product,
    apiVersion: version.apiVersion,
    name: printable(text(info['Name']), 255),
    platform: platformOf(version, text(info['Architecture'])),
    abilities: { changesRestartPolicies: restartPolicies, probesHealth: healthProbes },
    liveRestore: info['LiveRestoreEnabled'] === true,
    ...(hasSecurityOption(info, 'userns') && { remapsUsers: true }),
    containerReach: reachOf(client, info),
    nowMs: timeMs(info['SystemTime']) || (client.engineNowMs() ?? client.clock.nowMs()),
    ...readRegistries(fields(info['RegistryConfig'])),
    ...(proxies.length > 0 && { proxies }),
    ...(dataFolder !== '' && { dataFolder }),
  };
}

/**
 * Empty where a proxy before the engine forbids the call: version and platform are known without it, and the rest is as
 * in an engine without settings.
 */
async function readInfo(
  client: Client,
  { architecture }: EngineVersion,
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  const doing = 'ask the engine about itself';
  const timeLimit = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.send({ method: 'GET', path: '/info', socket: 'shared', timeLimit, signal });
  if (reply.kind === 'ok') return fields(await readJson(reply.body, maxAnswerBytes, doing));
  if (!reply.isForbidden || architecture === '') throw refusal(doing, reply);
  return { RegistryConfig: { InsecureRegistryCIDRs: ['127.0.0.0/8', '::1/128'] } };
}

/**
 * `/version` names the architecture as images do (amd64), `/info` as the machine does (x86_64, armv7l). Only `/info`
 * shows the variant of arm.
 */
function platformOf({ os, architecture }: EngineVersion, machine: string): Platform {
  const fromMachine = normalisePlatform({ os, architecture: machine });
  const fromVersion = normalisePlatform({ os, architecture });
  return architecture === '' || fromMachine.architecture === fromVersion.architecture ? fromMachine : fromVersion;
}

/** A local socket may lead to another machine. Only the engine's own description shows it. */
function reachOf({ isLocal }: Client, info: JsonObject): EngineInfo['containerReach'] {
  if (!isLocal) return 'remote';
  // Other systems run containers in a virtual machine, and so does Docker Desktop on Linux.
  if (process.platform !== 'linux' || text(info['OperatingSystem']) === 'Docker Desktop') return 'virtual-machine';
  // Docker has a security option for it, Podman a field of its own.
  return hasSecurityOption(info, 'rootless') || info['Rootless'] === true ? 'rootless' : 'direct';
}

/** Each is a text such as `name=seccomp,profile=default`. */
function hasSecurityOption(info: JsonObject, name: string): boolean {
  return texts(info['SecurityOptions']).some((option) => option.split(',')[0] === `name=${name}`);
}

function readRegistries(config: JsonObject): Pick<EngineInfo, 'hubMirrors' | 'insecureRegistries'> {
  const indexes = fields(config['IndexConfigs']);
  const insecureHosts = Object.keys(indexes).filter((host) => fields(indexes[host])['Secure'] === false);
  // Podman names a mirror by its host only.
  const urlOf = (mirror: string) =>
    /^https?:\/\//.test(mirror) ? mirror : `${insecureHosts.includes(mirror) ? 'http' : 'https'}://${mirror}`;
  const mirrors = [...texts(config['Mirrors']), ...texts(fields(indexes['docker.io'])['Mirrors'])];
  return {
    hubMirrors: [...new Set(mirrors.map(urlOf))],
    insecureRegistries: [...new Set([...texts(config['InsecureRegistryCIDRs']), ...insecureHosts])],
  };
}
