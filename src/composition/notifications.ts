import type { Settings } from '../config/read/process-settings.ts';
import type { MessageLevel } from '../domain/notification/message.ts';
import type { ServiceStart } from '../interfaces/cli/context/context.ts';
import type { Interrupt } from '../interfaces/cli/terminal/terminal.ts';
import type { Command, ProcessContext } from './process-context.ts';
import type { Service } from './service.ts';
import type { HomeAssistantDeps, HomeIdentity } from '../adapters/notify/home-assistant/home-assistant.ts';
import type { HomeAssistantSettings } from '../adapters/notify/home-assistant/url.ts';
import { plainName } from '../domain/transaction/transaction-names.ts';

/** Sends messages about runs, until `close`. */
export async function openNotifications(
  { engine, engines, application }: Pick<Service, 'engine' | 'engines' | 'application'>,
  settings: Settings,
  surroundings: ProcessContext,
  signal: AbortSignal,
) {
  const { clock, log, ending } = surroundings;
  const opened = await openTargets(settings, surroundings);
  const { targets, homeAssistants, problems, warnings, composer, contextFor } = opened;
  for (const problem of problems) log.error(problem);
  for (const warning of warnings) log.warn(warning);
  const { openNotifications: open } = await import('../application/notify/notifier.ts');
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
    ...(ending && { ending }),
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
  const { createNotify } = await import('../interfaces/cli/commands/notify.ts');
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
  const { createAuthorities } = await import('../adapters/http/agents.ts');
  const { createProxyChoice } = await import('../adapters/http/agents.ts');
  const { createComposer } = await import('../application/notify/notifier.ts');
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

type HomeAssistantParts = Pick<Service, 'application' | 'engines'> &
  Pick<ProcessContext, 'clock' | 'log'> & {
    readonly settings: Settings;
    /** The folder of `--state-dir`, if this process may write to it. */
    readonly stateFolder: string | undefined;
    readonly contextFor: HomeAssistantDeps['contextFor'];
    readonly version: string;
    readonly signal: AbortSignal;
  };

/**
 * Shows the containers in each Home Assistant. Returns a function that ends this after the updates and checks that were
 * begun there.
 */
async function showInHomeAssistant(
  homeAssistants: readonly HomeAssistantSettings[],
  parts: HomeAssistantParts,
): Promise<() => Promise<unknown>> {
  const { application, engines, settings, contextFor, clock, log, version, signal } = parts;
  if (homeAssistants.length === 0) return () => Promise.resolve();
  if (settings.run.once) {
    log.warn('Home Assistant shows no containers with --run-once, because the process ends after the run');
    return () => Promise.resolve();
  }
  const { openHomeAssistant } = await import('../adapters/notify/home-assistant/home-assistant.ts');
  const { createEntityKeeper } = await import('../application/notify/entity-keeper.ts');
  const begun = new Set<Promise<unknown>>();
  const begin = (work: Promise<unknown>) => {
    const one = work.finally(() => begun.delete(one));
    begun.add(one);
  };
  const closing = new AbortController();
  let identity: Promise<HomeIdentity> | undefined;
  const homes = homeAssistants.map((home) =>
    openHomeAssistant(home, {
      version,
      identity: () => (identity ??= identify(parts, closing.signal)),
      nowMs: clock.monotonicMs,
      random: Math.random,
      contextFor,
      warn: (message) => log.warn(message),
      onInstall: (name) => begin(keeper.install(name, signal)),
      onCheck: () => begin(keeper.check(signal)),
    }),
  );
  const keeper = createEntityKeeper({
    application,
    settings: settings.service,
    clock,
    log,
    show: (entities) => homes.forEach((home) => home.show(entities)),
    tell: (result) => homes.forEach((home) => home.tell(result)),
    inspect: async (id, name) => engines.find((one) => one.name === name)?.engine.inspectContainer(id, closing.signal),
  });
  application.follow().catch(() => undefined);
  const showing = keeper.run(closing.signal);
  return async () => {
    await Promise.all(begun);
    closing.abort();
    await Promise.all([showing, ...homes.map((home) => home.close())]);
  };
}

/**
 * A name that outlives the process and its container: the id of the state folder, else the name of the own container
 * with its engine's, else the host name. In a container the host name is the container's id, so it changes with it.
 */
async function identify(
  { engines, stateFolder, settings, clock }: HomeAssistantParts,
  signal: AbortSignal,
): Promise<HomeIdentity> {
  const { hostname } = await import('node:os');
  const { ownContainerId } = await import('../adapters/process/instance.ts');
  const { stateIdOf } = await import('../adapters/files/state-folder.ts');
  const stateId = stateFolder === undefined ? undefined : await stateIdOf(stateFolder, () => crypto.randomUUID());
  const ownId = ownContainerId();
  const own = ownId === undefined ? undefined : await placeOf(ownId);
  const byName = own === undefined ? undefined : `${own.engine}_${own.container}`;
  const candidates = [stateId, byName, hostname()].flatMap((one) => one ?? []);
  const [node = hostname(), ...formerNodes] = candidates;
  const deviceName = settings.notifications.hostname ?? own?.engine ?? hostname();
  // The folder is in use by another Upkeep, or its disk does not answer: the id in it is another's, or ours again later.
  return { node, deviceName, formerNodes, isTemporary: settings.state.folder !== undefined && stateId === undefined };

  /** The names of a container and its engine. Without them nothing can be shown, so an engine that is silent is asked again. */
  async function placeOf(id: string) {
    for (let tries = 0; !signal.aborted; tries += 1) {
      const asked = await Promise.all(
        engines.map(async ({ engine }) => {
          try {
            const container = await engine.inspectContainer(id, signal);
            const { name } = await engine.info(signal);
            return container === undefined ? 'elsewhere' : { container: plainName(container.name), engine: name };
          } catch {
            return 'silent';
          }
        }),
      );
      const found = asked.find((one) => typeof one === 'object');
      const isHopeless = !asked.includes('silent') || (asked.includes('elsewhere') && tries >= maxTries);
      if (found !== undefined || isHopeless) return found;
      await clock.sleep(Math.min(1000 * 2 ** tries, 60_000), signal).catch(() => undefined);
    }
    return undefined;
  }
}

/** Of several engines, which may be away for days. */
const maxTries = 5;
