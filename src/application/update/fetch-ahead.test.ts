import { expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createFleetScene } from '../../../test/support/scene/fleet-scene.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Engine, Outside } from '../../domain/outside/outside.ts';
import type { PullRequest } from '../../domain/outside/engine.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const all = { trigger: 'command', images: [], containers: [] } as const;

/** Stale containers of one image each; `pihole` is in the network of the host. */
async function setStage(names: readonly string[]) {
  const scene = createSandboxScene();
  const ids = new Map<string, string>();
  for (const name of names) {
    scene.registry.store.publish(`${name}:1`, { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: `${name}:1` });
    const HostConfig = name === 'pihole' ? { NetworkMode: 'host' } : {};
    ids.set(name, scene.sandbox.control.runContainer(name, { Image: `${name}:1`, HostConfig }));
  }
  for (const name of names) scene.registry.store.publish(`${name}:1`, { version: '2' });
  const { outside } = scene.startProcess();
  const calls: string[] = [];
  const nameOf = (reference: string) => /([a-z]+)@/.exec(reference)?.[1] ?? reference;

  async function update({ pull, freeBytes, settings = {} }: Overrides = {}) {
    const { engine } = outside;
    const watched: Partial<Engine> = {
      async pullImage(request, signal) {
        calls.push(`pull ${nameOf(request.reference)}`);
        await pull?.(request);
        return engine.pullImage(request, signal);
      },
      stopContainer(id, order) {
        calls.push(`stop ${[...ids].find(([, known]) => known === id)?.[0]}`);
        return engine.stopContainer(id, order);
      },
    };
    const world: Outside = {
      ...outside,
      engine: {
        ...engine,
        ...watched,
        info: async (signal) => ({ ...(await engine.info(signal)), dataFolder: '/data' }),
      },
      routes: () => ({ own: { kind: 'socket', path: '/var/run/docker.sock' }, others: [] }),
      ...(freeBytes !== undefined && { freeBytes: () => Promise.resolve(freeBytes) }),
    };
    const application = createApplication(world, { ...defaultSettings, healthWindowMs: 1000, ...settings });
    const { containers } = await scene.clock.run(() => application.update(all));
    return Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]));
  }

  const isUpdated = async (name: string) => (await outside.engine.inspectContainer(name))?.id !== ids.get(name);
  return { scene, calls, update, isUpdated };
}

type Overrides = {
  readonly pull?: (request: PullRequest) => Promise<void>;
  readonly freeBytes?: number;
  readonly settings?: Partial<ServiceSettings>;
};

test('failure 44: all images of a run are pulled before the first stop, also one by one', async () => {
  for (const settings of [{}, { rollingRestart: true }]) {
    const { calls, update } = await setStage(['api', 'db', 'web']);
    expect(await update({ settings })).toEqual({ api: 'updated', db: 'updated', web: 'updated' });
    expect(calls.map((call) => call.split(' ')[0])).toEqual(['pull', 'pull', 'pull', 'stop', 'stop', 'stop']);
  }
});

test('what may carry the network is replaced last, and a pull that failed is tried again after it', async () => {
  const { calls, update, isUpdated } = await setStage(['api', 'pihole', 'web']);
  let failures = 0;
  const outcomes = await update({
    async pull({ reference }) {
      if (!reference.includes('web') || (await isUpdated('pihole'))) return;
      failures += 1;
      throw new ServiceError('pull-failed', 'Cannot pull web: no such host');
    },
  });
  expect(outcomes).toEqual({ api: 'updated', pihole: 'updated', web: 'updated' });
  expect(failures).toBe(1);
  const order = calls.filter((call) => !call.startsWith('pull') || call === 'pull web');
  expect(order).toEqual(['pull web', 'stop api', 'stop pihole', 'pull web', 'stop web']);
});

