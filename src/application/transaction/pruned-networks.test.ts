import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import { applicationWith, updateAll } from '../../../test/support/scene/race-scene.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { recoverTransactions } from '../recovery/recover.ts';
import type { Engine } from '../../domain/outside/outside.ts';

const front = { Aliases: ['shop'], IPAMConfig: { IPv4Address: '10.77.0.10' } };

/** `web` has an address in one network and an alias in another. Nobody else uses them. */
async function createWebInNetworks(next: Behaviour = {}) {
  const scene = createSandboxScene();
  const { control, engine } = scene.sandbox;
  control.addNetwork('front', { subnet: '10.77.0.0/24' });
  const networkId = control.addNetwork('back');
  scene.registry.store.publish('app:1', { version: '1' });
  await engine.pullImage({ reference: 'app:1' });
  const old = control.runContainer('web', {
    Image: 'app:1',
    HostConfig: { NetworkMode: 'front', RestartPolicy: { Name: 'unless-stopped' } },
    NetworkingConfig: { EndpointsConfig: { front } },
  });
  await engine.connectNetwork({ containerId: old, networkId, endpoint: { Aliases: ['stock'] } });
  scene.registry.store.publish('app:1', { version: '2', behaviour: next });
  const networks = () => engine.listNetworks();
  return { scene, process: scene.startProcess(), old, networks, before: await networks() };
}

const asBefore = {
  front: { IPAMConfig: front.IPAMConfig, IPAddress: '10.77.0.10', Aliases: expect.arrayContaining(['shop']) },
  back: { Aliases: expect.arrayContaining(['stock']) },
};

type Web = Awaited<ReturnType<typeof createWebInNetworks>>;

/** Updates with a prune as soon as `web` is stopped. */
async function updateAndPrune({ scene, process, old }: Web, prune: () => void, calls: Partial<Engine> = {}) {
  const { outside } = process;
  const application = applicationWith(outside, {
    stopContainer: async (id, options) => {
      const outcome = await outside.engine.stopContainer(id, options);
      if (id === old) prune();
      return outcome;
    },
    ...calls,
  });
  const { containers } = await scene.clock.run(() => application.update(updateAll));
  return containers[0];
}

const visible = ({ name, driver }: Awaited<ReturnType<Web['networks']>>[number]) => `${driver} ${name}`;

describe('networks that are pruned while the container is down', () => {
  test.each([
    ['a good version, after "docker network prune"', {}, [], 'updated'],
    ['a version that cannot start, after "docker network prune"', { startError: 'no such file' }, [], 'rolled_back'],
    ['a version that ends, after "docker network prune"', { exitsAfterMs: 1, exitCode: 3 }, [], 'rolled_back'],
    ['a good version, after "docker system prune"', {}, ['old'], 'rolled_back'],
    ['a good version, after "docker system prune --all"', {}, ['old', 'new'], 'rolled_back'],
  ] as const)('%s: they are created again, and it runs in them', async (_, next, images, outcome) => {
    const web = await createWebInNetworks(next);
    const { control, engine } = web.scene.sandbox;
    const row = await updateAndPrune(web, () => {
      const { containers } = control.snapshot();
      if (images.length > 0) control.pruneContainers();
      control.pruneNetworks();
      for (const { id, imageId } of Object.values(containers))
        if (images.some((which) => (which === 'old') === (id === web.old))) control.removeImageByForce(imageId);
    });
    expect(row?.outcome).toBe(outcome);
    const after = await web.networks();
    expect(after.map(visible).toSorted()).toEqual(web.before.map(visible).toSorted());
    const container = await engine.inspectContainer('web');
    expect(container?.state.status).toBe('running');
    expect(container?.settings.Networks).toMatchObject(asBefore);
    expect(Object.keys(control.snapshot().containers)).toHaveLength(1);
  });

  test('a prune that reaches them only when the container is created again delays it, and no more', async () => {
    const web = await createWebInNetworks();
    const { control, engine } = web.scene.sandbox;
    const row = await updateAndPrune(web, control.pruneContainers, {
      createContainer: async (name, recipe) => {
        const created = await engine.createContainer(name, recipe);
        if (name === 'web.upkeep-standin') control.pruneNetworks();
        return created;
      },
    });
    expect(row?.outcome).toBe('rolled_back');
    const container = await engine.inspectContainer('web');
    expect(container?.state.status).toBe('running');
    expect(Object.keys(container?.settings.Networks ?? {}).toSorted()).toEqual(['back', 'front']);
  });

  test('a container whose image cannot be pulled again is told as gone, with the reason', async () => {
    const web = await createWebInNetworks();
    const { sandbox, registry } = web.scene;
    const { control, engine } = sandbox;
    const imageId = (await engine.inspectContainer(web.old))?.imageId ?? '';
    const row = await updateAndPrune(web, () => {
      control.pruneContainers();
      control.removeImageByForce(imageId);
      registry.store.misbehave('docker.io', { kind: 'denied' });
    });
    const reason = /so it must be created again; Upkeep failed to: Cannot pull "app@sha256:.*denied/;
    expect(row).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(reason) });
  });

  test('networks of containers that a person has removed too stay removed', async () => {
    const web = await createWebInNetworks();
    const { control, engine } = web.scene.sandbox;
    const row = await updateAndPrune(web, () => {}, {
      startContainer: (id) => {
        for (const one of Object.values(control.snapshot().containers)) control.removeContainer(one.id);
        control.pruneNetworks();
        return engine.startContainer(id);
      },
    });
    expect(row).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('must be created again') });
    expect((await web.networks()).map(({ name }) => name)).toEqual(['bridge', 'host', 'none']);
  });

  test('a network that someone has created again meanwhile is used', async () => {
    const web = await createWebInNetworks();
    const { control, engine } = web.scene.sandbox;
    let id = '';
    const row = await updateAndPrune(web, () => {
      control.pruneNetworks();
      id = control.addNetwork('back');
    });
    expect(row?.outcome).toBe('updated');
    expect((await engine.inspectContainer('web'))?.settings.Networks['back']?.NetworkID).toBe(id);
  });

  test('one that the engine cannot create again is told by its name; once someone has, the next start of Upkeep connects the container', async () => {
    const web = await createWebInNetworks();
    const { control, engine } = web.scene.sandbox;
    const message = 'Pool overlaps with other one on this address space';
    const row = await updateAndPrune(web, control.pruneNetworks, {
      createNetwork: () => Promise.resolve({ kind: 'refused', status: 403, message }),
    });
    expect(row).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(
        new RegExp(`^starting "web" failed: its network "front" was removed, and cannot be created again: ${message};`),
      ),
    });
    expect(await engine.inspectContainer('web')).toMatchObject({ id: web.old, state: { status: 'exited' } });
    control.addNetwork('front', { subnet: '10.77.0.0/24' });
    control.addNetwork('back');
    web.process.connection.crash();
    await web.scene.clock.run(() => recoverTransactions(web.scene.startProcess().outside, defaultSettings));
    const container = await engine.inspectContainer('web');
    expect(container).toMatchObject({ id: web.old, state: { status: 'running' } });
    expect(container?.settings.Networks).toMatchObject(asBefore);
  });
});
