import { type Given } from '../given/given-options.ts';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineAddress } from '../../domain/fleet/engine-address.ts';
import type { Schedule } from '../../domain/schedule/schedule.ts';
import type { NotificationSettings } from '../../domain/notification/notification-settings.ts';
import type { HttpSettings } from '../../domain/settings/http-settings.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import type { Fault } from '../declaration/fault.ts';
import { makeHttpSettings } from './http-settings.ts';
import { makeNotificationSettings } from '../notifications/make-notification-settings.ts';
import { engineTls, readEngines, warnOfUnusedWaves } from '../engines/engines.ts';
import { remoteSettings, type RemoteSettings } from './remote-settings.ts';
import type { OptionValues } from '../table/options.ts';
import { intervalSchedule, readSchedule } from '../schedule/schedule.ts';
import { readNamedFile, type EngineCertificates } from '../given/secrets.ts';
import { serviceSettings, timeZoneOf } from './service-settings.ts';

/** All settings of the process, ready to use. */
export type Settings = {
  readonly service: ServiceSettings;
  readonly request: RequestSettings;
  readonly run: RunSettings;
  readonly state: StateSettings;
  readonly engine: EngineSettings;
  readonly registry: RegistrySettings;
  readonly http: HttpSettings;
  readonly remote: RemoteSettings;
  readonly notifications: NotificationSettings;
  readonly log: LogSettings;
  readonly output: OutputSettings;
};

/** Filters of one check or update; both lists empty: all watched containers. */
export type RequestSettings = {
  readonly images: readonly string[];
  readonly containers: readonly string[];
  /** Names of engines; empty: all of them. */
  readonly engines: readonly string[];
  readonly dryRun: boolean;
  readonly retryFailed: boolean;
  /** Engines of later waves do not wait for earlier ones. */
  readonly ignoreWaves: boolean;
  /** Ignores windows. */
  readonly now: boolean;
  /** How long a decision applies. Undefined: the default of its kind. */
  readonly decideForMs: number | undefined;
  /** In a dry run: creates the new containers under temporary names and compares them. */
  readonly verify: boolean;
};

export type StateSettings = {
  /** Undefined: nothing is stored outside of the engine. */
  readonly folder: string | undefined;
  /** Undefined: a key in `folder`, if there is one. */
  readonly journalKeyFile: string | undefined;
  /** Names of containers whose journals are accepted without a seal. */
  readonly unsealed: readonly string[];
};

export type RunSettings = {
  /** Whether a command was named. Otherwise `run` is the default. */
  readonly isNamed: boolean;
  readonly once: boolean;
  /** Only checks that the engine answers. */
  readonly healthCheck: boolean;
  readonly schedule: Schedule;
  /** The flag or variable with the schedule. Undefined: there is none. */
  readonly scheduleSource: string | undefined;
  readonly updateOnStart: boolean;
  /** The update that this helper finishes. Undefined outside of a helper. */
  readonly finishUpdate: string | undefined;
  /** The engine with that update, if there are several. */
  readonly finishOn: string | undefined;
  /** Whether the schedule applies while the HTTP API is on. */
  readonly periodicPolls: boolean;
  /** For the demonstration. Undefined: until it is interrupted. */
  readonly rounds: number | undefined;
  /** For the demonstration: prints only the address of its page. */
  readonly pageOnly: boolean;
};