test('a pull that failed is tried again until the network is back, and not for ever', async () => {
  for (const [failuresAfterwards, outcome] of [
    [3, 'updated'],
    [99, 'failed'],
  ] as const) {
    const { calls, update } = await setStage(['pihole', 'web']);
    let failures = 0;
    const outcomes = await update({
      async pull({ reference }) {
        if (!reference.includes('web') || failures > failuresAfterwards) return;
        failures += 1;
        throw new ServiceError('pull-failed', 'Cannot pull web: connection refused');
      },
    });
    expect(outcomes).toEqual({ pihole: 'updated', web: outcome });
    expect(calls.filter((call) => call === 'pull web').length).toBeLessThan(10);
    expect(calls.includes('stop web')).toBe(outcome === 'updated');
  }
});

test('a pull that failed is not tried again where nothing carries the network', async () => {
  const { calls, update } = await setStage(['api', 'web']);
  const outcomes = await update({
    pull: ({ reference }) =>
      reference.includes('web')
        ? Promise.reject(new ServiceError('pull-failed', 'Cannot pull web'))
        : Promise.resolve(),
  });
  expect(outcomes).toEqual({ api: 'updated', web: 'failed' });
  expect(calls.filter((call) => call === 'pull web')).toHaveLength(1);
});

test('images without room on the disk are pulled at the turn of their containers', async () => {
  const { calls, update } = await setStage(['api', 'db', 'web']);
  expect(await update({ freeBytes: 1, settings: { rollingRestart: true } })).toEqual({
    api: 'updated',
    db: 'updated',
    web: 'updated',
  });
  expect(calls.map((call) => call.split(' ')[0])).toEqual(['pull', 'stop', 'pull', 'stop', 'pull', 'stop']);
});

test('an engine that carries the network replaces it when the other engines of the run have pulled', async () => {
  const clock = createFakeClock({ auto: true });
  const scene = createFleetScene({ names: ['one', 'two'], clock });
  onTestFinished(() => scene.close());
  const { application, engines, registry, events } = scene;
  for (const name of ['pihole', 'web']) registry.store.publish(`${name}:1`, { version: '1' });
  await engines['one']!.sandbox.engine.pullImage({ reference: 'pihole:1' });
  engines['one']!.sandbox.control.runContainer('pihole', { Image: 'pihole:1', HostConfig: { NetworkMode: 'host' } });
  await scene.run('two', 'web', 'web:1');
  for (const name of ['pihole', 'web']) registry.store.publish(`${name}:1`, { version: '2' });
  const { resolve } = registry.registry;
  Object.assign(registry.registry, {
    resolve: async (...order: Parameters<typeof resolve>) => {
      if (order[0].repository.includes('web')) await clock.sleep(60_000);
      return resolve(...order);
    },
  });
  const { containers } = await clock.run(() => application.update({ ...all, trigger: 'http' }));
  expect(containers.map(({ outcome }) => outcome)).toEqual(['updated', 'updated']);
  const phases = events.flatMap((event) =>
    event.kind === 'phase_entered' ? [`${event.container} ${event.phase}`] : [],
  );
  expect(phases.indexOf('pihole stopping')).toBeGreaterThan(phases.indexOf('web pulling'));
});

test('the only image of an engine is pulled before another engine of the run stops the DNS', async () => {
  const clock = createFakeClock({ auto: true });
  const beforePull = async (engine: string) => {
    if (engine !== 'two') return;
    await clock.sleep(3000);
    if ((await sandbox.engine.inspectContainer(dns))?.state.status !== 'running')
      throw new ServiceError('pull-failed', 'Cannot pull web: no such host');
  };
  const scene = createFleetScene({ names: ['one', 'two'], clock, beforePull });
  onTestFinished(() => scene.close());
  const { application, engines, registry } = scene;
  for (const name of ['pihole', 'web']) registry.store.publish(`${name}:1`, { version: '1' });
  const { sandbox } = engines['one']!;
  await sandbox.engine.pullImage({ reference: 'pihole:1' });
  const dns = sandbox.control.runContainer('pihole', { Image: 'pihole:1', HostConfig: { NetworkMode: 'host' } });
  await scene.run('two', 'web', 'web:1');
  for (const name of ['pihole', 'web']) registry.store.publish(`${name}:1`, { version: '2' });
  const { containers } = await clock.run(() => application.update({ ...all, trigger: 'http' }));
  expect(containers.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(['pihole updated', 'web updated']);
});
