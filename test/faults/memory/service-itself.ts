import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { SandboxConnection } from '../../../sandbox/engine/engine.ts';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import type { Application } from '../../../src/application/application.ts';
import type { Container } from '../../../src/domain/container/container.ts';
import { finishVariable } from '../../../src/domain/self-update/helper.ts';
import type { Instance, Outside } from '../../../src/domain/outside/outside.ts';
import type { Session } from '../../../src/domain/run/session.ts';
import { defaultSettings, type ServiceSettings } from '../../../src/domain/settings/effective-settings.ts';
import { isHelperName } from '../../../src/domain/transaction/transaction-names.ts';
import { createSandboxScene, type SandboxScene } from '../../support/scene/sandbox-outside.ts';

/** Upkeep in the container `upkeep` of an engine in memory, and a new version of its image. */
export type ServiceShape = {
  readonly name: string;
  readonly next: Behaviour & { readonly sick?: boolean };
  readonly good: boolean;
  readonly policy: string;
  readonly hostConfig?: object;
};

/** Upkeep runs wherever a container of its image runs: as the service, or as the helper. */
export type ServiceStage = {
  readonly scene: SandboxScene;
  readonly before: Container;
  readonly newImageId: string;
  /** Every process, oldest first. */
  readonly lives: readonly Life[];
  /** The first process's report of its update; undefined if it made none. */
  readonly session: () => Session | undefined;
  /** The largest number of Upkeep's containers, without helpers, that ran at the same time. */
  readonly maxAtOnce: () => number;
  /** Waits until nothing changes any more. */
  readonly settle: () => Promise<void>;
  /** If no Upkeep runs at all, a person starts one: the container with the name, or else the parked one. */
  readonly startByHand: () => Promise<void>;
  readonly close: () => void;
};

export type Life = {
  readonly kind: 'service' | 'helper';
  readonly containerId: string;
  readonly connection: SandboxConnection;
  readonly application: Application;
  /** Lines of its log, as `info: text`. */
  readonly log: readonly string[];
};

/** The faults that the nth process of a kind meets, from 1. */
export type FaultsOf = (kind: Life['kind'], nth: number) => readonly PlannedFault[];

const image = 'registry.test/upkeep:stable';

const settings: ServiceSettings = {
  ...defaultSettings,
  healthWindowMs: 5000,
  stopTimeoutMs: 3000,
  cleanup: true,
};

