import { expect, test } from 'vitest';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { journalLabels } from '../../domain/container/swarm-service.ts';
import type { Outside } from '../../domain/outside/outside.ts';
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
  const open = (containerId?: string, more: Partial<Outside> = {}) => {
    const instance = { ...process.outside.instance, containerId };
    return createApplication({ ...process.outside, instance, ...more }, { ...defaultSettings, swarm: true });
  };
  /** Changes the labels as anyone may who may change services; the swarm then remembers the same image as before. */
  const relabel = async (labels: Readonly<Record<string, string>>) => {
    for (const round of ['1', '2']) {
      const service = await scene.sandbox.swarm.service(id);
      if (service !== undefined)
        await scene.sandbox.swarm.change(service, { image: service.image, labels: { ...labels, round } });
    }
  };
  const image = async () => (await scene.sandbox.swarm.service(id))?.image;
  const update = async () => {
    const { containers } = await open().update({ trigger: 'command', images: [], containers: [] });
    return containers.map(({ name, outcome }) => `${name} ${outcome}`);
  };
  return { scene, ...scene, id, first, second, open, image, update, relabel, publish };
}

test('a service goes back to the image before its last update, and stays there', async () => {
  const { open, image, update, first } = await deploy();
  expect(await update()).toEqual(['web updated']);
  expect(await open().rollBack(['web'])).toMatchObject({ containers: [{ name: 'web', outcome: 'went_back' }] });
  expect(await image()).toBe(`swarm/web:1@${first}`);
  expect(await update()).toEqual(['web skipped']);
  // Another process knows it from the swarm alone.
  const { containers } = await open().check({ images: [], containers: [], trigger: 'command' });
  expect(containers).toMatchObject([
    { name: 'web', hold: 'went-back', reason: expect.stringContaining('went back from it on') },
  ]);
});

test('a caller with a filter does not roll a service back that has the name of a container of its own', async () => {
  const { open, image, update, second, scene, sandbox, clock } = await deploy();
  scene.registry.store.publish('acme/web:1', { version: '1' });
  await sandbox.engine.pullImage({ reference: 'acme/web:1' });
  sandbox.control.runContainer('web', { Image: 'acme/web:1' });
  scene.registry.store.publish('acme/web:1', { version: '2' });
  expect(await clock.run(update)).toEqual(['web updated', 'web updated']);
  const within = { images: ['acme/*'], containers: [] };
  const { containers } = await clock.run(() => open().rollBack(['web'], undefined, { within }));
  expect(containers).toMatchObject([{ name: 'web', image: 'acme/web:1', outcome: 'went_back' }]);
  expect(await image()).toBe(`swarm/web:1@${second}`);
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

test('the list says of the service that Upkeep runs in that it cannot be rolled back, and of another that it can', async () => {
  const { open, update, id, sandbox } = await deploy();
  expect(await update()).toEqual(['web updated']);
  await sandbox.engine.pullImage({ reference: 'swarm/web:1' });
  const task = (serviceId: string) =>
    sandbox.control.runContainer(`${serviceId}.1.abc`, {
      Image: 'swarm/web:1',
      Labels: { 'com.docker.swarm.service.id': serviceId, 'com.docker.swarm.task': '' },
    });
  const stopping = new AbortController();
  for (const [own, isOwn] of [
    [task(id), true],
    [task('other'), false],
    [undefined, false],
  ] as const) {
    const application = open(own);
    await application.follow(stopping.signal);
    const web = application.inventory().containers.find(({ name }) => name === 'web');
    expect(web).toMatchObject({ kind: 'service', self: isOwn, canRollBack: !isOwn });
  }
  stopping.abort();
});

const seal = {
  sign: (text: string) => `sealed ${text}`,
  verify: (text: string, one: string) => one === `sealed ${text}`,
};

test('the label with the earlier image names no image of another repository', async () => {
  const { open, image, update, second, relabel, scene } = await deploy();
  expect(await update()).toEqual(['web updated']);
  const other = scene.registry.store.publish('swarm/vault:1', { version: '7' }).digest;
  await relabel({ [journalLabels.from]: `swarm/vault:1@${other}` });
  await expect(open().rollBack(['web'])).rejects.toThrow(
    'its label upkeep.tx.from names an image of another repository, "swarm/vault:1@sha256:',
  );
  expect(await image()).toBe(`swarm/web:1@${second}`);
});

test('with a key, only a label with its seal counts, and the seal is of this service and this image', async () => {
  const { open, image, update, second, first, relabel, publish, id, sandbox } = await deploy();
  const rollBack = () => open(undefined, { seal }).rollBack(['web']);
  expect(await update()).toEqual(['web updated']);
  await relabel({});
  await expect(rollBack()).rejects.toThrow("its label upkeep.tx.from does not have the seal of this instance's key");
  const third = publish('3');
  const { containers } = await open(undefined, { seal }).update({ trigger: 'command', images: [], containers: [] });
  expect(containers).toMatchObject([{ outcome: 'updated' }]);
  await relabel({ [journalLabels.from]: `swarm/web:1@${first}` });
  await expect(rollBack()).rejects.toThrow("does not have the seal of this instance's key");
  await relabel({ [journalLabels.from]: `swarm/web:1@${second}`, [journalLabels.seal]: 'sealed something else' });
  await expect(rollBack()).rejects.toThrow("does not have the seal of this instance's key");
  expect(await image()).toBe(`swarm/web:1@${third}`);
  const labels = (await sandbox.swarm.service(id))?.labels ?? {};
  await relabel({
    [journalLabels.seal]: seal.sign(JSON.stringify(['service', labels['upkeep.tx.id'], id, `swarm/web:1@${second}`])),
  });
  expect(await rollBack()).toMatchObject({ containers: [{ name: 'web', outcome: 'went_back' }] });
  expect(await image()).toBe(`swarm/web:1@${second}`);
});

test('an earlier image without a required signature is not pulled', async () => {
  const { open, image, update, first, second, registry } = await deploy();
  expect(await update()).toEqual(['web updated']);
  const asked: string[] = [];
  const verificationKeys = [{ name: 'team', hasSigned: () => false }];
  const signaturesOf = (_: unknown, digest: string) => {
    asked.push(digest);
    return Promise.resolve({ found: [] });
  };
  const strict = open(undefined, { verificationKeys, registry: { ...registry.registry, signaturesOf } });
  await expect(strict.rollBack(['web'])).rejects.toThrow('has to be pulled, and is not signed by "team"');
  expect(asked).toContain(first);
  expect(await image()).toBe(`swarm/web:1@${second}`);
});
