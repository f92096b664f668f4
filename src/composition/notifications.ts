import type { Settings } from '../config/read/process-settings.ts';
import type { MessageLevel } from '../domain/notification/message.ts';
import type { ServiceStart } from '../interfaces/cli/context/context.ts';
import type { Interrupt } from '../interfaces/cli/terminal/interrupt.ts';
import type { Command, ProcessContext } from './process-context.ts';
import type { Service } from './service.ts';
import { showInHomeAssistant } from './show-in-home-assistant.ts';

/** Sends messages about runs, until `close`. */
export async function openNotifications(
  { engine, engines, application }: Pick<Service, 'engine' | 'engines' | 'application'>,
  settings: Settings,
  surroundings: ProcessContext,
  signal: AbortSignal,
) {
  const { clock, log } = surroundings;
  const opened = await openTargets(settings, surroundings);
  const { targets, homeAssistants, problems, warnings, composer, contextFor } = opened;
  for (const problem of problems) log.error(problem);
  for (const warning of warnings) log.warn(warning);
  const { openNotifications: open } = await import('../application/notify/open-notifications.ts');
  const { createOutboxFile } = await import('../adapters/files/outbox-file.ts');
  const { openStateFolder } = await import('../adapters/files/state-folder.ts');
  const { runEventData } = await import('../interfaces/json/run-event.ts');
  const { folder } = settings.state;
  const state = folder === undefined ? undefined : await openStateFolder(folder, log);
  const notifications = await open({
    targets,
    settings: settings.notifications,
    composer,
    store: state && createOutboxFile(state.path, log),
    engine,
    clock,
    log,
    newId: () => crypto.randomUUID(),
    chance: Math.random,
    dataOfRun: runEventData,
  });
  const closeHomeAssistants = await showInHomeAssistant(homeAssistants, {
    application,
    engines,
    stateFolder: state?.path,
    settings,
    contextFor,
    clock,
    log,
    signal,
    version: surroundings.program.version,
  });
  return {
    ...notifications,
    close: async () => {
      await Promise.all([notifications.close(), closeHomeAssistants()]);
      await state?.close();
    },
    announceStart: async (start: ServiceStart) => {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(2000)]);
      const engineApiVersion = await engine.info(soon).then(
        ({ apiVersion }) => apiVersion,
        () => '',
      );
      if (signal.aborted) return;
      notifications.started({
        ...start,
        engineApiVersion,
        version: surroundings.program.version,
        services: targets.map(({ service }) => service),
        scope: settings.service.scope ?? '',
        atMs: clock.nowMs(),
      });
    },
  };
}

/** Works without an engine and a registry. */
export async function runNotify(
  { settings }: Command,
  surroundings: ProcessContext,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const { createNotify } = await import('../interfaces/cli/commands/notify/notify.ts');
  const { createOutboxFile } = await import('../adapters/files/outbox-file.ts');
  const { folder } = settings.state;
  const targets = openTargets(settings, surroundings);
  const notify = createNotify(async () => ({
    ...(await targets),
    homeAssistants: (await targets).homeAssistants.map(({ shown }) => shown),
    outbox: async () => (folder === undefined ? [] : createOutboxFile(folder, surroundings.log).peek()),
    newId: () => crypto.randomUUID(),
    version: surroundings.program.version,
  }));
  const code = await cli.runReportingFailures(notify, { settings, ...surroundings, signal: interrupt.signal });
  // An unknown action does not await the targets.
  await targets.catch(() => undefined);
  return interrupt.exitCode() ?? code;
}

/** The targets of notifications, and the style of their messages. */
async function openTargets({ notifications, registry }: Settings, { clock, log, terminal, program }: ProcessContext) {
  const { hostname } = await import('node:os');
  const { parseTargets } = await import('../adapters/notify/targets.ts');
  const { createAuthorities } = await import('../adapters/oci/transport/certificates.ts');
  const { createProxyChoice } = await import('../adapters/oci/transport/proxy-choice.ts');
  const { createComposer } = await import('../application/notify/create-composer.ts');
  const hostName = notifications.hostname ?? hostname();
  const { proxy, tlsMinVersion, extraCa, systemTrust } = registry;
  const deps = {
    hostName,
    version: program.version,
    nowMs: clock.nowMs,
    proxyFor: createProxyChoice(proxy),
    contextFor: createAuthorities({ tlsMinVersion, extraCa, systemTrust, certsFolder: undefined }),
    writeLog: (text: string, level: MessageLevel) =>
      notifications.logStdout ? terminal.out.write(`${text}\n`) : log[level](text),
  };
  const templateFailures: string[] = [];
  const composer = createComposer(notifications, {
    hostname: hostName,
    timeZone: notifications.timeZone,
    onTemplateFailure: (reason) => {
      // A service runs for a long time, and logs each failure, so only the first ones are kept.
      if (templateFailures.length < 10) templateFailures.push(reason);
      log.error('The template of notifications failed', { reason });
    },
  });
  return { ...parseTargets(notifications.urls, deps), composer, templateFailures, contextFor: deps.contextFor };
}
