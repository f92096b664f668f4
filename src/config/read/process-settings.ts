import type { ForgeKind } from '../../domain/image/image-source.ts';
import type { HelperTask } from '../../domain/self-update/helper.ts';
import type { EngineAddress } from '../../domain/engine-address.ts';
import type { Schedule } from '../../domain/run/event.ts';
import type { NotificationSettings } from '../../domain/notification/message.ts';
import type { HttpSettings } from '../../domain/settings/http-settings.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { OptionValues } from '../table/options.ts';
import type { EngineCertificates } from './secrets.ts';
import type { Given } from './command-line.ts';
import { refusedValue, type Fault } from '../table/option.ts';

/** All settings of the process, ready to use. */
export type Settings = {
  readonly service: ServiceSettings;
  readonly request: RequestSettings;
  readonly run: RunSettings;
  readonly state: StateSettings;
  readonly compose: ComposeSettings;
  readonly engine: EngineSettings;
  readonly registry: RegistrySettings;
  readonly notes: NotesSettings;
  readonly http: HttpSettings;
  readonly remote: RemoteSettings;
  readonly notifications: NotificationSettings;
  readonly log: LogSettings;
  readonly output: OutputSettings;
};

/** `containers` are the filters of a request, like `images`; both empty: all watched containers. */
type RequestSettings = Pick<OptionValues, (typeof requestOptions)[number]> & {
  readonly containers: readonly string[];
  /** The choice about the data in a rollback. Undefined: none was made. */
  readonly rollbackData: 'restore' | 'leave' | undefined;
};

export const requestOptions = [
  'images',
  'yes',
  'keepNew',
  'withoutData',
  'engines',
  'dryRun',
  'verify',
  'retryFailed',
  'ignoreWaves',
  'now',
  'decideForMs',
] as const;

export type ComposeSettings = {
  readonly mode: 'off' | 'check' | 'write';
  /** Folders as the labels of containers name them, and where this process sees them, if that was said. Empty: any. */
  readonly roots: readonly { readonly named: string; readonly seen: string | undefined }[];
};

export type StateSettings = {
  /** Undefined: nothing is stored outside of the engine. */
  readonly folder: string | undefined;
  /** Undefined: a key in `folder`, if there is one. */
  readonly journalKeyFile: string | undefined;
  /** Names of containers whose journals are accepted without a seal. */
  readonly unsealed: readonly string[];
};

type RunSettings = {
  /**
   * Whether a command was named, or a variable of the Watchtower family is set. Otherwise `run` is the default, and a
   * word may be a mistyped command.
   */
  readonly isNamed: boolean;
  readonly once: boolean;
  /** Only checks that the engine answers. */
  readonly healthCheck: boolean;
  readonly schedule: Schedule;
  /** The largest random delay of its runs. */
  readonly scheduleJitterMs: number;
  /** The flag or variable with the schedule. Undefined: there is none. */
  readonly scheduleSource: string | undefined;
  readonly updateOnStart: boolean;
  /** Whether to check at the start what the API shows. */
  readonly startCheck: boolean;
  /** How long after the start, so that services that start together do not check together. */
  readonly startCheckDelayMs?: number;
  /** The update that this helper finishes. Undefined outside of a helper. */
  readonly finishUpdate: HelperTask | undefined;
  /** Whether the schedule applies while the HTTP API is on. */
  readonly periodicPolls: boolean;
  /** For the demonstration. Undefined: until it is interrupted. */
  readonly rounds: number | undefined;
  /** For the demonstration: prints only the address of its page. */
  readonly pageOnly: boolean;
};

type EngineSettings = {
  /** The address of the first engine. Undefined: one of the usual sockets. */
  readonly host: string | undefined;
  /** Several: a fleet. With one or none, its name does not matter. */
  readonly engines: readonly EngineAddress[];
  readonly enginesAtOnce: number;
  /** The order of several engines. Undefined: all at once. */
  readonly waves: WaveSettings | undefined;
  readonly userRuntimeFolder: string | undefined;
  readonly apiVersion: string | undefined;
  /** For engines without their own TLS settings. Undefined: no TLS. */
  readonly tls: (EngineCertificates & { readonly verify: boolean }) | undefined;
  /** Whether it also applies to `tcp://`, not only to `https://`. */
  readonly tlsForTcp: boolean;
};

/** `text`: the input of `parseWaves`, when there are several engines. */
type WaveSettings = { readonly text: string; readonly pauseMs: number };

