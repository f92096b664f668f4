import { parseWaves, type WaveStep } from '../../domain/wave/wave-grammar.ts';
import type { ValueKind } from '../../domain/settings/values/label-values.ts';
import { deciding } from '../declaration/commands.ts';
import { mostEngines, parseEngineAddress } from '../../domain/fleet/engine-address.ts';
import type { Option } from '../declaration/option.ts';

const commands = ['run', 'check', 'update', 'rollback', 'recover', 'containers', ...deciding] as const;

/** The order of engines, as it was written and as it was read. */
type WaveSetting = { readonly text: string; readonly steps: readonly WaveStep[] };

const waveSetting: ValueKind<WaveSetting | undefined> = {
  accepted: 'patterns of names and rising shares such as "canary-.*, 25%, 100%"',
  parse: (text) => {
    const steps = parseWaves(text);
    if ('fault' in steps) return undefined;
    // Characters that no name of an engine has.
    return steps.some((step) => step.kind === 'names' && /[\s/:]/.test(step.text)) ? undefined : { text, steps };
  },
  print: (waves) => waves?.text ?? '',
};

/** How the container engine is reached; the names are those of Docker's own command line. */
export const engineOptions = {
  engineHost: {
    group: 'engine',
    kind: 'list',
    separators: 'comma',
    atMost: mostEngines,
    flag: 'host',
    short: 'H',
    plainEnv: ['UPKEEP_HOSTS', 'DOCKER_HOST'],
    placeholder: '[NAME=]URL,…',
    default: [],
    defaultMeaning: "Docker's socket, else Podman's",
    accepts: {
      // A fault of a name is told with its remedy: config/read/engines.ts.
      test: (text) => {
        const read = parseEngineAddress(text);
        return !('fault' in read) || read.of === 'name';
      },
      expected: 'an address such as unix:///var/run/docker.sock, tcp://server:2376 or ssh://user@server',
    },
    meaning:
      'URL of the engine, or of several engines, each with a name. Without a name it is local for a socket, else the host',
    example: 'tcp://server:2376',
    isCommon: true,
    commands,
  },
  engineContexts: {
    group: 'engine',
    kind: 'list',
    separators: 'comma',
    atMost: mostEngines,
    flag: 'context',
    env: ['CONTEXT'],
    placeholder: 'NAME,…',
    default: [],
    meaning: "Engines of Docker's context store, with their TLS files; all for each of them, after those of --host",
    example: 'nas,web',
    commands,
  },
  engineTlsVerify: {
    group: 'engine',
    kind: 'boolean',
    flag: 'tlsverify',
    short: 'v',
    plainEnv: ['DOCKER_TLS_VERIFY'],
    default: false,
    meaning: 'Use TLS with a tcp:// engine and verify its certificate',
    example: 'true',
    commands,
  },
  engineCertPath: {
    group: 'engine',
    kind: 'text',
    flag: 'cert-path',
    plainEnv: ['DOCKER_CERT_PATH'],
    placeholder: 'FOLDER',
    default: undefined,
    defaultMeaning: 'none',
    meaning: 'Folder with ca.pem, cert.pem and key.pem for TLS with the engine',
    example: '/certs/client',
    commands,
  },
  engineApiVersion: {
    group: 'engine',
    kind: 'text',
    flag: 'api-version',
    short: 'a',
    plainEnv: ['DOCKER_API_VERSION'],
    placeholder: 'VERSION',
    default: undefined,
    defaultMeaning: 'negotiated with the engine',
    accepts: { test: (text) => /^v?1\.\d{1,3}$/.test(text), expected: 'an API version such as 1.45' },
    meaning: 'Version of the Docker Engine API. An unusable version causes a warning and is negotiated instead',
    example: '1.45',
    commands,
  },
  enginesAtOnce: {
    group: 'engine',
    kind: 'integer',
    min: 1,
    max: mostEngines,
    flag: 'engines-at-once',
    env: ['ENGINES_AT_ONCE'],
    default: 10,
    meaning: 'Engines, of several, that are worked on at once',
    example: '3',
    commands: ['run', 'check', 'update', 'rollback', 'recover'],
  },
  waves: {
    group: 'engine',
    kind: 'parsed',
    flag: 'waves',
    env: ['WAVES'],
    placeholder: 'STEPS',
    default: undefined,
    defaultMeaning: 'none: all engines at once',
    value: waveSetting,
    meaning:
      'Update several engines in this order: patterns of names, and shares of all engines. A later engine gets what those before it have proven',
    example: 'canary-.*, 25%, 100%',
    commands: ['run', 'check', 'update'],
  },
  wavePauseMs: {
    group: 'engine',
    kind: 'duration',
    minMs: 0,
    maxMs: 30 * 86_400_000,
    flag: 'wave-pause',
    env: ['WAVE_PAUSE'],
    default: 600_000,
    meaning: 'How long the engines of a wave have to run a new version before the next wave gets it',
    example: '1h',
    commands: ['run', 'check', 'update'],
  },
  ignoreWaves: {
    group: 'engine',
    kind: 'boolean',
    flag: 'ignore-waves',
    default: false,
    meaning: 'Update all engines now, whatever those before them have proven',
    example: 'true',
    commands: ['update'],
  },
  healthCheck: {
    group: 'engine',
    kind: 'boolean',
    flag: 'health-check',
    default: false,
    meaning: 'Check whether the engine answers, then exit, with 0 if it does: for the HEALTHCHECK of an image',
    example: 'true',
    commands: ['run'],
  },
  userRuntimeFolder: {
    group: 'engine',
    kind: 'text',
    plainEnv: ['XDG_RUNTIME_DIR'],
    placeholder: 'FOLDER',
    default: undefined,
    defaultMeaning: 'none',
    meaning: 'Folder with the socket of a rootless Docker or Podman',
    example: '/run/user/1000',
    commands,
  },
} as const satisfies Readonly<Record<string, Option>>;
