import type { Given } from './command-line.ts';
import { refusedValue, type Fault } from '../table/option.ts';
import { kinds, printValue } from '../../domain/settings/values/label-values.ts';
import { makeHttpSettings } from './http-settings.ts';
import { makeNotificationSettings } from './notification-settings.ts';
import { engineTls, readEngines } from './engines.ts';
import {
  type ComposeSettings,
  remoteSettings,
  outputOptions,
  requestOptions,
  type Settings,
} from './process-settings.ts';
import { readHelperTask } from '../../domain/self-update/helper.ts';
import type { OptionKey, OptionValues } from '../table/options.ts';
import { readFileValue, readNamedFile } from './secrets.ts';
import type { Schedule } from '../../domain/run/event.ts';
import { timeZoneOf, intervalSchedule, namesSecond, readSchedule } from '../table/times.ts';
import type { ServiceSettings, SelfUpdate } from '../../domain/settings/effective-settings.ts';
import { serviceOptionEntries, type ServiceOptionValues } from '../../domain/settings/table/service-options.ts';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

type SettingsResult = {
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
  const engines = readEngines(given, dockerFolder(values), { faults, warnings });
  const settings: Settings = {
    service: serviceSettings(given, { servesApi: http.groups.length > 0 }),
    request: {
      ...pick(values, requestOptions),
      containers: command === 'run' ? [] : names,
      dryRun: values.dryRun || values.verify,
      rollbackData: rollbackDataOf(given, faults),
    },
    compose: composeSettings(given, faults),
    state: { folder: values.stateDir, journalKeyFile: values.journalKeyFile, unsealed: values.unsealed },
    run: {
      isNamed: given.commandNamed,
      once: values.runOnce,
      healthCheck: values.healthCheck,
      schedule: scheduleOf(given, faults),
      scheduleJitterMs: scheduleJitterOf(given),
      scheduleSource: scheduleSource(given),
      updateOnStart: values.updateOnStart,
      startCheck: values.startCheck,
      finishUpdate: values.finishUpdate === undefined ? undefined : readHelperTask(values.finishUpdate),
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
      tls: engineTls(given, engines, { dockerFolder: dockerFolder(values), faults }),
      tlsForTcp: values.engineTlsVerify || values.engineCertPath !== undefined,
    },
    registry: {
      dockerConfigPath: dockerConfigPath(values),
      isDockerConfigChosen: values.dockerConfigFolder !== undefined,
      authFiles: podmanAuthFiles(values, process.getuid?.()),
      repoUser: values.repoUser,
      repoPass: values.repoPassword,
      repoHost: values.repoHost,
      tlsSkip: values.registryTlsSkip,
      tlsMinVersion: values.registryTlsMinVersion === 'tls1.3' ? 'TLSv1.3' : 'TLSv1.2',
      extraCa: registryCa(given, faults),
      systemTrust: {
        file: values.sslCertFile,
        folders: values.sslCertFolders?.split(':').filter((folder) => folder !== '') ?? [],
        nodeFile: values.nodeCaFile,
      },
      verifyKeys: values.verifyKeys,
      proxy: { http: values.httpProxy, https: values.httpsProxy, no: values.noProxy },
    },
    notes: notesSettings(given, faults),
    http,
    remote: remoteSettings(given, { faults, warnings }),
    notifications: makeNotificationSettings(given, { faults, warnings }),
    log: {
      level: values.debug || values.trace ? 'debug' : values.logLevel,
      format: values.logFormat,
      colour,
      failedChecks: values.warnOnHeadFailure === 'never' ? 'info' : 'warn',
    },
    output: { ...pick(values, outputOptions), colour, live: canMoveCursor },
  };
  if (values.reviveStopped && !values.includeStopped)
    warnings.push(`${given.sourceOf('reviveStopped')} has no effect without --include-stopped`);
  return { settings, faults, alarms, warnings };
}

/** `--data` says what an update copies, and what becomes of the copy in a rollback. */
function rollbackDataOf(
  { command, values: { data }, sourceOf }: Given,
  faults: Fault[],
): 'restore' | 'leave' | undefined {
  const source = sourceOf('data');
  const isAnswer = data.kind === 'restore' || data.kind === 'leave';
  if (isAnswer && command !== 'rollback')
    faults.push(refusedValue(source, data.kind, 'none, volumes or paths; restore and leave are for a rollback', false));
  if (!isAnswer && command === 'rollback' && source.startsWith('-'))
    faults.push(refusedValue(source, printValue(kinds.dataOption, data), 'restore or leave', false));
  return isAnswer ? data.kind : undefined;
}

