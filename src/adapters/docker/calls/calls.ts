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
import type { Client, Query, EngineVersion, Call } from '../transport/client.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { EngineFailure, type EngineResponse } from '../transport/request.ts';
import type { CallOutcome, EngineInfo } from '../../../domain/outside/engine.ts';
import { supportsApi } from '../../../domain/container/recipe/networks.ts';
import { normalisePlatform, type Platform } from '../../../domain/image/platform.ts';
import { printable } from '../../../domain/text/printable.ts';
import { randomBytes } from 'node:crypto';
import { orAborted } from '../../../domain/concurrency.ts';
import { permissionNames, type PermissionName } from '../../../domain/outside/permission.ts';

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
  const timeLimit = { for: 'whole', ms: deadlineMs } as const;
  const reply = await client.send({ method, path, query, body, socket: 'change', timeLimit });
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

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemInfo */
export async function engineInfo(client: Client, signal?: AbortSignal): Promise<EngineInfo> {
  const version = await client.version(signal);
  const info = await readInfo(client, signal);
  const registries = readRegistries(fields(info['RegistryConfig']));
  return {
    id: printable(text(info['ID']), 100),
    kind: version.kind,
    version: version.product,
    apiVersion: version.apiVersion,
    name: printable(text(info['Name']), 255),
    platform: platformOf(version, text(info['Architecture'])),
    abilities: abilitiesOf(version),
    liveRestore: info['LiveRestoreEnabled'] === true,
    ...(hasSecurityOption(info, 'userns') && { remapsUsers: true }),
    containerReach: reachOf(client, info),
    nowMs: timeMs(info['SystemTime']) || (client.engineNowMs() ?? client.clock.nowMs()),
    ...registries,
    ...pullsThrough(info),
  };
}

/** The engine shows the URLs of its proxies without their passwords. */
function pullsThrough(info: JsonObject): Pick<EngineInfo, 'proxies' | 'dataFolder'> {
  const proxies = [text(info['HttpProxy']), text(info['HttpsProxy'])].filter((url) => url !== '');
  const dataFolder = text(info['DockerRootDir']);
  return { ...(proxies.length > 0 && { proxies }), ...(dataFolder !== '' && { dataFolder }) };
}

/**
 * Empty where a proxy before the engine forbids the call: version and platform are known without it, and the rest is as
 * in an engine without settings.
 */
