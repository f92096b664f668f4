import { createSandboxEngine, type SandboxEngine } from '../../../sandbox/engine/engine.ts';
import { createSandboxRegistry, type SandboxRegistry } from '../../../sandbox/registry/registry.ts';
import type { Application } from '../../../src/application/application.ts';
import { createApplication, type Memory } from '../../../src/application/create-application.ts';
import type { SwarmOptions } from '../../../src/application/fleet/swarm-members.ts';
import { createFleet } from '../../../src/application/fleet/create-fleet.ts';
import { ServiceError } from '../../../src/domain/text/errors.ts';
import type { Swarm } from '../../../src/domain/outside/engine.ts';
import type { Clock, Log, Engine } from '../../../src/domain/outside/outside.ts';
import type { ServiceEvent } from '../../../src/domain/run/event.ts';
import { defaultSettings, type ServiceSettings } from '../../../src/domain/settings/effective-settings.ts';
import type { VerificationKey } from '../../../src/domain/image/signature.ts';
import { silentLog } from '../test-log.ts';

type FleetParts = Parameters<typeof createFleet>[0];

/** Several engines in memory, with one registry, as one application. */
export type FleetScene = {
  readonly application: Application;
  readonly engines: Readonly<Record<string, SceneEngine>>;
  readonly registry: SandboxRegistry;
  /** The requests to registries, in order. */
  readonly asked: readonly string[];
  readonly events: readonly ServiceEvent[];
  /** Pulls the published image and runs a container of it. */
  readonly run: (
    engine: string,
    name: string,
    reference: string,
    labels?: Readonly<Record<string, string>>,
  ) => Promise<string>;
  readonly close: () => Promise<void>;
};

export type SceneEngine = {
  readonly sandbox: SandboxEngine;
  /** The engine as the fleet sees it, with its behaviour. */
  readonly engine: Engine;
  readonly swarm: Swarm;
  /** From now on its calls fail, hang or work; or all work except for its events. */
  readonly behave: (how: Behaviour) => void;
  /** Number of calls that it refused, or left without an answer. */
  readonly attempts: () => number;
};

type Behaviour = 'well' | 'refusing' | 'hanging' | 'telling no events';

export type FleetSceneOptions = {
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly settings?: Partial<ServiceSettings>;
  readonly enginesAtOnce?: number;
  readonly waves?: FleetParts['waves'];
  /** Seeds of ids, by engine; default: its name. */
  readonly seeds?: Readonly<Record<string, string>>;
  /** Further names of engines: the engine by its other name. */
  readonly sameAs?: Readonly<Record<string, string>>;
  readonly log?: Log;
  /** Engines that are managers of one swarm, whose services are watched. */
  readonly swarm?: readonly string[];
  /** The memory of an engine, by its name. */
  readonly memoryOf?: (engine: string) => Memory;
  readonly verificationKeys?: readonly VerificationKey[];
  /** Id of Upkeep's own container, if it runs in one. */
  readonly ownId?: () => string | undefined;
  /** Awaited before each pull of an engine. */
  readonly beforePull?: (engine: string) => Promise<void>;
};

export function createFleetScene({
  names,
  clock,
  settings = {},
  enginesAtOnce = 10,
  waves,
  seeds = {},
  sameAs = {},
  log = silentLog,
  swarm = [],
  memoryOf = () => ({}),
  verificationKeys = [],
  ownId = () => undefined,
  beforePull,
}: FleetSceneOptions): FleetScene {
  const registry = createSandboxRegistry({ clock });
  const asked: string[] = [];
  const events: ServiceEvent[] = [];
  const counted = {
    ...registry.registry,
    resolve: (...order: Parameters<typeof registry.registry.resolve>) => {
      asked.push(`resolve ${order[0].repository}`);
      return registry.registry.resolve(...order);
    },
    describe: (...order: Parameters<typeof registry.registry.describe>) => {
      asked.push(`describe ${order[0].reference.repository}`);
      return registry.registry.describe(...order);
    },
  };
  const engines: Record<string, ReturnType<typeof openSceneEngine>> = {};
  const [firstManager, ...otherManagers] = swarm;
  for (const name of names) {
    const shared = otherManagers.includes(name) ? engines[firstManager ?? '']?.sandbox.ownSwarm : undefined;
    engines[name] =
      engines[sameAs[name] ?? ''] ??
      openSceneEngine(name, { clock, registry, seed: seeds[name], swarm: shared, beforePull });
    if (name === firstManager) engines[name].sandbox.swarmControl.form();
  }
  const watchesServices = swarm.length > 0;
  let ids = 0;
  const newId = () => `id-${(ids += 1)}`;
  const instance = {
    owner: 'test',
    get containerId() {
      return ownId();
    },
    isMainProcess: false,
    transactions: new Set<string>(),
    ownerState: (other: string) => (other === 'test' ? ('self' as const) : ('unknown' as const)),
  };
  const world = { registry: counted, clock, log, instance, newId, verificationKeys };
  const effective = { ...defaultSettings, healthWindowMs: 1000, swarm: watchesServices, ...settings };
  const prober = Object.values(engines)[0]?.sandbox.prober ?? fail('with a prober');
  const openSwarm: SwarmOptions['open'] = ({ node }) =>
    createApplication({ ...world, ...node, prober }, effective, {}, { maxRetryMs: 60_000 });
  const application = createFleet({
    ...(watchesServices && {
      services: {
        open: openSwarm,
        get ownId() {
          return ownId();
        },
      },
    }),
    clock,
    log,
    newId,
    registry: counted,
    enginesAtOnce,
    ...(waves && { waves }),
    open: (onAnswer) =>
      Object.entries(engines).map(([name, { engine, swarm: swarmOf, sandbox }]) => ({
        name,
        address: `tcp://${name}`,
        info: engine.info,
        ...(watchesServices && { node: { engine, swarm: swarmOf } }),
        application: createApplication(
          { ...world, engine, prober: sandbox.prober, engineName: name },
          effective,
          memoryOf(name),
          { onAnswer: (failure) => onAnswer(name, failure), maxRetryMs: 600_000, goneRetryMs: 600_000 },
        ),
      })),
  });
  application.subscribe((event) => void events.push(event));
  return {
    application,
    engines,
    registry,
    asked,
    events,
    async run(engine, name, reference, labels = {}) {
      const { sandbox } = engines[engine] ?? fail(engine);
      await sandbox.engine.pullImage({ reference });
      return sandbox.control.runContainer(name, { Image: reference, Labels: labels, HostConfig: {} });
    },
    async close() {
      await application.close();
      for (const { sandbox } of Object.values(engines)) sandbox.control.close();
    },
  };
}

