import type { Clock, Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { createLru } from '../../domain/text/plain-data.ts';
import { createSingleFlight, cachedFor } from './throttle.ts';
import { objectOf, parseJsonObject, stringOf, type JsonObject } from '../../domain/text/json.ts';
import { readFile, stat } from 'node:fs/promises';
import { formatDuration } from '../../domain/text/duration.ts';
import { codeOf } from '../../domain/text/errors.ts';
import { HttpFailure, cut } from '../http/exchange.ts';
import { execFile } from 'node:child_process';

export type CredentialOptions = {
  readonly clock: Clock;
  readonly log?: Log | undefined;
  /** Path of Docker's `config.json`; undefined: none. */
  readonly dockerConfigPath?: string | undefined;
  /** Podman's files of logins; absent: none. */
  readonly authFiles?: AuthFiles | undefined;
  /** Whether the engine is Podman, whose own files then come before Docker's. Asked only where both have a login. */
  readonly prefersPodman?: () => Promise<boolean>;
  /** A login for the one registry `repoHost`, unless `config.json` has one. Needs `repoPass`. */
  readonly repoUser?: string | undefined;
  readonly repoPass?: string | undefined;
  /** Registry of the login, as the user wrote it; Docker Hub by default. */
  readonly repoHost?: string | undefined;
  /** Time limit of a credential helper; 10 s by default. */
  readonly helperDeadlineMs?: number | undefined;
};

/** `chosen`: the file that the user has named, before all others. `usual`: the places where Podman looks, in its order. */
type AuthFiles = { readonly chosen: string | undefined; readonly usual: readonly string[] };

/** The login for a registry, with a text for messages about refusals. */
export type Login = {
  /** Registry host in its normalised form. */
  readonly registry: string;
  /** Undefined: no login, requests are anonymous. */
  readonly credential: Credential | undefined;
  /** The source of the login, or why there is none, as a clause for a message. */
  readonly origin: string;
  /** It is for a part of the registry, so it is no login for other repositories. */
  readonly isNamespaced?: true;
};

export type Credentials = {
  /** `registry` as in a normalised reference. Throws a `HttpFailure` when `config.json` cannot be read. */
  readonly find: (registry: string, repository?: string) => Promise<Login>;
  /** Like `find`, without `repoUser`: for mirrors, and for targets of redirects. */
  readonly findOwn: (registry: string, repository?: string) => Promise<Login>;
  /** Drops the cached answer of the helper. Call it after a refusal. */
  readonly forget: (registry: string) => void;
};

/**
 * Searches each file in Docker's order: the registry's helper, the helper for all, the file itself
 * (https://docs.docker.com/reference/cli/docker/login/#credential-helpers). The first file with a login counts.
 */
export function createCredentials(options: CredentialOptions): Credentials {
  const { clock, log, dockerConfigPath, helperDeadlineMs = 10_000 } = options;
  const { repoUser = '', repoPass = '', repoHost = 'docker.io' } = options;
  const repoRegistry = canonicalHubHost(registryOfKey(repoHost.trim()));
  const hinted = createLru<true>(maxRemembered);
  const { authFiles, prefersPodman = () => Promise.resolve(false) } = options;
  const open = (place: ConfigPlace): ConfigFile => ({ ...place, read: createDockerConfigFile(clock, place) });
  const chosen = [authFiles?.chosen].flatMap((path) => (path === undefined ? [] : open({ path, form: 'podman' })));
  const docker = [dockerConfigPath].flatMap((path) => (path === undefined ? [] : open({ path, form: 'docker' })));
  const usual = (authFiles?.usual ?? []).map((path) => open({ path, form: 'podman', isUsual: true }));
  const remembered = createLru<Remembered>(maxRemembered);
  const flight = createSingleFlight<HelperAnswer>();

  return {
    async find(registry, repository) {
      const { login, isSettled } = await search(registry, repository);
      if (isSettled || repoUser === '' || repoPass === '') return login;
      if (canonicalHubHost(registry) !== repoRegistry) return withoutRepoLogin(login);
      const credential = { kind: 'password', username: repoUser, password: repoPass } as const;
      return { registry, credential, origin: 'the login of REPO_USER and REPO_PASS' };
    },
    findOwn: async (registry, repository) => (await search(registry, repository)).login,
    forget: (registry) => remembered.delete(registry),
  };

  /** REPO_USER's login is for one registry. It is not sent to other registries that images or labels name. */
  function withoutRepoLogin({ registry, credential, origin }: Login): Login {
    if (hinted.get(registry) === undefined) {
      hinted.set(registry, true);
      log?.info(`REPO_USER and REPO_PASS are not sent to this registry: they are for ${quoted(repoRegistry)}`, {
        registry,
        remedy: `run docker login for this registry; if they are for it, name it with --repo-host (REPO_HOST)`,
      });
    }
    return { registry, credential, origin: `${origin} (REPO_USER is for ${quoted(repoRegistry)})` };
  }

  async function search(registry: string, repository: string | undefined): Promise<Found> {
    const named = await searchIn(chosen, registry, repository);
    if (named?.login.credential !== undefined) return named;
    const ofDocker = await searchIn(docker, registry, repository);
    const ofPodman = await searchIn(usual, registry, repository);
    const [first, second] =
      ofPodman?.login.credential !== undefined && (ofDocker?.login.credential === undefined || (await prefersPodman()))
        ? [ofPodman, ofDocker]
        : [ofDocker, ofPodman];
    return (
      [first, named, second].find((found) => found?.isSettled === true) ?? first ?? named ?? second ?? nothing(registry)
    );
  }

  /** In the first of the files with a login, or the reason why the first with an entry has none. Undefined: there are no files. */
  async function searchIn(
    files: readonly ConfigFile[],
    registry: string,
    repository: string | undefined,
  ): Promise<Found | undefined> {
    let without: Found | undefined;
    for (const file of files) {
      const found = await searchFile(file, registry, repository);
      if (found.login.credential !== undefined) return found;
      if (without === undefined || (found.isSettled && !without.isSettled)) without = found;
    }
    return without;
  }

  async function searchFile(
    { path, read }: ConfigFile,
    registry: string,
    repository: string | undefined,
  ): Promise<Found> {
    const config = await read();
    const entry = entryFor(config, registry, repository);
    const isNamespaced = entry !== config.logins.get(registry);
    const file = quoted(path, 300);
    // An empty name means the file: the default helper is not used for this registry.
    const helper = (config.helpers.get(registry) ?? config.store) || undefined;
    const answer = helper === undefined ? none : await ask(helper, registry);
    const settled = (credential: Credential, origin: string): Found => ({
      login: { registry, credential, origin },
      isSettled: true,
    });
    if (answer.kind === 'found') return settled(answer.credential, `the login from docker-credential-${helper}`);
    if (typeof entry === 'object') {
      const found = settled(entry, `the login in ${file}`);
      return isNamespaced ? { ...found, login: { ...found.login, isNamespaced } } : found;
    }
    const why = entry === 'malformed' ? `its login in ${file} cannot be read` : noLogin;
    return {
      login: { registry, credential: undefined, origin: answer.kind === 'failed' ? answer.why : why },
      isSettled: entry === 'malformed' || (helper !== undefined && (entry === 'empty' || config.helpers.has(registry))),
    };
  }

  async function ask(helper: string, registry: string): Promise<HelperAnswer> {
    const known = remembered.get(registry);
    if (known?.helper === helper && clock.monotonicMs() < known.untilMs) return known.answer;
    return flight(`${helper} ${registry}`, async () => {
      const answer = await askHelper(helper, registry === 'docker.io' ? hubKey : registry, helperDeadlineMs);
      const ttlMs = answer.kind === 'failed' ? failureTtlMs : answerTtlMs;
      remembered.set(registry, { helper, answer, untilMs: clock.monotonicMs() + ttlMs });
      if (answer.kind === 'failed') log?.warn('A credential helper failed', { registry, why: answer.why });
      return answer;
    });
  }
}

type ConfigFile = ConfigPlace & { readonly read: () => Promise<DockerConfig> };

const noLogin = 'there is no login for it';

function nothing(registry: string): Found {
  return { login: { registry, credential: undefined, origin: noLogin }, isSettled: false };
}

/** Maps the web host names of Docker Hub, which `config.json` does not use, to `docker.io`. */
function canonicalHubHost(registry: string): string {
  return hubWebNames.has(registry) ? 'docker.io' : registry;
}

const hubWebNames: ReadonlySet<string> = new Set(['registry.hub.docker.com', 'hub.docker.com']);

/** `isSettled`: the configuration covers the registry, so the login of REPO_USER does not apply. */
type Found = { readonly login: Login; readonly isSettled: boolean };

type Remembered = { readonly helper: string; readonly answer: HelperAnswer; readonly untilMs: number };

const none: HelperAnswer = { kind: 'none' };

const maxRemembered = 100;

/** Helpers start processes and call cloud services. Their logins are valid for hours. */
const answerTtlMs = 120_000;
const failureTtlMs = 30_000;

type Credential =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** Exchanged for a token at the token server: https://distribution.github.io/distribution/spec/auth/oauth/ */
  | { readonly kind: 'identity-token'; readonly username: string; readonly identityToken: string }
  /** Sent to the registry unchanged. */
  | { readonly kind: 'registry-token'; readonly registryToken: string };

/** `empty`: the helper has the login. `malformed`: the entry cannot be read. */
type Entry = Credential | 'empty' | 'malformed';

/** The logins of Docker's `config.json` or Podman's `auth.json`, by registry as in a normalised reference. */
type DockerConfig = {
  readonly logins: ReadonlyMap<string, Entry>;
  /** Logins for a part of a registry, by `registry/namespace` or `registry/repository`. */
  readonly namespaced: ReadonlyMap<string, Entry>;
  /** Names of helper programs, without `docker-credential-`; empty: none. */
  readonly helpers: ReadonlyMap<string, string>;
  /** The helper for all other registries. */
  readonly store: string | undefined;
};

/**
 * Undefined when the text is not a JSON object. Fields:
 * https://github.com/docker/cli/blob/master/cli/config/configfile/file.go and
 * https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md In Docker's file a key with a path is that
 * of a whole registry, unless a longer one matches better; in Podman's it is not.
 */
export function parseDockerConfig(text: string, form: 'docker' | 'podman' = 'docker'): DockerConfig | undefined {
  const config = parseJsonObject(text);
  if (config === undefined) return undefined;
  const auths = objectOf(config['auths']) ?? {};
  const isNamespaced = (key: string): boolean => /^[^/]+\/[^/]/.test(key) && !key.includes('://');
  const whole = Object.fromEntries(Object.entries(auths).filter(([key]) => form === 'docker' || !isNamespaced(key)));
  const parts = Object.entries(auths).filter(([key]) => isNamespaced(key));
  return {
    logins: byRegistry(whole, (entry) => readLogin(objectOf(entry) ?? {})),
    namespaced: new Map(parts.map(([key, entry]) => [namespaceOf(key), readLogin(objectOf(entry) ?? {})])),
    helpers: byRegistry(config['credHelpers'], stringOf),
    store: stringOf(config['credsStore']),
  };
}

/** The login for a repository: that of the longest namespace, else that of the registry. */
function entryFor({ logins, namespaced }: DockerConfig, registry: string, repository = ''): Entry | undefined {
  const parts = repository.split('/');
  for (let length = parts.length; length > 0 && namespaced.size > 0; length -= 1) {
    const entry = namespaced.get([registry, ...parts.slice(0, length)].join('/'));
    if (entry !== undefined) return entry;
  }
  return logins.get(registry);
}

function namespaceOf(key: string): string {
  const [, ...path] = key.replace(/\/+$/, '').split('/');
  return [registryOfKey(key), ...path].join('/');
}

/** `https://index.docker.io/v1/` is `docker.io`. A scheme and a path do not identify a registry. */
export function registryOfKey(key: string): string {
  const host = key
    .replace(/^https?:\/\//i, '')
    .replace(/\/.*$/s, '')
    .toLowerCase();
  return hubNames.has(host) ? 'docker.io' : host;
}

const hubNames: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/** If several keys name one registry, the key in Docker's own form wins, else the first. */
function byRegistry<Value>(value: unknown, read: (entry: unknown) => Value | undefined): ReadonlyMap<string, Value> {
  const found = new Map<string, Value>();
  for (const [key, entry] of Object.entries(objectOf(value) ?? {})) {
    const registry = registryOfKey(key);
    const known = read(entry);
    const isExact = key === registry || key === hubKey;
    if (known !== undefined && (isExact || !found.has(registry))) found.set(registry, known);
  }
  return found;
}

/** The one key of Docker Hub: https://docs.docker.com/reference/cli/docker/login/ */
export const hubKey = 'https://index.docker.io/v1/';

function readLogin(entry: JsonObject): Credential | 'empty' | 'malformed' {
  const field = (name: string): string => stringOf(entry[name]) ?? '';
  const auth = field('auth') === '' ? undefined : decodeAuth(field('auth'));
  const registryToken = field('registrytoken');
  if (registryToken !== '')
    return isHeaderText(registryToken) ? { kind: 'registry-token', registryToken } : 'malformed';
  const username = auth?.username ?? field('username');
  const password = auth?.password ?? field('password');
  if (field('identitytoken') !== '') return { kind: 'identity-token', username, identityToken: field('identitytoken') };
  if (username !== '' && password !== '') return { kind: 'password', username, password };
  return field('auth') === '' && username === '' && password === '' ? 'empty' : 'malformed';
}

/** True if a header can carry the text unchanged. */
function isHeaderText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Base64 of `user:password`; Docker pads passwords with zero bytes. */
function decodeAuth(auth: string): { readonly username: string; readonly password: string } | undefined {
  const text = Buffer.from(auth, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 1) return undefined;
  return { username: text.slice(0, colon), password: text.slice(colon + 1).replaceAll('\0', '') };
}

/** `isUsual`: one of the places where a file of another user may be, which counts as empty then. */
type ConfigPlace = { readonly path: string; readonly form: 'docker' | 'podman'; readonly isUsual?: boolean };

/**
 * Docker's `config.json` or Podman's `auth.json`, read again after a change of the file. A missing file counts as empty;
 * an unreadable file throws. The error never quotes the content.
 */
function createDockerConfigFile(clock: Clock, { path, form, isUsual }: ConfigPlace): () => Promise<DockerConfig> {
  let known: { readonly version: string; readonly config: DockerConfig } | undefined;

  return cachedFor(clock, recheckMs, async () => {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(path);
      const version = [mtimeMs, ctimeMs, size, ino].join(' ');
      if (known?.version !== version) known = { version, config: await read(path, size, form) };
      return known.config;
    } catch (error) {
      if (isUsual === true && codeOf(error) === 'EACCES') return emptyDockerConfig;
      return emptyIfMissing(path, error);
    }
  });
}

const emptyDockerConfig: DockerConfig = {
  logins: new Map(),
  namespaced: new Map(),
  helpers: new Map(),
  store: undefined,
};

/** The shortest time between two checks of the file for changes. */
const recheckMs = 250;

/** Thousands of logins fit. */
const maxBytes = 1024 * 1024;

async function read(path: string, size: number, form: ConfigPlace['form']): Promise<DockerConfig> {
  if (size > maxBytes) throw refuse(path, `it has more than ${maxBytes} bytes`);
  const config = parseDockerConfig(await readFile(path, 'utf8'), form);
  if (config === undefined) throw refuse(path, 'it is not a JSON object');
  return config;
}

function emptyIfMissing(path: string, error: unknown): DockerConfig {
  if (error instanceof HttpFailure) throw error;
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return emptyDockerConfig;
  if (code === 'EISDIR') throw refuse(path, 'it is a folder: an engine creates one if the mounted file is missing');
  throw refuse(path, code === 'EACCES' ? 'this process may not read it' : `reading failed (${code})`);
}

function refuse(path: string, why: string): HttpFailure {
  return new HttpFailure('denied', `the logins in ${quoted(path, 300)} cannot be read: ${why}`, {
    remedy: 'correct or remove that file',
  });
}

/** `none`: the helper has no login for the server. */
type HelperAnswer =
  | { readonly kind: 'found'; readonly credential: Credential }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly why: string };

