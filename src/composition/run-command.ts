import { setMaxListeners } from 'node:events';
import { isatty } from 'node:tty';
import { type Command, hearSignals, openProcessContext, type ProcessContext, type Program } from './process-context.ts';
import { apiOf, demoApi, makeTokens } from './http-api.ts';
import type { Settings } from '../config/read/process-settings.ts';
import { delayed, type ServiceEvent } from '../domain/run/event.ts';
import { isDecision, runDecide } from './run-decide.ts';
import { isReadCommand, runReadCommand } from './run-read-command.ts';
import { isSecretCommand, runSecret } from './run-secret.ts';
import { openDemo, openService, type Service } from './service.ts';

/** Runs a command to its end and resolves to the exit code. Failures are reported to the user here. */
export async function runCommand(configuration: Command, program: Program): Promise<number> {
  const { command, aliases, alarms, warnings } = configuration;
  const settings = withJitter(configuration.settings);
  const { runReportingFailures, tellFailure } = await import('../interfaces/cli/cli.ts');
  const surroundings = await openProcessContext(configuration, program);
  const { terminal, log } = surroundings;
  const reportFailure = (error: unknown) => tellFailure(error, { settings, ...surroundings });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => {
      reportFailure(error);
      process.exit(1);
    });
  for (const alarm of alarms) log.error(alarm);
  for (const warning of warnings) log.warn(warning);
  if (aliases.length > 0) log.info(`Variables of the Watchtower family are in effect: ${aliases.join(', ')}`);

  if (isReadCommand(command))
    return runReadCommand(command, configuration, surroundings, await hearSignals(surroundings, false));
  if (isDecision(command))
    return runDecide(command, configuration, surroundings, await hearSignals(surroundings, false));
  if (isSecretCommand(command)) return runSecret(command, configuration, surroundings);
  if (command === 'notify') {
    const { runNotify } = await import('./notifications.ts');
    return runNotify(configuration, surroundings, await hearSignals(surroundings, false));
  }
  const { dryRun, verify } = settings.request;
  const changes = command !== 'check' && (!dryRun || verify);
  const interrupt = await hearSignals(surroundings, changes);
  try {
    if (settings.run.healthCheck && process.pid === 1) throw await healthCheckInPlace();
    if (!settings.run.healthCheck && settings.run.finishUpdate === undefined) await makeTokens(settings.http);
    const service = await (command === 'demo'
      ? openDemo(surroundings)
      : openService(command, settings, {
          ...surroundings,
          // A helper goes on after its start, so it leaves nothing.
          ...(settings.run.finishUpdate === undefined && { ending: interrupt.ending }),
        }));
    const { application } = service;
    const isHelper = settings.run.healthCheck || settings.run.finishUpdate !== undefined;
    const isService = command === 'run' && !settings.run.once;
    const sockets = isService && !isHelper ? await watchSockets(service, surroundings) : undefined;
    const signal = sockets === undefined ? interrupt.signal : AbortSignal.any([interrupt.signal, sockets.signal]);
    // Every engine of a run listens.
    setMaxListeners(0, signal);
    if (!isHelper && service.swarms.length > 0 && (isService || settings.service.swarm)) {
      const { reportSwarm } = await import('./swarm-at-start.ts');
      const reports = service.swarms.map((one) =>
        reportSwarm({ ...one, settings: settings.service, isService, signal }),
      );
      // A service does not wait, because an engine may be unreachable.
      if (!isService) await Promise.all(reports);
    }
    application.subscribe(interrupt.underWay.hear);
    const notifications = isNotified(settings) ? await import('./notifications.ts') : undefined;
    const sender = await notifications?.openNotifications(service, settings, surroundings, signal);
    if (sender !== undefined) application.subscribe(await handlingOf(sender, application));
    const http = command === 'demo' ? await demoApi(settings.http) : settings.http;
    // Log lines would break the live table of the demo.
    const apiLog = command === 'demo' && terminal.out.isTerminal ? { ...log, info: log.debug } : log;
    const parts = {
      application,
      program,
      clock: surroundings.clock,
      log: apiLog,
      ...(sender && { notifications: sender.status }),
    };
    const serve = http.groups.length > 0 ? apiOf(http, configuration, parts) : undefined;
    const { folder } = settings.state;
    const forCommands =
      isService && !isHelper && folder !== undefined
        ? await (await import('./command-socket.ts')).serveCommands(folder, configuration, { ...parts, log })
        : undefined;
    signal.addEventListener('abort', () => void forCommands?.stop(), { once: true });
    const isAttended = isatty(0) || isatty(1);
    const context = {
      ...(isatty(0) && isatty(2) && { confirm: (question: string) => askPerson(question, signal) }),
      application,
      settings,
      ...surroundings,
      isAttended,
      signal,
      about: { version: program.version, engine: service.engine.info },
      ...(serve && { serve }),
      ...(sender && { announceStart: sender.announceStart, announceFailure: sender.failed }),
    };
    const ended = await runReportingFailures(service.command, context);
    sockets?.close();
    await forCommands?.stop();
    const code = sockets?.signal.aborted === true ? exitAfterLoss : ended;
    // A start that has failed may follow the engine, which keeps the process alive.
    await application.close();
    await sender?.close();
    await service.close();
    const runsUntilAsked = command === 'demo' || (command === 'run' && !settings.run.once);
    return runsUntilAsked ? code : (interrupt.exitCode() ?? code);
  } catch (error) {
    reportFailure(error);
    return 1;
  }
}

