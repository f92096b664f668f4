import { setMaxListeners } from 'node:events';
import { orAborted } from '../../../domain/concurrency.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { maxAnswerBytes, readAnswer, readError, readJson, fields, text, type EngineError } from './answer.ts';
import type { Connection } from './connection.ts';
import { EngineFailure, sendRequest, type Deadlines, type EngineRequest, type EngineResponse } from './request.ts';
import type { EngineInfo } from '../../../domain/outside/engine.ts';
import { supportsApi } from '../../../domain/container/recipe/networks.ts';
import { arrayOf } from '../../../domain/text/json.ts';

/** Speaks HTTP with one engine, in the newest version that both sides support. */
export type Client = {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** True if the engine is reached over a socket of this host. */
  readonly isLocal: boolean;
  readonly version: (signal?: AbortSignal) => Promise<EngineVersion>;
  /** Throws a `ServiceError` (an `EngineFailure` when there was no answer), or the signal's reason. */
  readonly send: (call: Call) => Promise<Reply>;
  /**
   * Like `send`, in the engine's newest version, even if Upkeep does not know that version. For texts that are copied
   * unparsed: with an older version in the path the engine drops settings and answers 200.
   */
  readonly sendInNewest: (call: Call) => Promise<Reply>;
  readonly tellLeftOut: OmittedEntryWarning;
  /** The engine's clock by the head of its last answer, behind by a second at most. Undefined before the first one. */
  readonly engineNowMs: () => number | undefined;
  /** Like `send`, without a version in the path. For calls that every version answers alike. */
  readonly sendUnversioned: (call: Call) => Promise<Reply>;
};

export type Call = Omit<EngineRequest, 'path'> & {
  /** Without the version: `/containers/json`. */
  readonly path: string;
  readonly query?: Query;
};

export type Query = Readonly<Record<string, string | undefined>>;

export type Reply = { readonly headers: EngineResponse['headers'] } & (
  | { readonly kind: 'ok'; readonly status: number; readonly body: EngineResponse['body'] }
  | ({ readonly kind: 'error' } & EngineError)
);

type ClientOptions = {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly pinnedVersion: string | undefined;
  readonly warn: (message: string) => void;
};

export function createClient({ connection, clock, deadlines, pinnedVersion, warn }: ClientOptions): Client {
  const host = connection.address.text;
  const briefly = { socket: 'own', timeLimit: { for: 'whole', ms: deadlines.readMs } } as const;
  const negotiation = createNegotiation(askVersion);
  const warned = new Set<string>();
  let pinned = pinnedVersion;
  let engineClock: { readonly atMs: number; readonly notedMs: number } | undefined;

  function warnOnce(message: string): void {
    if (warned.has(message) || warned.size >= maxWarnings) return;
    warned.add(message);
    warn(message);
  }

  async function askVersion(): Promise<EngineVersion> {
    const call = { method: 'GET', path: '/version' } as const;
    const response = await sendRequest(connection, clock, { ...call, ...briefly });
    const options = { host, pinned, warn: warnOnce };
    if (response.status === 200) {
      const answer = await readJson(response.body, maxAnswerBytes).catch((cause: unknown) => {
        throw notAnEngine(host, cause);
      });
      return readVersion(answer, options);
    }
    const error = await readError(response, call);
    const answer = error.isForbidden ? await versionOfPing() : undefined;
    if (answer === undefined) throw refusedVersion(host, error);
    return readVersion(answer, options);
  }

  /** A proxy that forbids the question for the version may permit a ping, whose answer has it in its head. */
  async function versionOfPing(): Promise<object | undefined> {
    const { status, headers, body } = await sendRequest(connection, clock, {
      method: 'HEAD',
      path: '/_ping',
      ...briefly,
    });
    await readAnswer(body);
    return status === 200 ? readPingHead(headers) : undefined;
  }

  async function send(call: Call): Promise<Reply> {
    // The many listeners on one signal are not a leak: a check shares it among its calls.
    if (call.signal !== undefined) setMaxListeners(0, call.signal);
    const reply = await sendOnce(call);
    if (reply.kind === 'ok' || reply.status !== 400 || !versionRefused.test(reply.message)) return reply;
    // The engine rejected the version and changed nothing: it does not report its versions, or an older engine replaced
    // it.
    if (pinned !== undefined)
      warnOnce(`API version ${quoted(pinned, 20)} cannot be used: ${printable(reply.message, 300)}`);
    pinned = undefined;
    negotiation.forget();
    return await sendOnce(call);
  }

  async function sendOnce(call: Call): Promise<Reply> {
    const { apiVersion } = await version(call.signal);
    return await sendBelow(`/v${apiVersion}`, call);
  }

  async function sendInNewest(call: Call): Promise<Reply> {
    const { engineApiVersion } = await version(call.signal);
    return await sendBelow(`/v${engineApiVersion}`, call);
  }

  async function sendBelow(prefix: string, call: Call): Promise<Reply> {
    const response = await sendTo(`${prefix}${call.path}${queryOf(call.query)}`, call);
    const { status, headers, body } = response;
    negotiation.notice(String(headers['api-version'] ?? ''));
    if (status < 300) noteDate(headers.date);
    if (status < 300 || status === 304) return { kind: 'ok', status, headers, body };
    return { kind: 'error', headers, ...(await readError(response, call)) };
  }

  function noteDate(date: string | undefined): void {
    const atMs = Date.parse(date ?? '');
    if (!Number.isNaN(atMs)) engineClock = { atMs, notedMs: clock.monotonicMs() };
  }

  async function sendTo(path: string, call: Call): Promise<EngineResponse> {
    try {
      return await sendRequest(connection, clock, { ...call, path });
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error;
      if (error.stale && (call.socket === 'shared' || (call.socket === 'change' && !error.sent)))
        return await sendRequest(connection, clock, { ...call, path, socket: 'own' });
      negotiation.forget();
      throw error;
    }
  }

  function version(signal?: AbortSignal): Promise<EngineVersion> {
    return orAborted(negotiation.current(), signal);
  }

  return {
    clock,
    deadlines,
    version,
    send,
    sendInNewest,
    isLocal: connection.address.kind === 'unix',
    sendUnversioned: (call) => sendBelow('', call),
    engineNowMs: () => engineClock && engineClock.atMs + clock.monotonicMs() - engineClock.notedMs,
    tellLeftOut: createOmittedEntryWarning(warn),
  };
}

