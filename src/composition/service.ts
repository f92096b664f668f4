import { requireManager } from '../application/engine/listing.ts';
import type { Application } from '../application/application.ts';
import type { Settings, StateSettings } from '../config/read/process-settings.ts';
import type { EngineAddress } from '../domain/engine-address.ts';
import type { LifeOptions, Memory } from '../application/create-application.ts';
import type { Outside, Engine, Log } from '../domain/outside/outside.ts';
import type { HelperTask } from '../domain/self-update/helper.ts';
import { defaultSettings, type ServiceSettings } from '../domain/settings/effective-settings.ts';
import type { changeCommands } from '../interfaces/cli/cli.ts';
import type { CommandFunction } from '../interfaces/cli/context/context.ts';
import { identityOf, readKeys, type ProcessContext } from './process-context.ts';
import type { NamedEngine } from './open-engine.ts';
import { describeError, ServiceError } from '../domain/text/errors.ts';
import type { SwarmReader } from '../domain/outside/engine.ts';

export type Service = {
  readonly application: Application;
  readonly engine: Engine;
  /** All of them; the name is undefined if there is only one. */
  readonly engines: readonly NamedEngine[];
  /** The swarm of each engine, for a line at the start; none in the demo. */
  readonly swarms: readonly SwarmOfEngine[];
  /** See `NotesService`. */
  readonly notesRequests?: ReadonlyMap<string, number> | undefined;
  /** The sockets of its engines. */
  readonly sockets: readonly string[];
  readonly command: CommandFunction;
  readonly close: () => Promise<void>;
};

export async function openService(
  command: keyof typeof changeCommands,
  settings: Settings,
  surroundings: ProcessContext,
): Promise<Service> {
  const { engines, waves } = settings.engine;
  const { finishUpdate } = settings.run;
  if (finishUpdate !== undefined) return openForHelper(command, finishUpdate, settings, surroundings);
  if (engines.length < 2) {
    if (waves !== undefined) {
      const { readSteps } = await import('../application/fleet/waves.ts');
      readSteps(waves.text);
      surroundings.log.warn('--waves has no effect with one engine');
    }
    return openEngineAlone(command, settings, surroundings);
  }
  const { openFleet } = await import('./fleet.ts');
  const cli = await import('../interfaces/cli/cli.ts');
  return {
    ...(await openFleet(command, isReader(command, settings), settings, surroundings)),
    command: await cli.changeCommands[command](),
  };
}

/** A helper opens only the engine of its task: as the service does, or for a door by its own mount of the socket. */
async function openForHelper(
  command: keyof typeof changeCommands,
  { engine: name, socket }: HelperTask,
  settings: Settings,
  surroundings: ProcessContext,
): Promise<Service> {
  const chosen = settings.engine.engines.find((one) => one.name === name);
  const usual = chosen === undefined ? settings : onlyOn(chosen, settings);
  if (socket === undefined) return openEngineAlone(command, usual, surroundings);
  const { openOnlyEngine } = await import('./open-engine.ts');
  const door = await openOnlyEngine(usual, surroundings);
  const direct = onlyOn({ name: name ?? 'local', host: `unix://${socket}` }, settings);
  const service = await openEngineAlone(command, direct, surroundings, door);
  return {
    ...service,
    close: async () => void (await Promise.all([door.close(), service.close()])),
  };
}

function onlyOn(address: EngineAddress, settings: Settings): Settings {
  return { ...settings, engine: { ...settings.engine, host: address.host, engines: [address] } };
}

async function openEngineAlone(
  command: keyof typeof changeCommands,
  settings: Settings,
  surroundings: ProcessContext,
  door?: Engine,
): Promise<Service> {
  const { clock, log, ending } = surroundings;
  const cli = await import('../interfaces/cli/cli.ts');
  const { createProber } = await import('../adapters/probe/prober.ts');
  const { openComposeFilesOf, openNotes, openOnlyEngine, openRegistry, openUnitsOf } = await import('./open-engine.ts');
  const changesNothing = isReader(command, settings);
  const engine = await openOnlyEngine(settings, surroundings, changesNothing);
  const registry = await openRegistry(settings, surroundings, async (read, signal) => read(await engine.info(signal)));
  const swarm = settings.service.swarm && { swarm: engine.swarm };
  const prober = createProber();
  const composeFiles = await openComposeFilesOf(engine, settings, { log });
  const isService = command === 'run' && !settings.run.once;
  const notes = await openNotes(settings, surroundings, isService);
  return {
    engine,
    engines: [{ name: undefined, engine }],
    sockets: [engine.route()].flatMap((route) => (route.kind === 'socket' ? [route.path] : [])),
    swarms: [{ swarm: engine.swarm, log }],
    application: await createService(
      {
        engine,
        ...swarm,
        routes: () => ({ own: engine.route(), others: [] }),
        registry,
        prober,
        clock,
        log,
        ...(ending && { ending }),
        ...(door && { door }),
        ...composeFiles,
        ...openUnitsOf(engine, settings),
        verificationKeys: await readKeys(settings),
      },
      settings.service,
      { ...settings.state, endsDecisions: command === 'run', isReader: changesNothing },
      {
        tellsStartTimes: command === 'run' && settings.http.groups.includes('containers'),
        isService,
        notes,
      },
    ),
    notesRequests: notes.requests,
    command: await cli.changeCommands[command](),
    close: async () => {
      await Promise.all([engine.close(), registry.close(), notes.close()]);
    },
  };
}

