import { createSandboxEngine, type SandboxEngine } from '../../../sandbox/engine/engine.ts';
import { createSandboxRegistry, type SandboxRegistry } from '../../../sandbox/registry/registry.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import type { Application } from '../../../src/application/application.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import { createNotes } from '../../../src/application/check/notes.ts';
import type { EngineState } from '../../../src/domain/outside/engine.ts';
import type { Forges } from '../../../src/domain/notes/notes.ts';
import { defaultSettings, type ServiceSettings } from '../../../src/domain/settings/effective-settings.ts';
import { createMetrics } from '../../../src/interfaces/metrics/metrics.ts';
import { silentLog } from '../test-log.ts';
import { type HttpScene, type SceneOptions, startHttp } from './http-scene.ts';

/** The service as it runs, over real HTTP, on an engine and registries in memory. */
export type WholeService = HttpScene & {
  readonly application: Application;
  readonly sandbox: SandboxEngine;
  readonly registry: SandboxRegistry;
  /** Publishes a release, and returns its digest. */
  readonly publish: (reference: string, version: string, parts?: object) => string;
  /** Pulls the published image and runs a container of it. */
  readonly run: (name: string, reference: string, labels?: Readonly<Record<string, string>>) => Promise<string>;
};

export type WholeServiceOptions = SceneOptions & {
  readonly service?: Partial<ServiceSettings>;
  /** Time of a registry's answer; 0 by default. */
  readonly registryLatencyMs?: number;
  /** Answers for every forge; by default nobody reads release notes. */
  readonly forges?: Forges;
  /** Makes it one of several engines, as far as the HTTP interface knows. */
  readonly engines?: () => readonly EngineState[];
  /** This number of nodes forms a swarm. The engine is its manager, and the service watches it. */
  readonly swarmNodes?: number;
};

export async function startWholeService(options: WholeServiceOptions = {}): Promise<WholeService> {
  const { service = {}, registryLatencyMs = 0, swarmNodes = 0, forges, engines, ...scene } = options;
  const clock = createSystemClock();
  const registry = createSandboxRegistry({ clock, latencyMs: registryLatencyMs });
  const sandbox = createSandboxEngine({ clock, registries: registry.store });
  if (swarmNodes > 0) sandbox.swarmControl.form(swarmNodes);
  let ids = 0;
  const notes = forges && createNotes({ forges, clock, log: silentLog, store: undefined, isService: true });
  const application = createApplication(
    {
      engine: sandbox.engine,
      registry: registry.registry,
      prober: sandbox.prober,
      ...(swarmNodes > 0 && { swarm: sandbox.swarm }),
      clock,
      log: silentLog,
      instance: {
        owner: 'test',
        containerId: undefined,
        isMainProcess: false,
        transactions: new Set(),
        ownerState: (other) => (other === 'test' ? 'self' : 'unknown'),
      },
      newId: () => `id-${(ids += 1)}`,
    },
    { ...defaultSettings, healthWindowMs: 100, swarm: swarmNodes > 0, ...service },
    {},
    { tellsStartTimes: true, ...(notes && { notes }) },
  );
  const metrics = createMetrics({
    clock,
    updatesAvailable: () => application.status().updatesAvailable,
    version: '1.2.3',
    containers: () => application.inventory().containers,
  });
  application.subscribe(metrics.record);
  await application.follow();
  const http = await startHttp({ ...application, ...(engines && { engines }) }, { metrics: metrics.text, ...scene });

  const publish = (reference: string, version: string, parts: object = {}): string =>
    registry.store.publish(reference, { version: `${reference} ${version}`, ...parts }).digest;
  return {
    ...http,
    application,
    sandbox,
    registry,
    publish,
    run: async (name, reference, labels = {}) => {
      await sandbox.engine.pullImage({ reference });
      return sandbox.control.runContainer(name, { Image: reference, Labels: labels, HostConfig: {} });
    },
    stop: async () => {
      await http.stop();
      await application.close();
      sandbox.control.close();
    },
  };
}