export type EngineSettings = {
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
export type WaveSettings = { readonly text: string; readonly pauseMs: number };

export type RegistrySettings = {
  /** The folder of Docker's config.json; undefined: none. */
  readonly dockerConfigPath: string | undefined;
  readonly repoUser: string | undefined;
  readonly repoPass: string | undefined;
  readonly repoHost: string;
  readonly tlsSkip: boolean;
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3';
  /** PEM files of authorities that are trusted besides the well-known ones. */
  readonly extraCa: readonly Buffer[];
  /** Files of public keys that sign images. */
  readonly verifyKeys: readonly string[];
  readonly proxy: ProxySettings;
};

/** URLs of proxies for `http:` and `https:`, and the hosts without a proxy. */
export type ProxySettings = {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly no: readonly string[];
};

export type LogSettings = {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'auto' | 'pretty' | 'json' | 'logfmt';
  /** Log level of a container that could not be checked. */
  readonly failedChecks: 'warn' | 'info';
  readonly colour: boolean;
};

export type OutputSettings = {
  /** How the service prints the outcome of each update. */
  readonly porcelain: 'none' | 'v1' | 'json';
  readonly json: boolean;
  /** Also false for a terminal that declares no control sequences. */
  readonly colour: boolean;
  /** Whether the terminal, if there is one, can move its cursor. */
  readonly live: boolean;
  /** Exit with 10 when updates are available. */
  readonly exitCode: boolean;
  /** Includes containers that are not watched. For `--help`: all options. */
  readonly all: boolean;
  /** Only options with a value other than the default. */
  readonly changed: boolean;
};

export type SettingsResult = {
  readonly settings: Settings;
  readonly faults: readonly Fault[];
  /** Sentences about settings without effect that the user may rely on. */
  readonly alarms: readonly string[];
  /** Sentences about settings whose effect may surprise. */
  readonly warnings: readonly string[];
};

/** Makes the settings of each part of the service from the options' values. Reads certificate files. */
export function makeSettings(given: Given): SettingsResult {
  const { command, names, values } = given;
  const faults: Fault[] = [];
  const alarms: string[] = [];
  const warnings: string[] = [];
  const canMoveCursor = values.terminalType !== 'dumb';
  const colour = canMoveCursor && !values.noColor;
  const http = makeHttpSettings(given, { faults, alarms, warnings });
  const engines = readEngines(given, dockerFolder(values), faults);
  const settings: Settings = {
    service: serviceSettings(given, { servesApi: http.groups.length > 0 }),
    request: {
      images: values.images,
      engines: values.engines,
      containers: command === 'run' ? [] : names,
      dryRun: values.dryRun || values.verify,
      retryFailed: values.retryFailed,
      ignoreWaves: values.ignoreWaves,
      now: values.now,
      decideForMs: values.decideForMs,
      verify: values.verify,
    },
    state: { folder: values.stateDir, journalKeyFile: values.journalKeyFile, unsealed: values.unsealed },
    run: {
      isNamed: given.commandNamed,
      once: values.runOnce,
      healthCheck: values.healthCheck,
      schedule: scheduleOf(given, faults),
      scheduleSource: scheduleSource(given),
      updateOnStart: values.updateOnStart,
      finishUpdate: values.finishUpdate?.replace(/@.*$/s, ''),
      finishOn: values.finishUpdate?.match(/@(.*)$/s)?.[1],
      periodicPolls: values.httpPeriodicPolls,
      rounds: values.rounds,
      pageOnly: values.page,
    },
    engine: {
      host: engines[0]?.host,
      engines,
      enginesAtOnce: values.enginesAtOnce,
      waves: values.waves === undefined ? undefined : { text: values.waves, pauseMs: values.wavePauseMs },
      userRuntimeFolder: values.userRuntimeFolder,
      apiVersion: values.engineApiVersion?.replace(/^v/, ''),
      tls: engineTls(given, engines, faults),
      tlsForTcp: values.engineTlsVerify || values.engineCertPath !== undefined,
    },
    registry: {
      dockerConfigPath: dockerConfigPath(values),
      repoUser: values.repoUser,
      repoPass: values.repoPassword,
      repoHost: values.repoHost,
      tlsSkip: values.registryTlsSkip,
      tlsMinVersion: values.registryTlsMinVersion === 'tls1.3' ? 'TLSv1.3' : 'TLSv1.2',
      extraCa: registryCa(given, faults),
      verifyKeys: values.verifyKeys,
      proxy: { http: values.httpProxy, https: values.httpsProxy, no: values.noProxy },
    },
    http,
    remote: remoteSettings(given, { faults, warnings }),
    notifications: makeNotificationSettings(given, { faults, warnings }),
    log: {
      level: logLevel(values),
      format: values.logFormat,
      colour,
      failedChecks: values.warnOnHeadFailure === 'never' ? 'info' : 'warn',
    },
    output: {
      porcelain: values.porcelain,
      json: values.json,
      colour,
      live: canMoveCursor,
      exitCode: values.exitCode,
      all: values.all,
      changed: values.changed,
    },
  };
  warnings.push(...warnOfUnusedWaves(given, engines));
  if (values.reviveStopped && !values.includeStopped)
    warnings.push(`${given.sourceOf('reviveStopped')} has no effect without --include-stopped`);
  return { settings, faults, alarms, warnings };
}

function scheduleSource({ values, sourceOf }: Given): string | undefined {
  if (values.schedule !== undefined) return sourceOf('schedule');
  return sourceOf('intervalMs') === 'intervalMs' ? undefined : sourceOf('intervalMs');
}

/** Interval and schedule exclude each other, as in the Watchtower family. */
function scheduleOf({ values, sourceOf }: Given, faults: Fault[]): Schedule {
  const interval = intervalSchedule(values.intervalMs);
  if (values.schedule === undefined) return interval;
  if (sourceOf('intervalMs') !== 'intervalMs') {
    const message = `Cannot use both ${sourceOf('intervalMs')} and ${sourceOf('schedule')}: both set the time of the next update`;
    faults.push({ kind: 'value', message });
  }
  return readSchedule(values.schedule, timeZoneOf(values)) ?? interval;
}

/** The places of the Watchtower family and of Docker's own client. `DOCKER_CONFIG` may also name the file itself. */
function dockerConfigPath({ dockerConfigFolder, homeFolder }: OptionValues): string | undefined {
  if (dockerConfigFolder?.endsWith('.json')) return dockerConfigFolder;
  if (dockerConfigFolder !== undefined) return join(dockerConfigFolder, 'config.json');
  if (existsSync(containerConfig)) return containerConfig;
  return homeFolder === undefined ? undefined : join(homeFolder, '.docker', 'config.json');
}

function dockerFolder(values: OptionValues): string | undefined {
  const path = dockerConfigPath(values);
  return path === undefined ? undefined : dirname(path);
}

const containerConfig = '/config.json';

function registryCa({ values, sourceOf }: Given, faults: Fault[]): readonly Buffer[] {
  if (values.registryCa === undefined) return [];
  const file = readNamedFile(sourceOf('registryCa'), values.registryCa);
  if (file.kind === 'content') return [file.content];
  faults.push(file.fault);
  return [];
}

function logLevel({ debug, trace, logLevel: level }: OptionValues): LogSettings['level'] {
  return debug || trace ? 'debug' : level;
}
