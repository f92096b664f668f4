import { expect, test } from 'vitest';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/service-settings.ts';
import { createApplication } from '../create-application.ts';

/** A service in a swarm of three nodes, and the second version of its image. */
async function deploy({ isPinned = true } = {}) {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const publish = (version: string) =>
    scene.registry.store.publish('swarm/web:1', { version, behaviour: behaviours.good }).digest;
  const first = publish('1');
  const id = scene.sandbox.swarmControl.create({
    Name: 'web',
    Mode: { Replicated: { Replicas: 2 } },
    UpdateConfig: { Parallelism: 1, Monitor: 1e9, FailureAction: 'pause', Order: 'stop-first' },
    TaskTemplate: { ContainerSpec: { Image: isPinned ? `swarm/web:1@${first}` : 'swarm/web:1' } },
  });
  await scene.clock.sleep(10_000);
  const second = publish('2');
  const process = scene.startProcess();
  const open = (containerId?: string) => {
    const instance = { ...process.outside.instance, containerId };
    return createApplication({ ...process.outside, instance }, { ...defaultSettings, swarm: true });
  };
  const image = async () => (await scene.sandbox.swarm.service(id))?.image;
  const update = async () => {
    const { containers } = await open().update({ trigger: 'command', images: [], containers: [] });
    return containers.map(({ name, outcome }) => `${name} ${outcome}`);
  };
  return { ...scene, id, first, second, open, image, update };
}

test('a service goes back to the image before its last update, and stays there', async () => {
  const { open, image, update, first } = await deploy();
  expect(await update()).toEqual(['web updated']);
  expect(await open().rollBack(['web'])).toMatchObject({ containers: [{ name: 'web', outcome: 'updated' }] });
  expect(await image()).toBe(`swarm/web:1@${first}`);
  expect(await update()).toEqual(['web skipped']);
});

test('a service whose earlier image has no digest is left alone: its nodes would pull the present version', async () => {
  const { open, image, update, second } = await deploy({ isPinned: false });
  expect(await update()).toEqual(['web updated']);
  await expect(open().rollBack(['web'])).rejects.toThrow(
    'Cannot roll back the service "web": its earlier image "swarm/web:1" has no digest',
  );
  expect(await image()).toBe(`swarm/web:1@${second}`);
});

test('the service that Upkeep runs in is left alone', async () => {
  const scene = await deploy();
  const { open, image, update, second, id, sandbox } = scene;
  expect(await update()).toEqual(['web updated']);
  await sandbox.engine.pullImage({ reference: 'swarm/web:1' });
  const own = sandbox.control.runContainer('web.1.abc', {
    Image: 'swarm/web:1',
    Labels: { 'com.docker.swarm.service.id': id, 'com.docker.swarm.task': '' },
  });
  await expect(open(own).rollBack(['web'])).rejects.toThrow(
    'Cannot roll back the service "web": this process runs in it',
  );
  expect(await image()).toBe(`swarm/web:1@${second}`);
});
