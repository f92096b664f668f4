import { type JsonObject, objectOf, parseJsonObject, stringOf } from '../../../domain/text/json.ts';

export type Credential =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** Exchanged for a token at the token server: https://distribution.github.io/distribution/spec/auth/oauth/ */
  | { readonly kind: 'identity-token'; readonly username: string; readonly identityToken: string }
  /** Sent to the registry unchanged. */
  | { readonly kind: 'registry-token'; readonly registryToken: string };

/** `empty`: the helper has the login. `malformed`: the entry cannot be read. */
export type Entry = Credential | 'empty' | 'malformed';

/** The logins of Docker's `config.json` or Podman's `auth.json`, by registry as in a normalised reference. */
export type DockerConfig = {
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
export function entryFor({ logins, namespaced }: DockerConfig, registry: string, repository = ''): Entry | undefined {
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