/** A check, a list, a decision and a plan change no container. */
function isReader(command: keyof typeof changeCommands, { request }: Settings): boolean {
  const listsCopies = command === 'data' && (request.containers[0] ?? 'list') === 'list';
  return command === 'check' || listsCopies || (request.dryRun && !request.verify);
}

/** Opens the demo's engine in memory. Only this function opens it, so no real command can use it by accident. */
export async function openDemo({ clock, log }: ProcessContext): Promise<Service> {
  const { createDemo } = await import('../interfaces/cli/commands/demo.ts');
  const { createDemoWorld, demoSettings } = await import('../../sandbox/demo.ts');
  const world = await createDemoWorld(clock);
  const { engine, registry, prober } = world;
  return {
    engine,
    engines: [{ name: undefined, engine }],
    application: await createService(
      { engine, registry, prober, clock, log },
      { ...defaultSettings, ...demoSettings },
      {},
      { tellsStartTimes: true },
    ),
    swarms: [],
    sockets: [],
    command: createDemo(world),
    close: () => Promise.resolve(world.close()),
  };
}

type World = Pick<
  Outside,
  'engine' | 'door' | 'swarm' | 'routes' | 'registry' | 'prober' | 'clock' | 'log' | 'verificationKeys' | 'ending'
>;

async function createService(
  world: World,
  settings: ServiceSettings,
  state: Partial<StateSettings> & Pick<Memory, 'endsDecisions' | 'isReader'>,
  follow: LifeOptions,
): Promise<Application> {
  const { createApplication } = await import('../application/create-application.ts');
  const { folder, endsDecisions = true, isReader = false } = state;
  const outside = { ...world, ...(await identityOf(state, world)) };
  const memory = folder === undefined ? {} : (await import('./memory.ts')).openMemory(folder, world);
  return createApplication(outside, settings, { ...memory, endsDecisions, isReader }, follow);
}

/** `log` names the engine if there are several. */
export type SwarmOfEngine = { readonly swarm: SwarmReader; readonly log: Pick<Log, 'info' | 'warn' | 'debug'> };

type SwarmStart = SwarmOfEngine & {
  readonly settings: Pick<ServiceSettings, 'swarm' | 'cleanup'>;
  /** Without a swarm, a service continues with containers; a command ends with an error. */
  readonly isService: boolean;
  readonly signal?: AbortSignal;
};

/**
 * Reports at the start how the swarm's services are treated. Throws a `ServiceError` for a command with --swarm if
 * there are no services to manage.
 */
export async function reportSwarm({ swarm, settings, log, isService, signal }: SwarmStart): Promise<void> {
  if (settings.swarm && !isService) return requireManager(swarm, signal);
  try {
    if (settings.swarm) await requireManager(swarm, signal);
    else await logIgnoredServices(swarm, log, signal);
    if (settings.swarm && settings.cleanup)
      log.info('--cleanup does not reach the nodes of a swarm: their old images stay');
  } catch (error) {
    if (isService && signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    // Without --swarm nothing is reported. With it, the first use of an unreachable engine reports it.
    if (settings.swarm && error.code === 'invalid-input')
      log.warn(`${describeError(error)}; only containers are watched`);
    else log.debug('The swarm cannot be asked', { error: describeError(error) });
  }
}

async function logIgnoredServices(
  swarm: SwarmReader,
  log: Pick<Log, 'info'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((await swarm.state(signal)).kind !== 'manager') return;
  const { length } = await swarm.services(signal);
  if (length === 0) return;
  const [services, them] = length === 1 ? ['Its service is', 'it'] : [`Its ${length} services are`, 'them'];
  log.info(`This engine manages a swarm. ${services} left alone: --swarm (UPKEEP_SWARM) watches ${them} too`);
}
