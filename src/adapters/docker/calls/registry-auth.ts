import type { RegistryCredentials } from '../../../domain/outside/registry.ts';

/**
 * The header `X-Registry-Auth`: base64 for URLs, with padding. A swarm accepts it without padding, but every task then
 * fails with "No such image": https://docs.docker.com/reference/api/engine/#section/Authentication
 */
export function encodeCredentials(credentials: RegistryCredentials): string {
  return Buffer.from(JSON.stringify({ ...loginOf(credentials), serveraddress: credentials.serverAddress }))
    .toString('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

function loginOf(credentials: RegistryCredentials): Readonly<Record<string, string>> {
  switch (credentials.kind) {
    case 'password':
      return { username: credentials.username, password: credentials.password };
    case 'identity-token':
      return { username: credentials.username, identitytoken: credentials.identityToken };
    case 'registry-token':
      return { registrytoken: credentials.registryToken };
  }
}

/** The login's secrets, also in the encoded form that the engine sends. */
export function secretsOf(credentials: RegistryCredentials): readonly string[] {
  switch (credentials.kind) {
    case 'password': {
      const { username, password } = credentials;
      return [password, Buffer.from(`${username}:${password}`).toString('base64')];
    }
    case 'identity-token':
      return [credentials.identityToken];
    case 'registry-token':
      return [credentials.registryToken];
  }
}
