import type { Login } from './credentials.ts';
import { RegistryFailure } from '../transport/failure.ts';

/**
 * The failure of whoever was not let in. Registries do not tell a repository that is not ours from
 * one that does not exist, so neither do we.
 */
export function denied(host: string, login: Login, said: string): RegistryFailure {
  const what = login.credential === undefined ? login.origin : `${login.origin} did not open it`;
  const words = said === '' ? '' : ` (${said})`;
  return new RegistryFailure('registry-denied', `access is denied, or there is no such repository${words}; ${what}`, {
    host,
    remedy: remedyFor(login),
  });
}

/** The token server knows the login, and refuses it. */
export function loginRefused(host: string, login: Login, said: string): RegistryFailure {
  if (login.credential === undefined) return denied(host, login, said);
  const words = said === '' ? '' : `: ${said}`;
  return new RegistryFailure('registry-denied', `${login.origin} is refused${words}`, {
    host,
    remedy: remedyFor(login),
  });
}

/** The registry wants to know who we are, and everybody on the way would learn it. */
export function loginKeptBack(host: string, login: Login): RegistryFailure {
  return new RegistryFailure('registry-denied', `${login.origin} is kept back, because it speaks plain HTTP`, {
    host,
    remedy: `if the login may travel unencrypted, add ${host} to the engine's insecure-registries`,
  });
}

function remedyFor({ registry }: Login): string {
  const [server, host] = registry === 'docker.io' ? ['', ''] : [` ${registry}`, `, and REPO_HOST to ${registry}`];
  return `run "docker login${server}" and give us its config.json, or set REPO_USER and REPO_PASS${host}`;
}