/**
 * Asks a program `docker-credential-NAME` for the login of a server, without a shell:
 * https://github.com/docker/docker-credential-helpers#development
 */
function askHelper(name: string, server: string, deadlineMs: number): Promise<HelperAnswer> {
  const program = `docker-credential-${name}`;
  if (!/^[a-z0-9._-]+$/.test(name))
    return Promise.resolve({ kind: 'failed', why: `"${cut(name)}" is not the name of a credential helper` });
  return new Promise((resolve) => {
    const options = {
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
      maxBuffer: maxOutputBytes,
      windowsHide: true,
    } as const;
    const child = execFile(program, ['get'], options, (error, stdout, stderr) => {
      if (error === null) resolve(readAnswer(stdout, program));
      else if (stdout.trim() === notFound) resolve({ kind: 'none' });
      else resolve({ kind: 'failed', why: `${program} ${whyOf(error, stderr || stdout, deadlineMs)}` });
    });
    // A program may close its input without reading it. Only the output counts.
    child.stdin?.on('error', () => {});
    child.stdin?.end(server);
  });
}

const maxOutputBytes = 64 * 1024;

/** Every helper writes this text: https://pkg.go.dev/github.com/docker/docker-credential-helpers/credentials */
const notFound = 'credentials not found in native keychain';

/** With this user name the secret is an identity token. */
const tokenUser = '<token>';

function readAnswer(stdout: string, program: string): HelperAnswer {
  const answer = parseJsonObject(stdout);
  const username = stringOf(answer?.['Username']) ?? '';
  const secret = stringOf(answer?.['Secret']) ?? '';
  if (answer === undefined) return { kind: 'failed', why: `${program} gave an answer that cannot be read` };
  if (secret === '') return { kind: 'none' };
  if (username === tokenUser)
    return { kind: 'found', credential: { kind: 'identity-token', username: '', identityToken: secret } };
  return { kind: 'found', credential: { kind: 'password', username, password: secret } };
}

function whyOf(error: Error & { code?: unknown; killed?: boolean }, output: string, deadlineMs: number): string {
  if (error.code === 'ENOENT') return 'is not installed here';
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `wrote more than ${maxOutputBytes} bytes`;
  if (error.killed === true) return `did not answer within ${formatDuration(deadlineMs)}`;
  // Helpers write their errors as plain text to the output. An object there may contain the secret.
  const said = parseJsonObject(output) === undefined ? cut(output) : '';
  return `failed: ${said || String(error.code)}`;
}
