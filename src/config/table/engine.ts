import { checkingCommands, decisionCommands } from './commands.ts';
import { parseEngineAddress } from '../../domain/engine-address.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from './option.ts';

/** A process follows every engine: 100 engines with 30 containers each take about 100 MB of memory. */
const maxEngines = 200;

const commands = [...checkingCommands, 'rollback', 'recover', 'data', 'containers'] as const;

/** Options of the engine's address. The names are those of Docker's own command line. */
export const engineOptions = optionTable({ group: 'engine', commands }, {
  engineHost: {
    kind: 'list',
    separators: 'comma',
    atMost: maxEngines,
    flag: 'host',
    env: [],
    short: 'H',
    plainEnv: ['UPKEEP_HOSTS', 'DOCKER_HOST'],
    placeholder: '[NAME=]URL,…',
    defaultMeaning: "Docker's socket, else Podman's",
    accepts: {
      // `config/read/engines.ts` reports a wrong name, with its remedy, and a password, without it.
      test: (text) => {
        const read = parseEngineAddress(text);
        return !('fault' in read) || read.of !== 'address';
      },
      expected: 'an address such as unix:///var/run/docker.sock, tcp://server:2376 or ssh://user@server',
    },
    meaning: 'URL of the engine, or of several engines, each with a name',
    example: 'tcp://server:2376',
    isCommon: true,
  },
  engineContexts: {
    kind: 'list',
    separators: 'comma',
    atMost: maxEngines,
    flag: 'context',
    placeholder: 'NAME,…',
    meaning: "Engines of Docker's context store; all selects every context",
    example: 'nas,web',
  },
  engineTlsVerify: {
    kind: 'boolean',
    flag: 'tlsverify',
    env: [],
    short: 'v',
    plainEnv: ['DOCKER_TLS_VERIFY'],
    meaning: 'Use TLS with a tcp:// engine and verify its certificate',
  },
  engineCertPath: {
    kind: 'text',
    flag: 'cert-path',
    env: [],
    plainEnv: ['DOCKER_CERT_PATH'],
    placeholder: 'FOLDER',
    meaning: 'Folder with ca.pem, cert.pem and key.pem for TLS with the engine',
    example: '/certs/client',
  },
  engineApiVersion: {
    kind: 'text',
    flag: 'api-version',
    env: [],
    short: 'a',
    plainEnv: ['DOCKER_API_VERSION'],
    placeholder: 'VERSION',
    defaultMeaning: 'negotiated with the engine',
    accepts: { test: (text) => /^v?1\.\d{1,3}$/.test(text), expected: 'an API version such as 1.45' },
    meaning: 'Version of the Docker Engine API',
    example: '1.45',
  },
  enginesAtOnce: {
    kind: 'integer',
    min: 1,
    max: maxEngines,
    flag: 'engines-at-once',
    default: 10,
    meaning: 'Engines that are updated or checked at the same time',
    example: '3',
    commands: [...checkingCommands, 'rollback', 'recover'],
  },
  waves: {
    kind: 'text',
    flag: 'waves',
    placeholder: 'STEPS',
    defaultMeaning: 'none: all engines at once',
    meaning: 'Update several engines in this order: patterns of names, and shares of all engines',
    example: 'canary-.*, 25%, 100%',
    commands: checkingCommands,
  },
  wavePauseMs: {
    kind: 'duration',
    minMs: 0,
    maxMs: 30 * 86_400_000,
    flag: 'wave-pause',
    default: 600_000,
    meaning: 'Time that a wave must run a new version before the next wave gets it',
    example: '1h',
    commands: checkingCommands,
  },
  ignoreWaves: {
    kind: 'boolean',
    flag: 'ignore-waves',
    env: [],
    meaning: 'Update all engines now, without waiting for earlier waves',
    commands: ['update'],
  },
  healthCheck: {
    kind: 'boolean',
    flag: 'health-check',
    env: [],
    meaning: 'Exit with 0 if the engine answers: for the HEALTHCHECK of an image',
    commands: ['run'],
  },
  dockerContext: {
    kind: 'text',
    plainEnv: ['DOCKER_CONTEXT'],
    isAmbient: true,
    placeholder: 'NAME',
    defaultMeaning: 'the one of docker context use',
    meaning: "Engine of Docker's context store, without --host and --context",
    example: 'nas',
  },
  userRuntimeFolder: {
    kind: 'text',
    plainEnv: ['XDG_RUNTIME_DIR'],
    isAmbient: true,
    placeholder: 'FOLDER',
    meaning: 'Folder with the socket of a rootless Docker or Podman',
    example: '/run/user/1000',
  },
} as const satisfies OptionParts);

