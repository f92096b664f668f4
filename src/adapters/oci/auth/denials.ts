import type { Login } from './credentials.ts';
import { HttpFailure } from '../../http/failure.ts';

/**
 * The failure of a denied request. Registries do not distinguish a private repository from a missing one, so the
 * message names both.
 */
export function denied(host: string, login: Login, said: string): HttpFailure {
  const what = login.credential === undefined ? login.origin : `${login.origin} does not give access`;
  const words = said === '' ? '' : ` (${said})`;
  return new HttpFailure('denied', `access is denied, or there is no such repository${words}; ${what}`, {
    host,
    remedy: remedyFor(login),
  });
}

/** The failure when the token server refuses the login. */
export function loginRefused(host: string, login: Login, said: string): HttpFailure {
  if (login.credential === undefined) return denied(host, login, said);
  const words = said === '' ? '' : `: ${said}`;
  return new HttpFailure('denied', `${login.origin} is refused${words}`, {
    host,
    remedy: remedyFor(login),
  });
}

/** The failure when the registry requires a login, but uses plain HTTP. */
export function loginWithheld(host: string, login: Login): HttpFailure {
  return new HttpFailure('denied', `${login.origin} is not sent, because the registry uses plain HTTP`, {
    host,
    remedy: `if the login may travel unencrypted, add ${host} to the engine's insecure-registries`,
  });
}

function remedyFor({ registry }: Login): string {
  const [server, host] = registry === 'docker.io' ? ['', ''] : [` ${registry}`, `, and REPO_HOST to ${registry}`];
  return `run "docker login${server}" and give Upkeep its config.json, or set REPO_USER and REPO_PASS${host}`;
}
