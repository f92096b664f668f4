import { setMaxListeners } from 'node:events';
import { isatty } from 'node:tty';
import {
  hearSignals,
  openProcessContext,
  tokensOf,
  type Command,
  type ProcessContext,
  type Program,
} from './process-context.ts';
import { apiOf, demoApi, makeTokens, serveCommands } from './http-api.ts';
import type { Settings } from '../config/read/process-settings.ts';
import { delayed, type ServiceEvent } from '../domain/run/event.ts';
import { openDemo, openService, reportSwarm, type Service } from './service.ts';
import { join, dirname } from 'node:path';
import { decisionCommands, type CommandName } from '../config/table/commands.ts';
import type { readCommands } from '../interfaces/cli/cli.ts';
import type { Sources } from '../interfaces/cli/context/context.ts';
import type { Interrupt } from '../interfaces/cli/terminal/terminal.ts';
import { ServiceError, messageWithoutPath } from '../domain/text/errors.ts';
import type { DecisionSource } from '../interfaces/cli/context/decision-sources.ts';
import { constants } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';

/** Runs a command to its end and resolves to the exit code. Failures are reported to the user here. */
export async function runCommand(configuration: Command, program: Program): Promise<number> {
  const { command, aliases, alarms, warnings } = configuration;
  const settings = withJitter(configuration.settings);
  const { runReportingFailures, tellFailure } = await import('../interfaces/cli/cli.ts');
  const surroundings = await openProcessContext(configuration, program);
  const { terminal, log } = surroundings;
  const isService = command === 'run' && !settings.run.once;
  const reportFailure = (error: unknown) => tellFailure(error, { settings, isService, ...surroundings });
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
  // Of `upkeep demo | head -1`, which changes no engine. Each further line fails too.
  if (command === 'demo') process.stdout.once('error', () => interrupt.onSignal('SIGPIPE'));
  try {
    if (settings.run.healthCheck && process.pid === 1) throw await healthCheckInPlace();
    if (!settings.run.healthCheck && settings.run.finishUpdate === undefined) await makeTokens(settings.http);
    // A helper goes on after its start, so it leaves nothing.
    const isHurried = settings.run.finishUpdate === undefined;
    const hurried = { ...surroundings, ...(isHurried && { ending: interrupt.ending }) };
    const service = await (command === 'demo' ? openDemo(surroundings) : openService(command, settings, hurried));
    const { application } = service;
    const isHelper = settings.run.healthCheck || settings.run.finishUpdate !== undefined;
    const sockets = isService && !isHelper ? await watchSockets(service, surroundings) : undefined;
    const signal = sockets === undefined ? interrupt.signal : AbortSignal.any([interrupt.signal, sockets.signal]);
    // Every engine of a run listens.
    setMaxListeners(0, signal);
    if (!isHelper && service.swarms.length > 0 && (isService || settings.service.swarm)) {
      const reports = service.swarms.map((one) =>
        reportSwarm({ ...one, settings: settings.service, isService, signal }),
      );
      // A service does not wait, because an engine may be unreachable.
      if (!isService) await Promise.all(reports);
    }
    application.subscribe(interrupt.underWay.onEvent);
    const notifications = isNotified(settings) ? await import('./notifications.ts') : undefined;
    const sender = await notifications?.openNotifications(service, settings, hurried, signal);
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
      ...(service.notesRequests && { notesRequests: service.notesRequests }),
    };
    const serve = http.groups.length > 0 ? apiOf(http, configuration, parts) : undefined;
    const { folder } = settings.state;
    const forCommands =
      isService && !isHelper && folder !== undefined
        ? await serveCommands(folder, configuration, { ...parts, log })
        : undefined;
    signal.addEventListener('abort', () => void forCommands?.stop(), { once: true });
    const isAttended = isatty(0) || isatty(1);
    const context = {
      ...(isatty(0) && isatty(2) && { confirm: (question: string) => askPerson(question, signal) }),
      application,
      settings,
      ...surroundings,
      isAttended,
      isService,
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
    return reportFailure(error);
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
  const { watchMountedSockets } = await import('../adapters/process/instance.ts');
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
  const { namedByEngine } = await import('../application/fleet/members.ts');
  return (event) => handleEvent(namedByEngine(event));
}

type EventHandling = { readonly handleEvent: (event: ServiceEvent) => void };

/**
 * Reads from the service of --url, or else from the running service and the files in the folder of --state-dir, or else
 * from the engine with the options of this command.
 */
async function runReadCommand(
  command: ReadCommandName,
  { settings, options }: Command,
  surroundings: ProcessContext,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const { createLocalSources, createRemoteSources } = await import('../interfaces/cli/context/sources.ts');
  const { clock, log } = surroundings;
  const { url, token } = settings.remote;
  const { folder } = settings.state;
  // A closed output, as in `upkeep events | head -1`, ends the command.
  process.stdout.on('error', () => interrupt.onSignal('SIGPIPE'));
  const sources = url === undefined ? await openLocal() : await openRemote(url);
  const code = await cli.runReportingFailures(await cli.readCommands[command](sources), {
    settings,
    ...surroundings,
    signal: interrupt.signal,
  });
  return interrupt.exitCode() ?? code;

  async function openRemote(address: string): Promise<Sources> {
    const { createServiceClient } = await import('../adapters/service/client.ts');
    return createRemoteSources(createServiceClient({ url: address, token, clock, log }));
  }

  async function openLocal(): Promise<Sources> {
    const { shownConfiguration } = await import('../config/show/shown-configuration.ts');
    const configuration = shownConfiguration(settings.service, options, '');
    const open = () => openService('check', settings, surroundings);
    const local = createLocalSources({ open, configuration, clock });
    if (folder === undefined) return local;
    // A service may work on other engines than the one that is named here.
    const isOfOther = options.some(({ name, source }) => name === 'host' && source.startsWith('-'));
    const { createFolderSources } = await import('../interfaces/cli/context/sources.ts');
    const { createServiceClient, socketName, socketToken } = await import('../adapters/service/client.ts');
    const socketPath = join(folder, socketName);
    const client = createServiceClient({ url: 'http://upkeep', socketPath, token: socketToken, clock, log });
    const { openMemory } = await import('./memory.ts');
    const { history } = openMemory(folder, surroundings);
    const sources = createFolderSources({ folder, local, client, history, clock });
    return isOfOther ? { ...sources, containers: local.containers } : sources;
  }
}

type ReadCommandName = keyof typeof readCommands;

function isReadCommand(command: CommandName): command is ReadCommandName {
  const names: readonly CommandName[] = [
    'containers',
    'history',
    'events',
    'notes',
    'config',
  ] satisfies readonly ReadCommandName[];
  return names.includes(command);
}

/** Makes a decision in the service of --url, or else in the file of --state-dir. */
async function runDecide(
  command: DecidingName,
  { settings }: Command,
  surroundings: ProcessContext,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  // The command prints what it has decided.
  const quiet = { ...surroundings, log: { ...surroundings.log, info: surroundings.log.debug } };
  const { createDecide, createUnskip } = await import('../interfaces/cli/commands/decide.ts');
  const code = await cli.runReportingFailures(
    async (context) => {
      const { source, close } = await openSource(command, settings, quiet);
      try {
        return await (command === 'unskip' ? createUnskip(source) : createDecide(command, source))(context);
      } finally {
        await close();
      }
    },
    { settings, ...surroundings, signal: interrupt.signal },
  );
  return interrupt.exitCode() ?? code;
}

type DecidingName = (typeof decisionCommands)[number];

function isDecision(command: CommandName): command is DecidingName {
  return decisionCommands.some((name) => name === command);
}

type OpenSource = { readonly source: DecisionSource; readonly close: () => Promise<void> };

async function openSource(command: string, settings: Settings, surroundings: ProcessContext): Promise<OpenSource> {
  const { url, token } = settings.remote;
  if (url !== undefined) {
    const { createServiceClient } = await import('../adapters/service/client.ts');
    const { createRemoteDecisions } = await import('../interfaces/cli/context/decision-sources.ts');
    const { clock, log } = surroundings;
    return {
      source: createRemoteDecisions(createServiceClient({ url, token, clock, log })),
      close: () => Promise.resolve(),
    };
  }
  if (settings.state.folder === undefined)
    throw new ServiceError('invalid-input', `Cannot ${command}: the decision would not be stored`, {
      remedy: 'name the folder of the service with --state-dir, or the service itself with --url',
    });
  const { createLocalDecisions } = await import('../interfaces/cli/context/decision-sources.ts');
  const { application, close } = await openService('check', settings, surroundings);
  return {
    source: createLocalDecisions(application),
    close: async () => {
      await application.close();
      await close();
    },
  };
}

type SecretCommand = 'token' | 'password';

function isSecretCommand(command: CommandName): command is SecretCommand {
  return command === 'token' || command === 'password';
}

/** `upkeep token` and `upkeep password`: how to sign in to the page. */
async function runSecret(command: SecretCommand, given: Command, context: ProcessContext): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const work = command === 'token' ? showToken : setPassword;
  return cli.runReportingFailures(() => work(given, context), { settings: given.settings, ...context });
}

