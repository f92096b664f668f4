import { type Given } from '../given/given.ts';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineAddress } from '../../domain/fleet/engine-address.ts';
import type { Schedule } from '../../domain/schedule/schedule.ts';
import type { NotificationSettings } from '../../domain/notification/settings.ts';
import type { HttpSettings } from '../../domain/settings/http-settings.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { Fault } from '../declaration/fault.ts';
import { makeHttpSettings } from './http-settings.ts';
import { makeNotificationSettings } from '../notifications/settings.ts';
import { engineTls } from '../engines/engine-tls.ts';
import { readEngines, strangeWaves } from '../engines/engines.ts';
import { remoteSettings, type RemoteSettings } from './remote-settings.ts';
import type { OptionValues } from '../table/options.ts';
import { intervalSchedule, readSchedule } from '../schedule/schedule.ts';
import { readNamedFile, type EngineCertificates } from '../given/secrets.ts';
import { serviceSettings, timeZoneOf } from './service-settings.ts';

/** All that the process is told from outside, ready to use. */
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
  /** Engines of later waves do not wait. */
  readonly ignoreWaves: boolean;
  /** Outside of the windows too. */
  readonly now: boolean;
  /** How long a decision lasts; undefined: as long as such decisions do. */
  readonly decideForMs: number | undefined;
  /** In a dry run: creates the new containers aside, and compares them. */
  readonly verify: boolean;
};

export type StateSettings = {
  /** Undefined: nothing is kept outside of the engine. */
  readonly folder: string | undefined;
  /** Undefined: a key of our own in `folder`, where there is one. */
  readonly journalKeyFile: string | undefined;
  /** Names of containers whose journals are believed without a seal. */
  readonly unsealed: readonly string[];
};

export type RunSettings = {
  /** Whether a command was named, rather than `run` meant for want of one. */
  readonly isNamed: boolean;
  readonly once: boolean;
  /** Nothing but a look at the engine. */
  readonly healthCheck: boolean;
  readonly schedule: Schedule;
  /** The flag or variable that says when to update; undefined: nobody said. */
  readonly scheduleSource: string | undefined;
  readonly updateOnStart: boolean;
  /** The update of our own container that we are the helper for; undefined: we are none. */
  readonly finishUpdate: string | undefined;
  /** The engine, of several, with that update. */
  readonly finishOn: string | undefined;
  /** Whether the schedule counts though the HTTP API is on. */
  readonly periodicPolls: boolean;
  /** Of the demonstration; undefined: until it is interrupted. */
  readonly rounds: number | undefined;
  /** Of the demonstration: its output is the address of its page. */
  readonly pageOnly: boolean;
};

export type EngineSettings = {
  /** Of the first engine; undefined: to be found among the usual sockets. */
  readonly host: string | undefined;
  /** Several: a fleet. One or none: that engine alone, and its name is of no concern. */
  readonly engines: readonly EngineAddress[];
  readonly enginesAtOnce: number;
  /** The order of several engines; undefined: all at once. */
  readonly waves: WaveSettings | undefined;
  readonly userRuntimeFolder: string | undefined;
  readonly apiVersion: string | undefined;
  /** For engines without TLS settings of their own; undefined: no TLS. */
  readonly tls: (EngineCertificates & { readonly verify: boolean }) | undefined;
  /** Whether that is for `tcp://` too, and not for `https://` alone. */
  readonly tlsForTcp: boolean;
};

/** `text`: as `parseWaves` reads it, once there are several engines. */
export type WaveSettings = { readonly text: string; readonly pauseMs: number };

export type RegistrySettings = {
  /** Of Docker's config.json; undefined: none. */
  readonly dockerConfigPath: string | undefined;
  readonly repoUser: string | undefined;
  readonly repoPass: string | undefined;
  readonly repoHost: string;
  readonly tlsSkip: boolean;
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3';
  /** PEM files of authorities besides the well-known ones. */
  readonly extraCa: readonly Buffer[];
  /** Files of public keys that sign images. */
  readonly verifyKeys: readonly string[];
  readonly proxy: ProxySettings;
};

/** URLs of proxies for `http:` and `https:`, and the hosts that are reached without. */
export type ProxySettings = {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly no: readonly string[];
};

export type LogSettings = {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'auto' | 'pretty' | 'json' | 'logfmt';
  /** The level of a container that could not be checked. */
  readonly failedChecks: 'warn' | 'info';
  readonly colour: boolean;
};

export type OutputSettings = {
  /** How the service prints the outcome of each update. */
  readonly porcelain: 'none' | 'v1' | 'json';
  readonly json: boolean;
  /** False also for a terminal that says it understands no control sequences. */
  readonly colour: boolean;
  /** Whether the terminal, if there is one, can move its cursor. */
  readonly live: boolean;
  /** Exit with 10 when updates are available. */
  readonly exitCode: boolean;
  /** Containers that are not watched, too; of `--help`, all options. */
  readonly all: boolean;
  /** Only options that are not left at their default. */
  readonly changed: boolean;
};

export type MadeSettings = {
  readonly settings: Settings;
  readonly faults: readonly Fault[];
  /** Sentences about a setting without effect that somebody may rely on. */
  readonly alarms: readonly string[];
  /** Sentences about a setting that has another effect than it seems. */
  readonly warnings: readonly string[];
};

/** From the options' values to what each part of the service wants to know; reads certificate files. */
export function makeSettings(given: Given): MadeSettings {
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
  warnings.push(...strangeWaves(given, engines));
  if (values.reviveStopped && !values.includeStopped)
    warnings.push(`${given.sourceOf('reviveStopped')} has no effect without --include-stopped`);
  return { settings, faults, alarms, warnings };
}

function scheduleSource({ values, sourceOf }: Given): string | undefined {
  if (values.schedule !== undefined) return sourceOf('schedule');
  return sourceOf('intervalMs') === 'intervalMs' ? undefined : sourceOf('intervalMs');
}

/** Each has a date of its own for the next update; as in the Watchtower family, nobody can mean both. */
function scheduleOf({ values, sourceOf }: Given, faults: Fault[]): Schedule {
  const interval = intervalSchedule(values.intervalMs);
  if (values.schedule === undefined) return interval;
  if (sourceOf('intervalMs') !== 'intervalMs') {
    const message = `Cannot use both ${sourceOf('intervalMs')} and ${sourceOf('schedule')}: each says when to update`;
    faults.push({ kind: 'value', message });
  }
  return readSchedule(values.schedule, timeZoneOf(values)) ?? interval;
}

/** Where the Watchtower family and Docker's own client look; `DOCKER_CONFIG` may also name the file itself. */
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
