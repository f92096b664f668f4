import { checkingCommands } from './commands.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from './option.ts';

const commands = [...checkingCommands, 'rollback', 'recover'] as const;

/** The Watchtower family documents these versions, but uses 1.2 at least. */
const olderTls = { 'tls1.0': 'tls1.2', 'tls1.1': 'tls1.2' } as const;

/** With an optional scheme before it and path after it, as in `docker login`. */
function isRegistryHost(text: string): boolean {
  return /^(?:https?:\/\/)?(?:[a-z0-9](?:[a-z0-9.-]{0,253}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?(?:\/\S*)?$/i.test(
    text.trim(),
  );
}

function isForgeHost(text: string): boolean {
  return /^(?:github|gitlab|gitea)=[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?$/i.test(text);
}

function isHostWithToken(text: string): boolean {
  return /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?=[\x21-\x7e]{1,1000}$/i.test(text);
}

export const registryOptions = optionTable({ group: 'registry', commands }, {
  dockerConfigFolder: {
    kind: 'text',
    plainEnv: ['DOCKER_CONFIG'],
    commands: [...commands, 'containers'],
    placeholder: 'FOLDER',
    defaultMeaning: '/config.json if there is one, else ~/.docker',
    meaning: "Folder of Docker's config.json, with logins, credential helpers and contexts",
    example: '/home/me/.docker',
  },
  homeFolder: {
    kind: 'text',
    plainEnv: ['HOME'],
    commands: [...commands, 'containers'],
    isAmbient: true,
    placeholder: 'FOLDER',
    meaning: 'Home folder, with .docker/config.json',
    example: '/root',
  },
  registryAuthFile: {
    kind: 'text',
    plainEnv: ['REGISTRY_AUTH_FILE'],
    placeholder: 'FILE',
    defaultMeaning: "the places of Podman's auth.json",
    meaning: 'File with logins in the form of Podman, before all others',
    example: '/run/secrets/auth.json',
  },
  configHomeFolder: {
    kind: 'text',
    plainEnv: ['XDG_CONFIG_HOME'],
    isAmbient: true,
    placeholder: 'FOLDER',
    defaultMeaning: '~/.config',
    meaning: 'Folder with containers/auth.json, a file with logins of Podman',
    example: '/home/me/.config',
  },
  repoUser: {
    kind: 'text',
    plainEnv: ['REPO_USER'],
    mayNameFile: true,
    meaning: 'User name for the registry of --repo-host, if config.json has no login for it',
    example: 'robot',
  },
  repoPassword: {
    kind: 'text',
    plainEnv: ['REPO_PASS'],
    secret: true,
    mayNameFile: true,
    meaning: 'Password of REPO_USER, or a file with it',
    example: '/run/secrets/registry-password',
  },
  repoHost: {
    kind: 'text',
    flag: 'repo-host',
    plainEnv: ['REPO_HOST'],
    placeholder: 'HOST',
    default: 'docker.io',
    accepts: { test: isRegistryHost, expected: 'a registry such as docker.io, ghcr.io or registry.example:5000' },
    meaning: 'Registry that gets REPO_USER and REPO_PASS; no other registry does',
    example: 'ghcr.io',
  },
  registryTlsSkip: {
    kind: 'boolean',
    flag: 'registry-tls-skip',
    meaning: 'Accept any certificate and plain HTTP from every registry; a fake one can then read logins',
  },
  registryTlsMinVersion: {
    kind: 'choice',
    choices: ['tls1.2', 'tls1.3'],
    aliases: { ...olderTls, '1.2': 'tls1.2', 'tlsv1.2': 'tls1.2', '1.3': 'tls1.3', 'tlsv1.3': 'tls1.3' },
    flag: 'registry-tls-min-version',
    default: 'tls1.2',
    meaning: 'Oldest TLS version for registries; TLS1.0 and TLS1.1 mean TLS1.2',
    example: 'TLS1.3',
  },
  registryCa: {
    kind: 'text',
    flag: 'registry-ca',
    placeholder: 'FILE',
    meaning: 'PEM file with additional certificate authorities to trust',
    example: '/certs/company-ca.pem',
    commands: [...commands, 'notify'],
  },
  sslCertFile: {
    kind: 'text',
    plainEnv: ['SSL_CERT_FILE'],
    isAmbient: true,
    placeholder: 'FILE',
    defaultMeaning: 'the usual file of the system',
    meaning: 'PEM file of the authorities of the system',
    example: '/etc/ssl/certs/ca-certificates.crt',
    commands: [...commands, 'notify'],
  },
  sslCertFolders: {
    kind: 'text',
    plainEnv: ['SSL_CERT_DIR'],
    isAmbient: true,
    placeholder: 'FOLDER:…',
    meaning: 'Folders with more of these files',
    example: '/etc/ssl/certs',
    commands: [...commands, 'notify'],
  },
  nodeCaFile: {
    kind: 'text',
    plainEnv: ['NODE_EXTRA_CA_CERTS'],
    isAmbient: true,
    placeholder: 'FILE',
    meaning: 'PEM file of authorities that Node trusts too',
    example: '/certs/company-ca.pem',
    commands: [...commands, 'notify'],
  },
  verifyKeys: {
    kind: 'list',
    flag: 'verify-key',
    separators: 'comma',
    placeholder: 'FILE',
    atMost: 20,
    needsItem: true,
    meaning: 'PEM file with public keys of cosign; team.pub gives the key "team". A new image needs a signature by one',
    example: '/keys/team.pub',
    commands: [...checkingCommands, 'rollback'],
  },
  warnOnHeadFailure: {
    kind: 'choice',
    choices: ['always', 'auto', 'never'],
    flag: 'warn-on-head-failure',
    default: 'auto',
    meaning: 'Log level of a failed check: warning, or info (never)',
    example: 'never',
  },
  releaseNotesHosts: {
    kind: 'list',
    flag: 'release-notes-hosts',
    separators: 'comma or space',
    placeholder: 'KIND=HOST,…',
    atMost: 20,
    accepts: { test: isForgeHost, expected: 'github=HOST, gitlab=HOST or gitea=HOST' },
    meaning: 'Further hosts of release notes, with their kind: github (Enterprise), gitlab, or gitea, also for Forgejo',
    example: 'gitea=git.acme.com',
    commands: [...checkingCommands],
  },
  releaseNotesTokens: {
    kind: 'list',
    flag: 'release-notes-token',
    separators: 'comma or space',
    placeholder: 'HOST=TOKEN',
    secret: true,
    atMost: 20,
    accepts: { test: isHostWithToken, expected: 'HOST=TOKEN or HOST=FILE, as in github.com=/run/secrets/github' },
    meaning: 'Token for the release notes of a host, or a file with it',
    example: 'github.com=/run/secrets/github',
    commands: [...checkingCommands],
  },
  httpProxy: {
    kind: 'text',
    plainEnv: ['HTTP_PROXY', 'http_proxy'],
    placeholder: 'URL',
    secret: true,
    meaning: 'Proxy for registries and notification services with plain HTTP',
    example: 'http://proxy:3128',
    commands: [...commands, 'notify'],
  },
  httpsProxy: {
    kind: 'text',
    plainEnv: ['HTTPS_PROXY', 'https_proxy'],
    placeholder: 'URL',
    secret: true,
    meaning: 'Proxy for registries and notification services with HTTPS',
    example: 'http://proxy:3128',
    commands: [...commands, 'notify'],
  },
  noProxy: {
    kind: 'list',
    separators: 'comma or space',
    plainEnv: ['NO_PROXY', 'no_proxy'],
    placeholder: 'HOST,…',
    meaning: 'Hosts, domains and address ranges without a proxy',
    example: 'localhost,.internal,10.0.0.0/8',
    commands: [...commands, 'notify'],
  },
} as const satisfies OptionParts);