const remoteCommands = ['containers', 'history', 'events', 'notes', 'config', ...decisionCommands] as const;

/** Options of the connection to the HTTP API of a running service. */
export const remoteOptions = optionTable({ group: 'remote', commands: remoteCommands }, {
  remoteUrl: {
    kind: 'text',
    flag: 'url',
    placeholder: 'URL',
    accepts: { test: isBaseUrl, expected: 'an address such as http://server:8080, without query and fragment' },
    meaning: 'URL of the HTTP API of a running service. The flags --host and --state-dir override the variable',
    example: 'http://server:8080',
    isCommon: true,
  },
  remoteToken: {
    kind: 'text',
    flag: 'token',
    placeholder: 'TOKEN',
    mayNameFile: true,
    secret: true,
    meaning: 'Token of that service (for events, the events token), or a file with it',
    example: '/run/secrets/upkeep-token',
    isCommon: true,
  },
} as const satisfies OptionParts);

function isBaseUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]+(?:\/[^?#]*)?$/i.test(text)) return false;
  return URL.canParse(text);
}

const stateCommands = ['run', 'update', 'rollback', 'recover'] as const;

/** Options of stored state and of trust in journals. */
export const stateOptions = optionTable({ group: 'state', commands: stateCommands }, {
  stateDir: {
    kind: 'text',
    flag: 'state-dir',
    placeholder: 'FOLDER',
    meaning: 'Folder for persistent files',
    example: '/data',
    isCommon: true,
    commands: [
      ...stateCommands,
      'check',
      'notify',
      'token',
      'password',
      'containers',
      'history',
      'events',
      'notes',
      ...decisionCommands,
    ],
  },
  composeFiles: {
    kind: 'choice',
    flag: 'compose-files',
    default: 'off',
    choices: ['off', 'check', 'write'],
    meaning: 'check: show where a compose file has another image; write: write the new tag (needs --compose-roots)',
    example: 'write',
    commands: ['run', 'check', 'update', 'rollback', 'recover'],
  },
  composeRoots: {
    kind: 'list',
    separators: 'comma',
    flag: 'compose-roots',
    placeholder: 'FOLDER[=FOLDER],…',
    defaultMeaning: 'any folder',
    accepts: {
      test: (text) => /^\/[^=]*(?:=\/[^=]*)?$/.test(text) && !/(?:^|[/=])\.\.(?:[/=]|$)/.test(text),
      expected: 'absolute folders such as /opt/stacks or /opt/stacks=/host/stacks',
    },
    meaning: 'With --compose-files, use files below these folders only. After "=": where Upkeep sees the folder',
    example: '/opt/stacks,/srv=/host/srv',
    commands: ['run', 'check', 'update', 'rollback', 'recover'],
  },
  journalKeyFile: {
    kind: 'text',
    flag: 'journal-key-file',
    placeholder: 'FILE',
    defaultMeaning: 'journal.key in --state-dir, created on first use',
    meaning: 'Key that seals updates; a repair needs the same key',
    example: '/run/secrets/journal-key',
  },
  unsealed: {
    kind: 'list',
    flag: 'unsealed',
    env: [],
    separators: 'comma or space',
    placeholder: 'NAME',
    meaning: 'Repair the interrupted update of this container even without a seal',
    example: 'web',
    isCommon: true,
    commands: ['recover'],
  },
} as const satisfies OptionParts);