async function showToken({ settings: { http, state } }: Command, { terminal }: ProcessContext): Promise<number> {
  const { folder } = state;
  const made = folder === undefined ? undefined : ({ kind: 'file', path: join(folder, 'token') } as const);
  const [token] = [...tokensOf(http.token), ...tokensOf(made)];
  if (token === undefined)
    throw new ServiceError('not-found', 'Cannot show the token: there is none', {
      remedy: 'name the folder of the service with --state-dir; the service makes a token at its first start',
    });
  terminal.out.write(`${token}\n`);
  return 0;
}

async function setPassword({ settings: { http } }: Command, { terminal }: ProcessContext): Promise<number> {
  const password = await readPassword((text) => terminal.err.write(text));
  if (password.length < minPassword)
    throw new ServiceError('invalid-input', `Cannot set the password: it has fewer than ${minPassword} characters`);
  const { hashPassword } = await import('../adapters/process/password.ts');
  const line = await hashPassword(password);
  const { passwordFile } = http;
  if (passwordFile === undefined) {
    terminal.out.write(`${line}\n`);
    return 0;
  }
  await replaceFile(passwordFile, `${line}\n`);
  terminal.err.write('The password is set. Sign in to the page with it.\n');
  return 0;
}

const minPassword = 8;
const maxPassword = 1000;