/** Different engines behind one address cause different warnings, because a warning names the versions. */
const maxWarnings = 10;

/** `client version 1.51 is too new. Maximum supported API version is 1.41` */
const versionRefused = /client version .{1,20} is too (?:new|old)/;

function queryOf(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  const written = parameters.toString();
  return written === '' ? '' : `?${written}`;
}

function refusedVersion(host: string, error: EngineError): ServiceError {
  if (error.isForbidden && error.status !== 404) {
    return new ServiceError(
      'engine-denied',
      `Cannot ask the container engine at "${host}" for its version: ${error.message}`,
      { remedy: 'Allow GET /version, or HEAD /_ping, in the proxy before the engine' },
    );
  }
  // Go's HTTPS server gives this answer to plain HTTP.
  if (error.message.includes('HTTP request to an HTTPS server')) {
    return new ServiceError('engine-unreachable', `Cannot reach the container engine at "${host}": it wants TLS`, {
      remedy: 'Give --tlsverify (DOCKER_TLS_VERIFY) and --cert-path (DOCKER_CERT_PATH)',
    });
  }
  return notAnEngine(host, error);
}

/** https://docs.docker.com/reference/api/engine/version-history/ — 1.41 is Docker 20.10 (and every Podman), 1.51 is Docker 28. */
const oldestVersion = '1.41';
const newestVersion = '1.51';

/** The engine's `GET /version`, and the API version that we use with it. */
export type EngineVersion = {
  readonly kind: EngineInfo['kind'];
  readonly product: string;
  readonly apiVersion: string;
  /** The engine's newest version. Each answer repeats it in the header `Api-Version`. */
  readonly engineApiVersion: string;
  readonly os: string;
  readonly architecture: string;
};

/** The API version to use. It is requested once and kept until another engine answers. */
type Negotiation = {
  readonly current: () => Promise<EngineVersion>;
  /** Reads the `Api-Version` of an answer, '' if a proxy has removed it. A different value means another engine. */
  readonly notice: (engineApiVersion: string) => void;
  readonly forget: () => void;
};

/** Concurrent callers share one request. After a failure the next caller sends a new one. */
function createNegotiation(ask: () => Promise<EngineVersion>): Negotiation {
  let asked: Promise<EngineVersion> | undefined;
  let known: EngineVersion | undefined;

  function forget(): void {
    asked = undefined;
    known = undefined;
  }

  async function negotiate(): Promise<EngineVersion> {
    try {
      return (known = await ask());
    } catch (error) {
      forget();
      throw error;
    }
  }

  return {
    current: () => (asked ??= negotiate()),
    notice(engineApiVersion) {
      if (known && engineApiVersion !== '' && engineApiVersion !== known.engineApiVersion) forget();
    },
    forget,
  };
}

type VersionOptions = {
  readonly host: string;
  /** The configured version, not checked. */
  readonly pinned?: string | undefined;
  /** Called when the pinned version cannot be used, with the reason. */
  readonly warn?: (message: string) => void;
};

/**
 * Chooses the pinned version if both sides support it, else the newest common one: an older version silently drops
 * settings of containers. `DOCKER_API_VERSION` is often a leftover of another engine, so an unusable value is only a
 * warning.
 */