/** One delay for the life of the process, so that the shown time of the next run is the time at which it begins. */
function withJitter(settings: Settings): Settings {
  const { schedule, scheduleJitterMs } = settings.run;
  const delayMs = Math.round(Math.random() * scheduleJitterMs);
  const startCheckDelayMs = Math.round(Math.random() * maxStartCheckDelayMs);
  return { ...settings, run: { ...settings.run, schedule: delayed(schedule, delayMs), startCheckDelayMs } };
}

const maxStartCheckDelayMs = 3000;

function isNotified({ notifications, run }: Settings): boolean {
  return notifications.urls.length > 0 && !run.healthCheck && run.finishUpdate === undefined;
}

/** In a container this command would end at once, and the restart policy would repeat it for ever. */
async function healthCheckInPlace(): Promise<Error> {
  const { ServiceError } = await import('../domain/text/errors.ts');
  return new ServiceError(
    'invalid-input',
    'Cannot use --health-check here: this is the process of the container itself',
    { remedy: 'Give it in the HEALTHCHECK of the image, or the healthcheck of the compose file' },
  );
}

/** Only a container is restarted with a new mount. Elsewhere a new socket is found at the same path. */
async function watchSockets({ sockets }: Service, { clock, log }: ProcessContext) {
  const { ownContainerId } = await import('../adapters/process/instance.ts');
  if (sockets.length === 0 || ownContainerId() === undefined) return undefined;
  const { watchMountedSockets } = await import('../adapters/process/mounted-sockets.ts');
  return watchMountedSockets(sockets, { clock, log });
}

/** Only `y` and `yes` permit it: an empty line, the end of the input and Ctrl-C do not. */
async function askPerson(question: string, signal: AbortSignal): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C reaches the terminal's reader, not the process.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]);
    return /^y(?:es)?$/i.test(answer.trim());
  } catch {
    return false;
  } finally {
    lines.close();
  }
}

/** Not 0, so that the restart policy on-failure applies too. */
const exitAfterLoss = 1;

/** If there are several engines, messages name containers together with their engines. */
async function handlingOf(
  { handleEvent }: EventHandling,
  { engines }: Service['application'],
): Promise<EventHandling['handleEvent']> {
  if (engines === undefined) return handleEvent;
  const { namedByEngine } = await import('../application/fleet/named-events.ts');
  return (event) => handleEvent(namedByEngine(event));
}

type EventHandling = { readonly handleEvent: (event: ServiceEvent) => void };
