import { createSandboxEngine, type SandboxEngine } from '../../../sandbox/engine/engine.ts';
import { createSandboxRegistry, type SandboxRegistry } from '../../../sandbox/registry/registry.ts';
import type { Application } from '../../../src/application/application.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import { createFleet, type FleetParts } from '../../../src/application/fleet/create-fleet.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Engine } from '../../../src/domain/outside/engine.ts';
import type { Clock, Log } from '../../../src/domain/outside/outside.ts';
import type { ServiceEvent } from '../../../src/domain/run/event.ts';
import { defaultSettings, type ServiceSettings } from '../../../src/domain/settings/settings.ts';

/** Several engines in memory, with one registry, as one application. */
export type FleetScene = {
  readonly application: Application;
  readonly engines: Readonly<Record<string, SceneEngine>>;
  readonly registry: SandboxRegistry;
  /** The questions that registries were asked, in order. */
  readonly asked: readonly string[];
  readonly events: readonly ServiceEvent[];
  /** Pulls what has been published and runs a container of it. */
  readonly run: (engine: string, name: string, reference: string) => Promise<string>;
  readonly close: () => Promise<void>;
};

export type SceneEngine = {
  readonly sandbox: SandboxEngine;
  /** From now on its calls fail, or never end; or all is well again. */
  readonly behave: (how: 'well' | 'refusing' | 'hanging') => void;
  /** Calls that were tried while it was away. */
  readonly attempts: () => number;
};

export type FleetSceneOptions = {
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly settings?: Partial<ServiceSettings>;
  readonly enginesAtOnce?: number;
  readonly waves?: FleetParts['waves'];
  /** The engine with our own container, which is named so. */
  readonly self?: { readonly engine: string; readonly container: string };
};

export function createFleetScene({
  names,
  clock,
  settings = {},
  enginesAtOnce = 10,
  waves,
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
  const engines = Object.fromEntries(names.map((name) => [name, openSceneEngine(name, clock, registry)]));
  let ids = 0;
  const newId = () => `id-${(ids += 1)}`;
  const instance = {
    owner: 'test',
    containerId: undefined,
    isMainProcess: false,
    ownerState: (other: string) => (other === 'test' ? ('self' as const) : ('unknown' as const)),
  };
  const application = createFleet({
    ...{ clock, log: silent, newId, registry: counted, enginesAtOnce, ...(waves && { waves }) },
    open: (onAnswer) =>
      Object.entries(engines).map(([name, { engine, sandbox }]) => ({
        name,
        address: `tcp://${name}`,
        info: engine.info,
        application: createApplication(
          { engine, registry: counted, prober: sandbox.prober, clock, log: silent, instance, newId, engineName: name },
          { ...defaultSettings, gateWindowMs: 1000, ...settings },
          {},
          { onAnswer: (failure) => onAnswer(name, failure), longestRetryMs: 60_000 },
        ),
      })),
  });
  application.subscribe((event) => void events.push(event));
  return {
    ...{ application, engines, registry, asked, events },
    async run(engine, name, reference) {
      const { sandbox } = engines[engine] ?? fail(engine);
      await sandbox.engine.pullImage({ reference });
      return sandbox.control.runContainer(name, { Image: reference, HostConfig: {} });
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

function openSceneEngine(name: string, clock: Clock, registry: SandboxRegistry) {
  const sandbox = createSandboxEngine({ clock, registries: registry.store, seed: name });
  let behaviour: 'well' | 'refusing' | 'hanging' = 'well';
  let attempts = 0;
  const refuse = () => new ServiceError('engine-unreachable', `Cannot reach ssh://me@${name}: connection refused`);

  function interrupted(signal: AbortSignal | undefined): Promise<never> {
    attempts += 1;
    if (behaviour === 'refusing') return Promise.reject(refuse());
    // As a deadline of the adapter does.
    return clock.sleep(30_000, signal).then(() => {
      throw new ServiceError('timeout', `Cannot ask ${name}: it did not answer within 30s`);
    });
  }

  const calls = Object.entries(sandbox.engine).map(([method, call]): [string, unknown] => {
    if (method === 'close') return [method, call];
    if (method === 'events') return [method, events];
    const guarded = (...args: readonly unknown[]): unknown => {
      const signal = args.find((arg) => arg instanceof AbortSignal);
      if (behaviour !== 'well') return interrupted(signal);
      return (call as (...given: readonly unknown[]) => unknown)(...args);
    };
    return [method, guarded];
  });

  async function* events(signal: AbortSignal, onBreak: () => void = () => {}): ReturnType<Engine['events']> {
    while (!signal.aborted) {
      if (behaviour === 'well') yield* untilAway(signal);
      onBreak();
      await clock.sleep(60_000, signal).catch(() => undefined);
    }
  }

  let breakOff = new AbortController();
  async function* untilAway(signal: AbortSignal): ReturnType<Engine['events']> {
    yield* sandbox.engine.events(AbortSignal.any([signal, breakOff.signal]));
  }

  return {
    sandbox,
    // The same methods, guarded.
    engine: Object.fromEntries(calls) as unknown as Engine,
    attempts: () => attempts,
    behave(how: typeof behaviour) {
      behaviour = how;
      breakOff.abort();
      breakOff = new AbortController();
    },
  };
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