function readVersion(answer: unknown, { host, pinned, warn }: VersionOptions): EngineVersion {
  const { Version, ApiVersion, MinAPIVersion, Components, Os, Arch } = fields(answer);
  const newest = text(ApiVersion);
  const oldest = text(MinAPIVersion) || oldestVersion;
  if (!isVersion(newest) || !isVersion(oldest)) throw notAnEngine(host);
  const chosen = choose({ newest, oldest }, host);
  const whyNot = pinned === undefined ? undefined : whyNotPinned(pinned, { newest, oldest });
  if (whyNot !== undefined)
    warn?.(`API version ${quoted(pinned ?? '', 20)} cannot be used, so ${chosen} is: ${whyNot}`);
  const podman = arrayOf(Components).some((component) => text(fields(component)['Name']).startsWith('Podman'));
  return {
    kind: podman ? 'podman' : 'docker',
    product: printable(text(Version), 100),
    apiVersion: whyNot === undefined ? (pinned ?? chosen) : chosen,
    engineApiVersion: newest,
    os: text(Os),
    architecture: text(Arch),
  };
}

/**
 * The version in the head of the answer to a ping, in the form of `GET /version`. Undefined without one. Docker:
 * `Server: Docker/28.0.1 (linux)`. Podman: `Server: Libpod/4.3.1 (linux)`.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemPing
 */
function readPingHead(headers: Readonly<Record<string, unknown>>): object | undefined {
  const { 'api-version': ApiVersion, server, ostype } = headers;
  if (text(ApiVersion) === '') return undefined;
  const [, product = '', Version = '', os = ''] = /^([A-Za-z]+)\/(\S+)(?: \(([a-z]+)\))?/.exec(text(server)) ?? [];
  const Components = product === 'Libpod' ? [{ Name: 'Podman Engine' }] : [];
  return { Version, ApiVersion, Components, Os: text(ostype) || os };
}

function whyNotPinned(pinned: string, engine: SpokenVersions): string | undefined {
  if (!isVersion(pinned) || !isWithin(pinned, { newest: newestVersion, oldest: oldestVersion }))
    return `it is not one of ${oldestVersion} to ${newestVersion}`;
  return isWithin(pinned, engine) ? undefined : `the engine speaks ${engine.oldest} to ${engine.newest}`;
}

function isWithin(version: Version, { newest, oldest }: SpokenVersions): boolean {
  return supportsApi(version, oldest) && supportsApi(newest, version);
}

function notAnEngine(host: string, cause?: unknown): ServiceError {
  return new ServiceError(
    'engine-unreachable',
    `Cannot reach the container engine at "${host}": the program at this address is not a container engine`,
    { remedy: 'Check --host (DOCKER_HOST)', cause },
  );
}

type SpokenVersions = { readonly newest: Version; readonly oldest: Version };

function choose(engine: SpokenVersions, host: string): string {
  if (!supportsApi(engine.newest, oldestVersion)) {
    throw new ServiceError(
      'engine-refused',
      `Cannot work with the container engine at "${host}": it speaks API ${engine.newest}, and ${oldestVersion} is the oldest supported version`,
      { remedy: 'Update the engine: Docker 20.10 is the oldest that works' },
    );
  }
  if (!supportsApi(newestVersion, engine.oldest)) {
    throw new ServiceError(
      'engine-refused',
      `Cannot work with the container engine at "${host}": it speaks API ${engine.oldest} and newer, and ${newestVersion} is the newest supported version`,
      { remedy: 'Update this service' },
    );
  }
  return supportsApi(engine.newest, newestVersion) ? newestVersion : engine.newest;
}

type Version = `1.${number}`;

function isVersion(version: string): version is Version {
  return /^1\.\d{1,3}$/.test(version);
}

/** Logs each entry that a list omitted as too large, once. */
type OmittedEntryWarning = (thing: string, names: readonly string[]) => void;

export function createOmittedEntryWarning(warn: (message: string) => void): OmittedEntryWarning {
  const warned = new Set<string>();
  return (thing, names) => {
    const fresh = [...new Set(names)].filter((name) => !warned.has(`${thing} ${name}`));
    if (warned.size + fresh.length > maxRemembered) warned.clear();
    for (const name of fresh.slice(0, maxRemembered)) warned.add(`${thing} ${name}`);
    for (const name of fresh.slice(0, maxNamed))
      warn(`${describe(thing, name)}: its entry in the engine's list is too large`);
    if (fresh.length > maxNamed)
      warn(`${fresh.length - maxNamed} more ${thing}s are ignored: their entries are too large`);
  };
}

const maxRemembered = 1_000;

const maxNamed = 10;

function describe(thing: string, name: string): string {
  const which = name === '' ? `One ${thing} whose name cannot be read` : `The ${thing} ${name}`;
  return `${which} is ignored, and is neither checked nor updated`;
}
