import type { Application } from '../application/application.ts';
import type { Member } from '../application/fleet/member/member.ts';
import type { Settings } from '../config/read/settings.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Engine } from '../domain/outside/engine.ts';
import type { Log, Outside } from '../domain/outside/outside.ts';
import { identityOf, readKeys } from './identity.ts';
import type { Surroundings } from './surroundings.ts';

type OpenedFleet = {
  readonly application: Application;
  /** The first of them. */
  readonly engine: Engine;
  readonly close: () => Promise<void>;
};

/** Several engines as one service. */
export async function openFleet(command: string, settings: Settings, surroundings: Surroundings): Promise<OpenedFleet> {
  const { engines, enginesAtOnce, waves } = settings.engine;
  const { clock, log, program } = surroundings;
  const { createFleet } = await import('../application/fleet/create-fleet.ts');
  const { readWaves } = await import('../application/fleet/run/read-waves.ts');
  const { createApplication } = await import('../application/create-application.ts');
  const { createOciRegistry } = await import('../adapters/oci/registry.ts');
  const { createProber } = await import('../adapters/probe/prober.ts');
  const { answersOf, openEngine, shownAddress } = await import('./open-engine.ts');
  const opened = await Promise.all(
    engines.map(async (address) => ({ address, engine: await openEngine(address, settings, { clock, log }) })),
  );
  const everyEngine = opened.map(({ engine }) => engine);
  const { folder } = settings.state;
  const memory = folder === undefined ? undefined : await import('./memory.ts');
  const registry = createOciRegistry({
    ...{ clock, log, version: program.version },
    ...settings.registry,
    listings: folder === undefined ? undefined : memory?.openListings(folder, { log }),
    hubMirrors: (signal) => answersOf(everyEngine, ({ hubMirrors }) => hubMirrors, clock, signal),
    insecureRegistries: (signal) =>
      answersOf(everyEngine, ({ insecureRegistries }) => insecureRegistries, clock, signal),
  });
  const identity = await identityOf(settings.state);
  const world = {
    ...{ registry, prober: createProber(), clock },
    ...identity,
    verificationKeys: await readKeys(settings),
  } satisfies Partial<Outside>;
  const shared = folder === undefined ? undefined : memory?.openMemory(folder, { clock, log });
  const { history, seenTags } = shared ?? {};
  const application = createFleet({
    ...{ clock, log, newId: identity.newId, registry, enginesAtOnce },
    ...(history && { history }),
    ...(waves && {
      waves: readWaves(
        waves,
        engines.map(({ name }) => name),
        log,
      ),
    }),
    open: (onAnswer) =>
      opened.map(({ address, engine }): Member => {
        const { name } = address;
        const outside = { ...world, engine, engineName: name, log: naming(log, name) };
        const swarm = settings.service.swarm && { swarm: engine.swarm };
        const decisions =
          folder === undefined || memory === undefined ? {} : memory.openDecisions(folder, outside, name);
        const kept = { ...decisions, ...(seenTags && { seenTags }), endsDecisions: command === 'run' };
        return {
          name,
          address: shownAddress(address),
          info: engine.info,
          application: createApplication({ ...outside, ...swarm }, settings.service, kept, {
            onAnswer: (failure) => onAnswer(name, failure),
            // The attempt to follow its events, every minute, is the one that finds it back.
            longestRetryMs: 600_000,
          }),
        };
      }),
  });
  const [first] = everyEngine;
  if (first === undefined) throw new ServiceError('invalid-input', 'Cannot work on no engine');
  return {
    application,
    engine: first,
    close: async () => {
      await Promise.all([...everyEngine.map((engine) => engine.close()), registry.close()]);
    },
  };
}

/** The log of one engine: every line has its name. */
function naming(log: Log, engine: string): Log {
  return {
    debug: (message, fields) => log.debug(message, { engine, ...fields }),
    info: (message, fields) => log.info(message, { engine, ...fields }),
    warn: (message, fields) => log.warn(message, { engine, ...fields }),
    error: (message, fields) => log.error(message, { engine, ...fields }),
  };
}