/** On a terminal it is asked for twice, and not shown. */
async function readPassword(say: (text: string) => void): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return readLine(stdin);
  say('New password: ');
  const first = await readHidden(say);
  say('Again: ');
  if ((await readHidden(say)) === first) return first;
  throw new ServiceError('invalid-input', 'Cannot set the password: the two are not the same');
}

async function readLine(stream: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.includes('\n') || text.length > maxPassword) break;
  }
  return text.split(/\r?\n/, 1)[0]?.slice(0, maxPassword) ?? '';
}

function readHidden(say: (text: string) => void): Promise<string> {
  const { stdin } = process;
  return new Promise((resolve, reject) => {
    let text = '';
    const end = (settle: () => void): void => {
      stdin.off('data', onEvent).setRawMode(false).pause();
      say('\n');
      settle();
    };
    const onEvent = (chunk: Buffer): void => {
      for (const key of chunk.toString('utf8')) {
        if (key === '\r' || key === '\n') return end(() => resolve(text));
        if (key === '\u0003' || key === '\u0004')
          return end(() => reject(new ServiceError('cancelled', 'Cannot set the password: it was cancelled')));
        if (key === '\u007F' || key === '\b') text = Array.from(text).slice(0, -1).join('');
        else if (text.length < maxPassword) text += key;
      }
    };
    stdin.setRawMode(true).on('data', onEvent).resume();
  });
}

/** For its owner only, and whole at each moment. A file in the folder of another user belongs to that user. */
async function replaceFile(path: string, text: string): Promise<void> {
  const aside = `${path}.new`;
  try {
    await rm(aside, { force: true });
    const file = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      const { uid, gid } = await stat(dirname(path));
      if (process.geteuid?.() === 0 && uid !== 0) await file.chown(uid, gid);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (cause) {
    throw new ServiceError('invalid-input', `Cannot write the password file: ${messageWithoutPath(cause)}`, {
      cause,
      remedy: 'name a file that can be written to with --password-file',
    });
  }
}
