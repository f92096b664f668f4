#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import type { Application } from './application/application.ts';
import type { CommandName } from './config/declaration/commands.ts';
import type { Configuration } from './config/read/load.ts';
import type { Settings, StateSettings } from './config/read/settings.ts';
import type { HttpSettings, TokenSource } from './domain/settings/http-settings.ts';
import type { Clock, Engine, Log, Outside } from './domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from './domain/settings/settings.ts';
import type { MessageLevel } from './domain/notification/message.ts';
import type { TargetStatus } from './domain/notification/status.ts';
import type { RunningService } from './domain/run/running-service.ts';
import type { commandFunctions, lookFunctions } from './interfaces/cli/cli.ts';
import type { CommandContext, CommandFunction, ServiceStart } from './interfaces/cli/context/context.ts';
import type { Interrupt } from './interfaces/cli/terminal/interrupt.ts';
import type { createUnderWay } from './interfaces/cli/terminal/under-way.ts';
import type { Terminal } from './interfaces/cli/terminal/terminal.ts';

// Since Node 22.1, which the types do not know: https://nodejs.org/api/module.html#moduleenablecompilecachecachedir
(nodeModule as { readonly enableCompileCache?: () => unknown }).enableCompileCache?.();

// Stays if nothing keeps the process alive before main() has settled.
process.exitCode = 1;
void main(process.argv.slice(2))
  .catch((error: unknown) => {
    process.stderr.write(`upkeep: internal error: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  })
  .then((code) => {
    process.exitCode = code;
  });

/**
 * The one file that knows everyone. What a command does not need is not loaded: help and version
 * know the options only, the demonstration no real engine.
 */
async function main(argv: readonly string[]): Promise<number> {
  // A reader that has gone, as in `upkeep update | head -1`, is no reason to leave a container half replaced.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const { loadConfiguration } = await import('./config/read/load.ts');
  const configuration = loadConfiguration(argv);
  switch (configuration.kind) {
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
    case 'help': {
      const { helpText } = await import('./config/show/help.ts');
      process.stdout.write(helpText(configuration.command, process.stdout.columns || 100));
      return 0;
    }
    case 'faults': {
      const lines = configuration.message.split('\n').map((line) => `upkeep: ${line}\n`);
      const remedy = 'upkeep --help lists the commands, upkeep COMMAND --help the options; nothing was changed';
      process.stderr.write(`${lines.join('')}  ${remedy}\n`);
      return configuration.exitCode;
    }
    case 'command':
      return runCommand(configuration);
  }
}

type Command = Configuration & { readonly kind: 'command' };

async function runCommand(configuration: Command): Promise<number> {
  const { command, settings, aliases, alarms, warnings } = configuration;
  const { carryOut, tellFailure } = await import('./interfaces/cli/cli.ts');
  const surroundings = await openSurroundings(settings);
  const { terminal, log } = surroundings;
  const tell = (error: unknown) => tellFailure(error, { settings, ...surroundings });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => {
      tell(error);
      process.exit(1);
    });
  for (const alarm of alarms) log.error(alarm);
  for (const warning of warnings) log.warn(warning);
  if (aliases.length > 0) log.info(`Variables of the Watchtower family are in effect: ${aliases.join(', ')}`);

  if (command === 'notify') return runNotify(configuration, surroundings, await hearSignals(surroundings, false));
  if (isLook(command)) return runLook(command, configuration, surroundings, await hearSignals(surroundings, false));
  const { dryRun, verify } = settings.request;
  const changes = command !== 'check' && (!dryRun || verify);
  const interrupt = await hearSignals(surroundings, changes);
  try {
    if (settings.run.healthCheck && process.pid === 1) throw await healthCheckInPlace();
    const service = await (command === 'demo' ? openDemo(surroundings) : openService(command, settings, surroundings));
    const { application } = service;
    const { signal } = interrupt;
    application.subscribe(interrupt.underWay.hear);
    const told = await openNotifications(service, settings, surroundings);
    if (told !== undefined) application.subscribe(told.hear);
    const http = command === 'demo' ? await demoApi(settings.http) : settings.http;
    // Lines of the log would tear the table that the demonstration draws.
    const apiLog = command === 'demo' && terminal.out.isTerminal ? { ...log, info: log.debug } : log;
    const parts = { application, clock: surroundings.clock, log: apiLog, ...(told && { notifications: told.status }) };
    const serve = http.groups.length > 0 ? apiOf(http, configuration, parts) : undefined;
    const isAttended = isatty(0) || isatty(1);
    const context = {
      application,
      settings,
      ...surroundings,
      isAttended,
      signal,
      ...(serve && { serve }),
      ...(told && { announceStart: told.announceStart, announceFailure: told.failed }),
    };
    const code = await carryOut(service.command, context);
    await told?.close();
    await service.close();
    const runsUntilAsked = command === 'demo' || (command === 'run' && !settings.run.once);
    return runsUntilAsked ? code : (interrupt.exitCode() ?? code);
  } catch (error) {
    tell(error);
    return 1;
  }
}

/** Undefined where nobody is to be told. */
async function openNotifications({ engine }: Service, settings: Settings, surroundings: Surroundings) {
  if (settings.notifications.urls.length === 0 || settings.run.healthCheck || settings.run.finishUpdate !== undefined)
    return undefined;
  const { clock, log } = surroundings;
  const { targets, problems, warnings, composer } = await openTargets(settings, surroundings);
  for (const problem of problems) log.error(problem);
  for (const warning of warnings) log.warn(warning);
  const { openNotifications: open } = await import('./application/notify/open-notifications.ts');
  const { createOutboxFile } = await import('./adapters/files/outbox-file.ts');
  const { runEventData } = await import('./interfaces/json/run-event.ts');
  const { folder } = settings.state;
  const notifications = await open({
    targets,
    settings: settings.notifications,
    composer,
    store: folder === undefined ? undefined : createOutboxFile(folder, log),
    engine,
    clock,
    log,
    newId: () => crypto.randomUUID(),
    chance: Math.random,
    dataOfRun: runEventData,
  });
  return {
    ...notifications,
    close: async () => {
      await notifications.close();
      await Promise.all(targets.map((target) => target.close()));
    },
    announceStart: async (start: ServiceStart) => {
      const engineApiVersion = await engine.info(AbortSignal.timeout(2000)).then(
        ({ apiVersion }) => apiVersion,
        () => '',
      );
      notifications.started({
        ...start,
        engineApiVersion,
        version: version(),
        services: targets.map(({ service }) => service),
        scope: settings.service.scope ?? '',
        atMs: clock.nowMs(),
      });
    },
  };
}

/** Reaches the services that are notified, and neither engine nor registry. */
async function runNotify({ settings }: Command, surroundings: Surroundings, interrupt: Interrupt): Promise<number> {
  const cli = await import('./interfaces/cli/cli.ts');
  const { createNotify } = await import('./interfaces/cli/commands/notify/notify.ts');
  const { createOutboxFile } = await import('./adapters/files/outbox-file.ts');
  const { folder } = settings.state;
  const targets = openTargets(settings, surroundings);
  const notify = createNotify(async () => ({
    ...(await targets),
    outbox: async () => (folder === undefined ? [] : createOutboxFile(folder, surroundings.log).peek()),
    newId: () => crypto.randomUUID(),
    version: version(),
  }));
  const code = await cli.carryOut(notify, { settings, ...surroundings, signal: interrupt.signal });
  await targets.then(
    (opened) => Promise.all(opened.targets.map((target) => target.close())),
    () => undefined,
  );
  return interrupt.exitCode() ?? code;
}

/** The targets of notifications, and whose words they get. */
async function openTargets({ notifications, registry }: Settings, { clock, log, terminal }: Surroundings) {
  const { hostname } = await import('node:os');
  const { parseTargets } = await import('./adapters/notify/targets.ts');
  const { createAuthorities } = await import('./adapters/oci/transport/authorities.ts');
  const { createProxyChoice } = await import('./adapters/oci/transport/proxy-choice.ts');
  const { createComposer } = await import('./application/notify/create-composer.ts');
  const hostName = notifications.hostname ?? hostname();
  const { proxy, tlsMinVersion, extraCa } = registry;
  const deps = {
    hostName,
    version: version(),
    nowMs: clock.nowMs,
    proxyFor: createProxyChoice(proxy),
    contextFor: createAuthorities({ tlsMinVersion, extraCa, certsFolder: undefined }),
    writeLog: (text: string, level: MessageLevel) =>
      notifications.logStdout ? terminal.out.write(`${text}\n`) : log[level](text),
  };
  const composer = createComposer(notifications, {
    hostname: hostName,
    timeZone: notifications.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    onTemplateFailure: (reason) => log.error('The template of notifications failed', { reason }),
  });
  return { ...parseTargets(notifications.urls, deps), composer };
}

type LookName = keyof typeof lookFunctions;

function isLook(command: CommandName): command is LookName {
  const looks: readonly CommandName[] = ['containers', 'history', 'events', 'config'] satisfies readonly LookName[];
  return looks.includes(command);
}

/** Of the service that --url names, else of the engine and this command line. */
async function runLook(
  command: LookName,
  { settings, options }: Command,
  surroundings: Surroundings,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('./interfaces/cli/cli.ts');
  const { clock, log } = surroundings;
  const { url, token } = settings.remote;
  // What nobody reads any more, as in `upkeep events | head -1`, need not be asked for.
  process.stdout.on('error', () => interrupt.hear('SIGPIPE'));
  const service = url === undefined ? await openLocal() : await openRemote(url);
  const code = await cli.carryOut(cli.lookFunctions[command](service), {
    settings,
    ...surroundings,
    signal: interrupt.signal,
  });
  return interrupt.exitCode() ?? code;

  async function openRemote(address: string): Promise<RunningService> {
    const { createServiceClient } = await import('./adapters/service/client.ts');
    return createServiceClient({ url: address, token, clock, log });
  }

  async function openLocal(): Promise<RunningService> {
    const { createLocalService } = await import('./interfaces/cli/context/local-service.ts');
    const { shownConfiguration } = await import('./config/show/shown-configuration.ts');
    const configuration = shownConfiguration(settings.service, options, '');
    return createLocalService({ open: () => openService('check', settings, surroundings), configuration, clock });
  }
}

/** As the command of a container it would end at once, and be started again for ever. */
async function healthCheckInPlace(): Promise<Error> {
  const { ServiceError } = await import('./domain/errors.ts');
  return new ServiceError(
    'invalid-input',
    'Cannot use --health-check here: this is the process of the container itself',
    {
      remedy: 'Give it in the HEALTHCHECK of the image, or the healthcheck of the compose file',
    },
  );
}

type Surroundings = { readonly terminal: Terminal; readonly clock: Clock; readonly log: Log };

async function openSurroundings(settings: Settings): Promise<Surroundings> {
  const { createTerminal } = await import('./interfaces/cli/terminal/terminal.ts');
  const { createSystemClock } = await import('./adapters/process/clock.ts');
  const { createLog } = await import('./adapters/process/log.ts');
  const terminal = createTerminal(process.stdout, process.stderr);
  const clock = createSystemClock();
  const log = createLog({
    ...settings.log,
    colour: settings.log.colour && terminal.err.isTerminal,
    stream: { write: terminal.err.write, isTTY: terminal.err.isTerminal },
    secrets: [
      settings.registry.repoPass,
      textOf(settings.http.token),
      textOf(settings.http.eventsToken),
      settings.remote.token,
      ...settings.notifications.urls.map((url) => url.replace(/^[^:/]*=/, '')),
      ...settings.notifications.legacySecrets,
    ].filter((secret) => secret !== undefined),
    nowMs: clock.nowMs,
  });
  return { terminal, clock, log };
}

type HeardInterrupt = Interrupt & { readonly underWay: ReturnType<typeof createUnderWay> };

async function hearSignals({ terminal, clock }: Surroundings, hasSafePoints: boolean): Promise<HeardInterrupt> {
  const { createInterrupt } = await import('./interfaces/cli/terminal/interrupt.ts');
  const { createUnderWay } = await import('./interfaces/cli/terminal/under-way.ts');
  const underWay = createUnderWay();
  const say = (line: string) => terminal.err.write(`${line}\n`);
  const interrupt = createInterrupt({
    hasSafePoints,
    say,
    monotonicMs: clock.monotonicMs,
    underWay: underWay.names,
    quit: (code, lastWords) => {
      if (lastWords !== '') say(lastWords);
      process.exit(code);
    },
  });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.hear(name));
  return { ...interrupt, underWay };
}

type Service = {
  readonly application: Application;
  readonly engine: Engine;
  readonly command: CommandFunction;
  readonly close: () => Promise<void>;
};

async function openService(
  command: keyof typeof commandFunctions,
  settings: Settings,
  { clock, log }: Surroundings,
): Promise<Service> {
  const cli = await import('./interfaces/cli/cli.ts');
  const { createProber } = await import('./adapters/probe/prober.ts');
  const { engine, registry } = await reachEngineAndRegistries(settings, clock, log);
  const prober = createProber();
  return {
    engine,
    application: await createService({ engine, registry, prober, clock, log }, settings.service, settings.state),
    command: cli.commandFunctions[command],
    close: async () => {
      await Promise.all([engine.close(), registry.close()]);
    },
  };
}

/** The only way to the engine in memory: no real command can reach it by accident. */
async function openDemo({ clock, log }: Surroundings): Promise<Service> {
  const { createDemo } = await import('./interfaces/cli/commands/demo.ts');
  const { createDemoWorld, demoSettings } = await import('../sandbox/demo/demo-world.ts');
  const world = await createDemoWorld(clock);
  const { engine, registry, prober } = world;
  return {
    engine,
    application: await createService({ engine, registry, prober, clock, log }, { ...defaultSettings, ...demoSettings }),
    command: createDemo(world),
    close: () => Promise.resolve(world.close()),
  };
}

type World = Pick<Outside, 'engine' | 'registry' | 'prober' | 'clock' | 'log'>;

async function createService(
  world: World,
  settings: ServiceSettings,
  { journalKeyFile, folder }: Partial<StateSettings> = {},
): Promise<Application> {
  const { createApplication } = await import('./application/create-application.ts');
  const { createInstance } = await import('./adapters/process/instance.ts');
  const { ownContainerId } = await import('./adapters/process/own-container.ts');
  const { openSeal } = await import('./adapters/process/seal.ts');
  const instance = createInstance({ containerId: ownContainerId() });
  const seal = openSeal({ keyFile: journalKeyFile, folder });
  return createApplication({ ...world, instance, newId: () => crypto.randomUUID(), ...(seal && { seal }) }, settings);
}

async function reachEngineAndRegistries(
  { engine: { apiVersion, tls, ...where }, registry: registries }: Settings,
  clock: Clock,
  log: Log,
): Promise<Pick<Outside, 'engine' | 'registry'>> {
  const { findEngineHost } = await import('./config/read/engine-host.ts');
  const { createDockerEngine } = await import('./adapters/docker/engine.ts');
  const { createOciRegistry } = await import('./adapters/oci/registry.ts');
  const engine = createDockerEngine({
    host: findEngineHost(where),
    clock,
    log,
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(tls === undefined ? {} : { tls }),
  });
  const registry = createOciRegistry({
    clock,
    log,
    version: version(),
    ...registries,
    hubMirrors: async (signal) => (await engine.info(signal)).hubMirrors,
    insecureRegistries: async (signal) => (await engine.info(signal)).insecureRegistries,
  });
  return { engine, registry };
}

type ApiParts = {
  readonly application: Application;
  readonly clock: Clock;
  readonly log: Log;
  readonly notifications?: () => readonly TargetStatus[];
};

/** The HTTP API and the metrics it shows, loaded when they are served. */
function apiOf(
  http: HttpSettings,
  { command, settings: { service, run }, options }: Command,
  { application, clock, log, notifications }: ApiParts,
): NonNullable<CommandContext['serve']> {
  return async () => {
    const { createHttpServer } = await import('./interfaces/http/server/server.ts');
    const { listen } = await import('./interfaces/http/server/listen.ts');
    const { createMetrics } = await import('./interfaces/metrics/metrics.ts');
    const { shownConfiguration } = await import('./config/show/shown-configuration.ts');
    const updatesAvailable = () => application.status().updatesAvailable;
    const metrics = createMetrics({ clock, updatesAvailable, version: version() });
    application.subscribe(metrics.hear);
    const configuration = () => shownConfiguration(service, options, application.inventory().scope);
    const { server, stop } = await createHttpServer({
      settings: http,
      service: application,
      clock,
      log,
      version: version(),
      configuration,
      runOptions: {
        ...service,
        labelPrecedence: service.labelTakesPrecedence,
        runOnce: run.once,
        get skipSelfUpdate() {
          return !application.updatesItself();
        },
      },
      metrics: metrics.text,
      ...(notifications && { notifications }),
      assetsFolder: fileURLToPath(new URL('./swagger-ui/', import.meta.url)),
    });
    // A list that is asked for right after the start should be there; an engine that is away must not keep us.
    const waited = new AbortController();
    const listed = application.follow().catch(() => undefined);
    await Promise.race([listed, clock.sleep(2000, waited.signal).catch(() => undefined)]);
    waited.abort();
    const address = await listen(server, http).catch((error: unknown) => {
      // The demonstration must not fail because something else is there.
      if (command === 'demo') return listen(server, { ...http, port: 0 });
      throw error;
    });
    log.info('listening', { address, groups: http.groups.join(',') });
    return {
      address,
      tokens: { api: textOf(http.token) ?? '', events: textOf(http.eventsToken) ?? '' },
      stop: async () => {
        await stop();
        await application.close();
      },
    };
  };
}

/** Everything on, for this machine alone unless told otherwise, with tokens made up where none are given. */
async function demoApi(http: HttpSettings): Promise<HttpSettings> {
  const { randomBytes } = await import('node:crypto');
  const { endpointGroups } = await import('./domain/settings/http-settings.ts');
  const madeUp = (): TokenSource => ({ kind: 'value', value: randomBytes(12).toString('base64url') });
  return {
    ...http,
    host: http.host ?? '127.0.0.1',
    groups: http.groups.length > 0 ? http.groups : endpointGroups,
    token: http.token ?? madeUp(),
    eventsToken: http.eventsToken ?? madeUp(),
  };
}

function textOf(token: TokenSource | undefined): string | undefined {
  return token?.kind === 'file' ? readFileSync(token.path, 'utf8').trim() : token?.value;
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const manifest: unknown = JSON.parse(text);
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