/** The table has checked the form of both lists. */
function notesSettings({ values, sourceOf }: Given, faults: Fault[]): Settings['notes'] {
  const hosts = values.releaseNotesHosts.flatMap((text) => {
    const [name, host = ''] = text.toLowerCase().split('=');
    const kind = (['github', 'gitlab', 'gitea'] as const).find((each) => each === name);
    return kind === undefined ? [] : [[host, kind] as const];
  });
  const tokens = values.releaseNotesTokens.flatMap((text) => {
    const at = text.indexOf('=');
    const read = readFileValue(sourceOf('releaseNotesTokens'), text.slice(at + 1));
    if (read.kind === 'value') return [[text.slice(0, at).toLowerCase(), read.value] as const];
    faults.push(read.fault);
    return [];
  });
  return { hosts: new Map(hosts), tokens: new Map(tokens) };
}

function registryCa({ values, sourceOf }: Given, faults: Fault[]): readonly Buffer[] {
  if (values.registryCa === undefined) return [];
  const file = readNamedFile(sourceOf('registryCa'), values.registryCa);
  if (file.kind === 'value') return [file.value];
  faults.push(file.fault);
  return [];
}

function pick<Key extends OptionKey>(values: OptionValues, keys: readonly Key[]): Pick<OptionValues, Key> {
  // Each key with its own value.
  return Object.fromEntries(keys.map((key) => [key, values[key]])) as Pick<OptionValues, Key>;
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

/** Milliseconds. A run of many homes at 04:00:00 would be a flood for a registry; a named second is meant. */
function scheduleJitterOf({ values: { schedule = '', scheduleJitterMs } }: Given): number {
  return scheduleJitterMs ?? (namesSecond(schedule) ? 0 : defaultJitterMs);
}

const defaultJitterMs = 30_000;

/**
 * Settings of the service. Names on the command line select the containers that `run` watches; for other
 * commands they are the request's filters.
 */
function serviceSettings(
  { command, names, values, copiedData }: Given,
  { servesApi }: { readonly servesApi: boolean },
): ServiceSettings {
  return {
    // Each key of the table with the value of its option.
    ...(Object.fromEntries(serviceOptionEntries.map(([key]) => [key, values[key]])) as ServiceOptionValues),
    data: copiedData,
    names: command === 'run' ? names : [],
    selfUpdate: selfUpdate(command, values, servesApi),
    timeZone: timeZoneOf(values),
    ...(values.authHeader !== undefined && servesApi && { believedHeader: values.authHeader }),
  };
}

/** Only `run` is started again by a successor. With the HTTP API and published ports it cannot replace itself. */
function selfUpdate(
  command: Given['command'],
  { noSelfUpdate, runOnce }: Given['values'],
  servesApi: boolean,
): SelfUpdate {
  if (command !== 'run' || runOnce) return 'not-by-this-command';
  if (noSelfUpdate) return 'off';
  return servesApi ? 'unless-published' : 'on';
}

/** The places of the Watchtower family and of Docker's own client. `DOCKER_CONFIG` may also name the file itself. */
function dockerConfigPath({ dockerConfigFolder, homeFolder }: OptionValues): string | undefined {
  if (dockerConfigFolder?.endsWith('.json')) return dockerConfigFolder;
  if (dockerConfigFolder !== undefined) return join(dockerConfigFolder, 'config.json');
  if (existsSync(containerConfig)) return containerConfig;
  return homeFolder === undefined ? undefined : join(homeFolder, '.docker', 'config.json');
}

/** Where Podman looks for logins: https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md */
function podmanAuthFiles(
  { registryAuthFile, userRuntimeFolder, configHomeFolder, homeFolder }: OptionValues,
  userId: number | undefined,
): { readonly chosen: string | undefined; readonly usual: readonly string[] } {
  const configHome = configHomeFolder ?? (homeFolder && join(homeFolder, '.config'));
  const folders = [userRuntimeFolder, userId === undefined ? undefined : `/run/containers/${userId}`, configHome];
  const usual = folders.flatMap((folder, at) => {
    if (folder === undefined) return [];
    return at === 1 ? join(folder, 'auth.json') : join(folder, 'containers', 'auth.json');
  });
  return { chosen: registryAuthFile, usual };
}

function dockerFolder(values: OptionValues): string | undefined {
  const path = dockerConfigPath(values);
  return path === undefined ? undefined : dirname(path);
}

const containerConfig = '/config.json';

function composeSettings({ values, sourceOf }: Given, faults: Fault[]): ComposeSettings {
  const mode = (['check', 'write'] as const).find((each) => each === values.composeFiles) ?? 'off';
  if (mode === 'write' && values.composeRoots.length === 0)
    faults.push({
      kind: 'value',
      message: `Cannot use ${sourceOf('composeFiles')} write without --compose-roots: name the folders whose files may be written, such as /opt/stacks`,
    });
  return { mode, roots: values.composeRoots.map(readRoot) };
}

/** `/opt/stacks=/host/stacks`, or one folder. A slash at the end does not count. */
function readRoot(text: string): ComposeSettings['roots'][number] {
  const [named = '', seen] = text.split('=').map((path) => path.replace(/\/+$/, ''));
  return { named, seen };
}