async function readInfo(client: Client, signal: AbortSignal | undefined): Promise<JsonObject> {
  const doing = 'ask the engine about itself';
  const timeLimit = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.send({ method: 'GET', path: '/info', socket: 'shared', timeLimit, signal });
  if (reply.kind === 'ok') return fields(await readJson(reply.body, maxAnswerBytes, doing));
  const { architecture } = await client.version(signal);
  if (!reply.isForbidden || architecture === '') throw refusal(doing, reply);
  return { RegistryConfig: { InsecureRegistryCIDRs: ['127.0.0.0/8', '::1/128'] } };
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

function abilitiesOf(version: EngineVersion): EngineInfo['abilities'] {
  const { restartPolicies, healthProbes } = capabilitiesOf(version);
  return { changesRestartPolicies: restartPolicies, probesHealth: healthProbes };
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

function readRegistries(config: JsonObject): Pick<EngineInfo, 'hubMirrors' | 'insecureRegistries'> {
  const indexes = fields(config['IndexConfigs']);
  const insecureHosts = Object.keys(indexes).filter((host) => fields(indexes[host])['Secure'] === false);
  const mirrors = [...texts(config['Mirrors']), ...texts(fields(indexes['docker.io'])['Mirrors'])];
  return {
    hubMirrors: unique(mirrors.map((mirror) => baseUrl(mirror, insecureHosts))),
    insecureRegistries: unique([...texts(config['InsecureRegistryCIDRs']), ...insecureHosts]),
  };
}

/** Podman names a mirror by its host only. */
function baseUrl(mirror: string, insecureHosts: readonly string[]): string {
  if (/^https?:\/\//.test(mirror)) return mirror;
  return `${insecureHosts.includes(mirror) ? 'http' : 'https'}://${mirror}`;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

type Permissions = {
  /** The forbidden calls of an update, in its order. Throws a `ServiceError` when the engine cannot be asked. */
  readonly ask: (signal?: AbortSignal) => Promise<readonly PermissionName[]>;
  /** The same client, whose calls show that the remembered answer is wrong. */
  readonly client: Client;
};

/**
 * Finds out which calls are forbidden, without a change: each is made once about an object that cannot exist. The
 * engine answers that there is none, a proxy before it that the call is forbidden. A result is remembered for seconds, one
 * without forbidden calls until a call is forbidden or gets no answer, because that may be a new proxy.
 */
export function createPermissions(client: Client): Permissions {
  const { clock } = client;
  let last: { readonly asked: Promise<readonly PermissionName[]>; untilMs: number } | undefined;

  async function ask(): Promise<readonly PermissionName[]> {
    const version = await client.version().catch(unlessDenied);
    const send = version === undefined ? client.sendUnversioned : client.send;
    const hasPolicies = version === undefined || capabilitiesOf(version).restartPolicies;
    const wanted = permissionNames.filter((name) => name !== 'policy' || hasPolicies);
    const id = `${absentIdStart}${randomBytes(16).toString('hex')}`;
    const answers = await Promise.all(wanted.map((name) => isForbidden(client, send, { name, id })));
    return wanted.filter((_, place) => answers[place]);
  }

  const noting =
    (send: Client['send']): Client['send'] =>
    async (call) => {
      const reply = await send(call).catch((error: unknown) => {
        last = undefined;
        throw error;
      });
      if (reply.kind === 'error' && reply.isForbidden) last = undefined;
      return reply;
    };

  function remembered(signal?: AbortSignal): Promise<readonly PermissionName[]> {
    if (last === undefined || clock.monotonicMs() >= last.untilMs) {
      const mine = { asked: ask(), untilMs: Infinity };
      last = mine;
      const keepFor = (ms: number) => void (mine.untilMs = clock.monotonicMs() + ms);
      mine.asked.then(
        (forbidden) => keepFor(forbidden.length === 0 ? permittedForMs : forbiddenForMs),
        () => keepFor(0),
      );
    }
    return orAborted(last.asked, signal);
  }

  return {
    ask: remembered,
    client: {
      ...client,
      send: noting(client.send),
      sendInNewest: noting(client.sendInNewest),
      sendUnversioned: noting(client.sendUnversioned),
    },
  };
}

/** The updates of one run share some answers, and each stop has a recent one: a new proxy may permit less. */
const permittedForMs = 20_000;
/** A grant is noticed at once. */
const forbiddenForMs = 5_000;

/** Nobody can guess the other half, and create a container with this name. */
const absentIdStart = '0'.repeat(32);

/** An engine that may not be asked for its version can still be asked for the rest. */
function unlessDenied(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
}

/** Also for an answer of a proxy in the engine's form: the engine refuses nothing that does not exist. */
async function isForbidden(
  { deadlines }: Client,
  send: Client['send'],
  { name, id }: { readonly name: PermissionName; readonly id: string },
): Promise<boolean> {
  const timeLimit = { for: 'whole', ms: deadlines.readMs } as const;
  const trial = trials[name](id);
  const reply = await send({ ...trial, socket: 'shared', timeLimit });
  if (reply.kind === 'error') {
    const { status, message } = reply;
    const isAbsent = message.includes(id) && !message.includes(trial.path);
    return reply.isForbidden || refusals.includes(status) || (status === 404 && !isAbsent && !withoutId.has(name));
  }
  await readAnswer(reply.body);
  return false;
}

const refusals: readonly number[] = [401, 403, 405];

/**
 * Docker and Podman repeat the id in the 404 of the other calls: "No such container: ID", "no container with name or ID
 * …", "ID: image not known". Podman's 404 of `wait` is without it, and the rest of these concern no single object.
 */
const withoutId: ReadonlySet<PermissionName> = new Set([
  'containers',
  'images',
  'networks',
  'pull',
  'wait',
  'info',
  'events',
]);

type Trial = (id: string) => Pick<Call, 'method' | 'path' | 'query' | 'body'>;

const getCall = (path: string, query?: Record<string, string>) =>
  ({ method: 'GET', path, ...(query && { query }) }) as const;
const post = (path: string, more: Partial<Pick<Call, 'query' | 'body'>> = {}) =>
  ({ method: 'POST', path, ...more }) as const;
const remove = (path: string, query: Record<string, string>) => ({ method: 'DELETE', path, query }) as const;

const trials: Readonly<Record<PermissionName, Trial>> = {
  containers: (id) => getCall('/containers/json', { filters: JSON.stringify({ id: [id] }) }),
  inspect: (id) => getCall(`/containers/${id}/json`),
  images: () => getCall('/images/json', { filters: JSON.stringify({ reference: ['upkeep-absent:none'] }) }),
  inspectImage: (id) => getCall(`/images/sha256:${id}/json`),
  networks: (id) => getCall('/networks', { filters: JSON.stringify({ id: [id] }) }),
  // An invalid name, so that no registry is asked.
  pull: () => post('/images/create', { query: { fromImage: '-', tag: '-' } }),
  tag: (id) => post(`/images/sha256:${id}/tag`, { query: { repo: 'upkeep-absent', tag: 'none' } }),
  create: (id) => post('/containers/create', { query: { name: id }, body: { Image: `sha256:${id}` } }),
  connect: (id) => post(`/networks/${id}/connect`, { body: { Container: id } }),
  rename: (id) => post(`/containers/${id}/rename`, { query: { name: id } }),
  policy: (id) => post(`/containers/${id}/update`, { body: { RestartPolicy: { Name: 'no' } } }),
  stop: (id) => post(`/containers/${id}/stop`),
  start: (id) => post(`/containers/${id}/start`),
  wait: (id) => post(`/containers/${id}/wait`),
  logs: (id) => getCall(`/containers/${id}/logs`, { stdout: '1', tail: '1' }),
  info: () => getCall('/info'),
  // A second in 1970.
  events: () => getCall('/events', { since: '1', until: '2' }),
  remove: (id) => remove(`/containers/${id}`, { force: '0', v: '0' }),
  untag: (id) => remove(`/images/upkeep-absent:${id}`, { force: '0' }),
};