type RegistrySettings = {
  /** The folder of Docker's config.json; undefined: none. */
  readonly dockerConfigPath: string | undefined;
  /** The user has named that folder, so Podman's usual files come after it. */
  readonly isDockerConfigChosen: boolean;
  /** Files of Podman with logins: the one that the user has named, and the usual places. */
  readonly authFiles: { readonly chosen: string | undefined; readonly usual: readonly string[] };
  readonly repoUser: string | undefined;
  readonly repoPass: string | undefined;
  readonly repoHost: string;
  readonly tlsSkip: boolean;
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3';
  /** PEM files of authorities that are trusted besides the well-known ones. */
  readonly extraCa: readonly Buffer[];
  /** Where the authorities of the system are. */
  readonly systemTrust: {
    readonly file: string | undefined;
    readonly folders: readonly string[];
    readonly nodeFile: string | undefined;
  };
  /** Files of public keys that sign images. */
  readonly verifyKeys: readonly string[];
  readonly proxy: ProxySettings;
};

/** Hosts with release notes besides those that everyone knows, and tokens by host. */
export type NotesSettings = {
  readonly hosts: ReadonlyMap<string, ForgeKind>;
  readonly tokens: ReadonlyMap<string, string>;
};

/** URLs of proxies for `http:` and `https:`, and the hosts without a proxy. */
type ProxySettings = {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly no: readonly string[];
};

type LogSettings = {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'auto' | 'pretty' | 'json' | 'logfmt';
  /** Log level of a container that could not be checked. */
  readonly failedChecks: 'warn' | 'info';
  readonly colour: boolean;
};

type OutputSettings = Pick<OptionValues, (typeof outputOptions)[number]> & {
  /** Also false for a terminal that declares no control sequences. */
  readonly colour: boolean;
  /** Whether the terminal, if there is one, can move its cursor. */
  readonly live: boolean;
};

export const outputOptions = ['porcelain', 'json', 'exitCode', 'all', 'changed'] as const;

/** The running service. */
type RemoteSettings = {
  /** `http://server:8080`, possibly with a path, without a trailing slash. Undefined: none is named. */
  readonly url: string | undefined;
  readonly token: string | undefined;
};

type Notes = { readonly faults: Fault[]; readonly warnings: string[] };

/** Without a service and its folder there are no history and no events, so these commands are refused. */
export function remoteSettings({ command, values, sourceOf }: Given, { faults, warnings }: Notes): RemoteSettings {
  const { remoteUrl: url, remoteToken: token } = values;
  const isAnywhere = url !== undefined || values.stateDir !== undefined;
  if (!isAnywhere && (command === 'history' || command === 'events')) faults.push(withoutService(command));
  else if (url === undefined && token !== undefined)
    warnings.push(`${sourceOf('remoteToken')} has no effect without --url`);
  for (const [source, value] of [
    [sourceOf('engineHost'), values.engineHost[0]],
    [sourceOf('stateDir'), values.stateDir],
  ] as const)
    if (url !== undefined && value !== undefined && source.startsWith('-'))
      warnings.push(`${source} has no effect with --url`);
  if (url !== undefined && token !== undefined && isPlainRemote(url))
    warnings.push(
      `${sourceOf('remoteToken')} is sent to ${sourceOf('remoteUrl')} over plain HTTP, where the network can read it; serve the API over https (--http-api-tls-cert), or reach it through a tunnel`,
    );
  if (url?.includes('@') === true) faults.push(refusedValue(sourceOf('remoteUrl'), url, plainAddress, true));
  // https://www.rfc-editor.org/rfc/rfc6750#section-2.1 and other characters that a header can contain.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    faults.push(refusedValue(sourceOf('remoteToken'), token, 'one word of ASCII characters', true));
  return { url: url?.replace(/\/+$/, ''), token };
}

/** Not over TLS, and not on this machine. */
function isPlainRemote(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** A password in an address is not part of the message. */
const plainAddress = 'an address such as http://server:8080 without a user; --token is for secrets';

function withoutService(command: 'history' | 'events'): Fault {
  const token = command === 'events' ? 'EVENTS-TOKEN' : 'TOKEN';
  const message = [
    `Cannot show ${command} without a running service: name it with --url or UPKEEP_URL,`,
    `as in "upkeep ${command} --url http://127.0.0.1:8080 --token ${token}"`,
    `(the service serves them with --http-api-endpoints ${command});`,
    `on its machine or in its container, --state-dir with its folder is enough`,
  ].join(' ');
  return { kind: 'usage', message };
}
