import { readWaves } from '../application/fleet/waves.ts';
import type { Application } from '../application/application.ts';
import type { Member } from '../application/fleet/members.ts';
import type { SwarmOptions } from '../application/fleet/swarm-members.ts';
import type { Settings } from '../config/read/process-settings.ts';
import { ServiceError } from '../domain/text/errors.ts';
import type { Log, Outside, Engine } from '../domain/outside/outside.ts';
import { identityOf, readKeys, type ProcessContext } from './process-context.ts';
import type { NamedEngine } from './open-engine.ts';
import type { SwarmOfEngine } from './service.ts';

type OpenedFleet = {
  readonly application: Application;
  /** The first engine. */
  readonly engine: Engine;
  readonly engines: readonly NamedEngine[];
  readonly notesRequests: ReadonlyMap<string, number> | undefined;
  readonly sockets: readonly string[];
  readonly swarms: readonly SwarmOfEngine[];
  readonly close: () => Promise<void>;
};

/** Several engines as one service. */
export async function openFleet(
  command: string,
  isReader: boolean,
  settings: Settings,
  surroundings: ProcessContext,
): Promise<OpenedFleet> {
  const { engines, enginesAtOnce, waves } = settings.engine;
  const { clock, log, ending } = surroundings;
  const { createFleet } = await import('../application/fleet/create-fleet.ts');
  const { createApplication } = await import('../application/create-application.ts');
  const { createProber } = await import('../adapters/probe/prober.ts');
  const { createEngineAnswers, shareEvents } = await import('../application/engine/share-engine.ts');
  const { openComposeFilesOf, openEngine, openNotes, openRegistry, openUnitsOf, shownAddress } =
    await import('./open-engine.ts');
  const opened = await Promise.all(
    engines.map(async (address) => {
      const engine = await openEngine(address, settings, { clock, log }, isReader);
      // The engine's application and its swarm's application share one event stream.
      const named = { log: naming(log, () => address.name) };
      const files = { ...(await openComposeFilesOf(engine, settings, named)), ...openUnitsOf(engine, settings) };
      return { address, engine: settings.service.swarm ? shareEvents(engine) : engine, files };
    }),
  );
  const everyEngine = opened.map(({ engine }) => engine);
  const isAway = (name: string) => application.engines?.().find((one) => one.name === name)?.reachable === false;
  const answers = createEngineAnswers(
    opened.map(({ address, engine }) => ({ engine, isAway: () => isAway(address.name) })),
    clock,
  );
  const { folder } = settings.state;
  const memory = folder === undefined ? undefined : await import('./memory.ts');
  const registry = await openRegistry(settings, surroundings, answers);
  const isService = command === 'run' && !settings.run.once;
  const notes = await openNotes(settings, surroundings, isService);
  const identity = await identityOf(settings.state, { log });
  const world = {
    registry,
    prober: createProber(),
    clock,
    ...(ending && { ending }),
    ...identity,
    verificationKeys: await readKeys(settings),
  } satisfies Partial<Outside>;
  const shared = folder === undefined ? undefined : memory?.openMemory(folder, { clock, log });
  const { history, seenTags } = shared ?? {};
  const memoryOf = (name: string) => ({
    ...(folder !== undefined && memory?.openDecisions(folder, { log }, name)),
    ...(folder !== undefined && memory?.openChecks(folder, { log }, name)),
    ...(folder !== undefined && memory?.openComposeRecords(folder, { log }, name)),
    ...(seenTags && { seenTags }),
    endsDecisions: command === 'run',
    isReader,
  });
  const openSwarm: SwarmOptions['open'] = ({ id, node, owner }) =>
    createApplication(
      { ...world, ...node, log: naming(log, owner) },
      settings.service,
      // Named by the swarm's id, because its owner may change.
      memoryOf(`swarm-${id.replaceAll(/[^a-z0-9]/gi, '').slice(0, 64)}`),
      { maxRetryMs: 60_000, notes },
    );
  const application = createFleet({
    clock,
    log,
    newId: identity.newId,
    registry,
    enginesAtOnce,
    ...(history && { history }),
    ...(waves && {
      waves: readWaves(
        waves,
        engines.map(({ name }) => name),
        log,
      ),
    }),
    ...(settings.service.swarm && { services: { open: openSwarm, ownId: identity.instance.containerId } }),
    open: (onAnswer) =>
      opened.map(({ address, engine, files }, index): Member => {
        const { name } = address;
        const others = opened.filter((other) => other.engine !== engine);
        const routes = () => ({
          own: engine.route(),
          others: others.map((other) => ({ engine: other.address.name, route: other.engine.route() })),
        });
        const outside = { ...world, ...files, engine, engineName: name, routes, log: naming(log, () => name) };
        return {
          name,
          address: shownAddress(address),
          info: engine.info,
          ...(settings.service.swarm && { node: { engine, swarm: engine.swarm } }),
          application: createApplication(outside, settings.service, memoryOf(name), {
            onAnswer: (failure) => onAnswer(name, failure),
            // The event stream is retried every minute and finds a returned engine.
            maxRetryMs: 600_000,
            tellsStartTimes: command === 'run' && settings.http.groups.includes('containers'),
            isService,
            notes,
            goneRetryMs: 600_000,
            phase: index / opened.length,
          }),
        };
      }),
  });
  const [first] = everyEngine;
  if (first === undefined) throw new ServiceError('invalid-input', 'Cannot open a fleet without engines');
  return {
    application,
    notesRequests: notes.requests,
    engine: first,
    engines: opened.map(({ address, engine }) => ({ name: address.name, engine })),
    sockets: everyEngine.map(({ route }) => route()).flatMap((route) => (route.kind === 'socket' ? [route.path] : [])),
    // With --swarm the fleet finds the managers.
    swarms: settings.service.swarm
      ? []
      : opened.map(({ address, engine }) => ({ swarm: engine.swarm, log: naming(log, () => address.name) })),
    close: async () => {
      await Promise.all([...everyEngine.map((engine) => engine.close()), registry.close(), notes.close()]);
    },
  };
}

/** The log of one engine: every line has its name. */
function naming(log: Log, nameOf: () => string): Log {
  return {
    debug: (message, fields) => log.debug(message, { engine: nameOf(), ...fields }),
    info: (message, fields) => log.info(message, { engine: nameOf(), ...fields }),
    warn: (message, fields) => log.warn(message, { engine: nameOf(), ...fields }),
    error: (message, fields) => log.error(message, { engine: nameOf(), ...fields }),
  };
}
