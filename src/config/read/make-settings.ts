import type { Given } from '../given/given-options.ts';
import type { Fault } from '../declaration/fault.ts';
import { makeHttpSettings } from './http-settings.ts';
import { makeNotificationSettings } from '../notifications/make-notification-settings.ts';
import { engineTls, readEngines } from '../engines/engines.ts';
import { remoteSettings } from './remote-settings.ts';
import { readHelperTask } from '../../domain/self-update/helper.ts';
import type { OptionKey, OptionValues } from '../table/options.ts';
import { readNamedFile } from '../given/secrets.ts';
import { serviceSettings } from './service-settings.ts';
import { outputOptions, requestOptions, type Settings } from './process-settings.ts';
import { dockerConfigPath, dockerFolder, podmanAuthFiles } from './docker-config-path.ts';
import { scheduleJitterOf, scheduleOf, scheduleSource } from './schedule-settings.ts';

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
  const engines = readEngines(given, dockerFolder(values), { faults, warnings });
  const settings: Settings = {
    service: serviceSettings(given, { servesApi: http.groups.length > 0 }),
    request: {
      ...pick(values, requestOptions),
      containers: command === 'run' ? [] : names,
      dryRun: values.dryRun || values.verify,
    },
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