function fail(engine: string): never {
  throw new Error(`There is no engine ${engine}`);
}

type EngineParts = {
  readonly clock: Clock;
  readonly registry: SandboxRegistry;
  readonly seed: string | undefined;
  readonly swarm: SandboxEngine['ownSwarm'] | undefined;
  readonly beforePull: FleetSceneOptions['beforePull'];
};

function openSceneEngine(name: string, { clock, registry, seed = name, swarm, beforePull }: EngineParts) {
  const sandbox = createSandboxEngine({ clock, registries: registry.store, seed, ...(swarm && { swarm }) });
  let behaviour: Behaviour = 'well';
  let attempts = 0;
  const refuse = () => new ServiceError('engine-unreachable', `Cannot reach ssh://me@${name}: connection refused`);

  function interrupted(signal: AbortSignal | undefined): Promise<never> {
    attempts += 1;
    if (behaviour === 'refusing') return Promise.reject(refuse());
    // Imitates a deadline of the adapter.
    return clock.sleep(30_000, signal).then(() => {
      throw new ServiceError('timeout', `Cannot ask ${name}: it did not answer within 30s`);
    });
  }

  function guarded(call: unknown): unknown {
    return (...args: readonly unknown[]): unknown => {
      const signal = args.find((arg) => arg instanceof AbortSignal);
      if (behaviour === 'refusing' || behaviour === 'hanging') return interrupted(signal);
      return (call as (...given: readonly unknown[]) => unknown)(...args);
    };
  }

  const calls = Object.entries(sandbox.engine).map(([method, call]): [string, unknown] => {
    if (method === 'close') return [method, call];
    if (method === 'pullImage') return [method, pullImage];
    return [method, method === 'events' ? events : guarded(call)];
  });

  async function pullImage(...order: Parameters<Engine['pullImage']>): Promise<void> {
    await beforePull?.(name);
    await (guarded(sandbox.engine.pullImage) as Engine['pullImage'])(...order);
  }

  /** Reports an unsent call, and one without an answer, like the adapter. */
  function reporting(call: unknown): unknown {
    const ask = guarded(call) as (...args: readonly unknown[]) => Promise<unknown>;
    return async (...args: readonly unknown[]): Promise<unknown> => {
      try {
        return await ask(...args);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { message } = error;
        return error.code === 'timeout' ? { kind: 'unknown', message } : { kind: 'refused', status: 503, message };
      }
    };
  }
  const writing = new Set(['change', 'goBack', 'noteFailure', 'forgetFailure']);
  const swarmCalls = Object.entries(sandbox.swarm).map(([method, call]): [string, unknown] => [
    method,
    writing.has(method) ? reporting(call) : guarded(call),
  ]);

  async function* events(...[signal, onBreak = () => {}]: Parameters<Engine['events']>): ReturnType<Engine['events']> {
    while (!signal.aborted) {
      if (behaviour === 'well') yield* untilAway(signal);
      onBreak(behaviour === 'refusing' ? refuse() : undefined);
      await clock.sleep(60_000, signal).catch(() => undefined);
    }
  }

  let breakOff = new AbortController();
  async function* untilAway(signal: AbortSignal): ReturnType<Engine['events']> {
    yield* sandbox.engine.events(AbortSignal.any([signal, breakOff.signal]));
  }

  return {
    sandbox,
    // The same methods with these faults.
    engine: Object.fromEntries(calls) as unknown as Engine,
    swarm: Object.fromEntries(swarmCalls) as unknown as Swarm,
    attempts: () => attempts,
    behave(how: typeof behaviour) {
      behaviour = how;
      breakOff.abort();
      breakOff = new AbortController();
    },
  };
}
