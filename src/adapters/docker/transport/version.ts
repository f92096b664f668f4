import type { EngineInfo } from '../../../domain/outside/engine-reader.ts';
import { supportsApi } from '../../../domain/container/api-version.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { fields, text } from './json-fields.ts';
import { arrayOf } from '../../../domain/text/json-value.ts';

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
export type Negotiation = {
  readonly current: () => Promise<EngineVersion>;
  /** Reads the `Api-Version` of an answer, '' if a proxy has removed it. A different value means another engine. */
  readonly notice: (engineApiVersion: string) => void;
  readonly forget: () => void;
};

/** Concurrent callers share one request. After a failure the next caller sends a new one. */
export function createNegotiation(ask: () => Promise<EngineVersion>): Negotiation {
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

export type VersionOptions = {
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
export function readVersion(answer: unknown, { host, pinned, warn }: VersionOptions): EngineVersion {
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
export function readPingHead(headers: Readonly<Record<string, unknown>>): object | undefined {
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

export function notAnEngine(host: string, cause?: unknown): ServiceError {
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