export async function setServiceStage(
  shape: ServiceShape,
  faultsOf: FaultsOf = () => [],
  more: Partial<ServiceSettings> = {},
): Promise<ServiceStage> {
  const scene = createSandboxScene();
  const { control, engine } = scene.sandbox;
  const { sick, ...behaviour } = shape.next;
  const health = sick === true ? { Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 } } : {};
  scene.registry.store.publish(image, { version: '1', behaviour: { stopMs: 100 } });
  scene.registry.store.publish('registry.test/web:1', { version: 'web 1' });
  for (const reference of [image, 'registry.test/web:1']) await engine.pullImage({ reference });
  control.addContainer('upkeep', {
    Image: image,
    Env: ['KEPT=yes'],
    HostConfig: {
      RestartPolicy: { Name: shape.policy, MaximumRetryCount: 0 },
      Binds: ['state:/state'],
      ...shape.hostConfig,
    },
  });
  control.runContainer('web', { Image: 'registry.test/web:1' });
  const manifest = scene.registry.store.publish(image, {
    version: '2',
    config: health,
    behaviour: sick === true ? { health: { kind: 'unhealthy' } } : behaviour,
  });
  scene.registry.store.publish('registry.test/web:1', { version: 'web 2' });
  const newImageId = manifest.kind === 'image' ? manifest.image.id : '';

  const before = (await engine.inspectContainer('upkeep'))!;
  const lives: (Life & { readonly startedAt: string })[] = [];
  let session: Session | undefined;
  let most = 0;

  const isAlive = ({ connection }: Life) => !connection.isDead();

  function end(life: Life): void {
    life.connection.crash();
    void life.application.close();
  }

  /** Processes begin and end with their containers. */
  function reconcile(): void {
    const running = Object.values(control.snapshot().containers).filter(
      ({ state, imageId }) => state.status === 'running' && [before.imageId, newImageId].includes(imageId),
    );
    most = Math.max(most, running.filter(({ name }) => !isHelperName(name)).length);
    const isOf = (life: (typeof lives)[number]) => (container: Container) =>
      container.id === life.containerId && container.state.startedAt === life.startedAt;
    for (const life of lives) if (isAlive(life) && !running.some(isOf(life))) end(life);
    for (const container of running) if (!lives.some((life) => isOf(life)(container))) void live(container);
  }

  async function live(container: Container): Promise<void> {
    const order = container.settings.Config.Env?.find((line) => line.startsWith(`${finishVariable}=`))?.split('=')[1];
    const kind = order === undefined ? 'service' : 'helper';
    const nth = lives.filter((life) => life.kind === kind).length + 1;
    const connection = scene.sandbox.connect({ faults: faultsOf(kind, nth) });
    const log: string[] = [];
    const outside = { ...scene.startProcess(connection).outside, ...inside(container.id, lives.length, log) };
    const application = createApplication(outside, { ...settings, ...more });
    const { startedAt } = container.state;
    const life = { kind, containerId: container.id, connection, application, log, startedAt } as const;
    lives.push(life);
    const code = await (order === undefined ? serve(application, nth) : help(application, order));
    if (code === undefined && !connection.isDead()) return;
    const now = Object.values(control.snapshot().containers).find(({ id }) => id === container.id);
    const isStillIt = now?.state.status === 'running' && now.state.startedAt === startedAt;
    const exitCode = connection.isDead() ? killed : (code ?? killed);
    end(life);
    if (isStillIt) control.endProcess(container.id, exitCode);
  }

  /** The service runs until it is killed, so there is no exit code. */
  async function serve(application: Application, nth: number): Promise<undefined> {
    try {
      await application.recover();
      if (nth === 1) session = await application.update({ trigger: 'schedule', images: [], containers: [] });
    } catch {
      // If its connection is dead, so is the process.
    }
    return undefined;
  }

  async function help(application: Application, order: string): Promise<number> {
    try {
      const { transactions } = await application.finishUpdate(order);
      return transactions.some(({ result }) => result === 'failed') ? 1 : 0;
    } catch {
      return 1;
    }
  }

  const listening = new AbortController();
  void (async () => {
    for await (const _ of engine.events(listening.signal)) reconcile();
  })();
  control.startContainer('upkeep');
  return {
    scene,
    before,
    newImageId,
    lives,
    session: () => session,
    maxAtOnce: () => most,
    settle: () => scene.clock.run(() => scene.clock.sleep(settleMs)),
    startByHand: async () => {
      for (const isOne of [/^upkeep$/, /^upkeep\.upkeep-(?:old|drop)-/]) {
        const containers = Object.values(control.snapshot().containers).filter(({ name }) => name.startsWith('upkeep'));
        if (containers.some(({ running, name }) => running && !isHelperName(name))) return;
        for (const { name } of containers.filter((container) => isOne.test(container.name))) {
          await engine.startContainer(name);
          await scene.clock.run(() => scene.clock.sleep(settleMs));
        }
      }
    },
    close: () => {
      listening.abort();
      for (const life of lives) end(life);
    },
  };
}

/** Exit code of a process ended by signal 9. */
const killed = 137;

/** Longer than the timeout for a helper that never begins. */
const settleMs = 400_000;

function inside(containerId: string, nth: number, log: string[]): Pick<Outside, 'instance' | 'log'> {
  const owner = `life ${nth} in ${containerId}`;
  const instance: Instance = {
    owner,
    containerId,
    isMainProcess: true,
    transactions: new Set(),
    ownerState: (other) => {
      if (other === owner) return 'self';
      return other.endsWith(containerId) ? 'dead' : 'unknown';
    },
  };
  const note = (level: string) => (message: string) => void log.push(`${level}: ${message}`);
  return { instance, log: { debug: () => {}, info: note('info'), warn: note('warn'), error: note('error') } };
}

/** Errors at the end; empty if Upkeep runs as before, with an allowed version. */
export function faultsOfService({ scene, before, newImageId }: ServiceStage, shape: ServiceShape): string[] {
  const { containers } = scene.sandbox.control.snapshot();
  const faults: string[] = [];
  const names = Object.keys(containers).toSorted().join();
  if (names !== 'upkeep,web') faults.push(`the containers are ${names}`);
  const now = containers['upkeep'];
  if (now === undefined) return faults;
  if (now.state.status !== 'running') faults.push(`it is ${now.state.status}`);
  if (now.imageId !== before.imageId && now.imageId !== newImageId) faults.push('it runs a third image');
  if (now.imageId === newImageId && !shape.good) faults.push('it stayed on a bad version');
  if (now.imageId === before.imageId && now.id !== before.id) faults.push('it is not the container that it was');
  const shown = ({ settings: { HostConfig, Config, Mounts } }: Container) =>
    JSON.stringify([HostConfig.RestartPolicy, HostConfig.PortBindings, Config.Env, Mounts.map(({ Name }) => Name)]);
  if (shown(now) !== shown(before)) faults.push(`it is ${shown(now)} instead of ${shown(before)}`);
  return faults;
}
