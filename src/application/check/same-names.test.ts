import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const full = { trigger: 'command', images: [], containers: [] } as const;

/** A container and a service of a swarm, both called `web`, with different images. Only the container's has a new version. */
async function start() {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const { store } = scene.registry;
  store.publish('plain:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'plain:1' });
  scene.sandbox.control.runContainer('web', { Image: 'plain:1' });
  const { digest } = store.publish('swarm/web:1', { version: '1' });
  scene.sandbox.swarmControl.create({
    Name: 'web',
    Mode: { Replicated: { Replicas: 1 } },
    TaskTemplate: { ContainerSpec: { Image: `swarm/web:1@${digest}` } },
  });
  await scene.clock.sleep(10_000);
  const newer = store.publish('plain:1', { version: '2' }).digest;
  const application = createApplication(scene.startProcess().outside, { ...defaultSettings, swarm: true });
  return { store, newer, application };
}

test('a decision about a container is kept when a service has its name', async () => {
  const { application, newer } = await start();
  const selected: (readonly string[])[] = [];
  application.subscribe((event) => void (event.kind === 'containers_selected' && selected.push(event.names)));
  await application.check(full);
  expect(selected).toEqual([['web', 'web service']]);
  expect(application.decisions.candidateOf('web')?.digest).toBe(newer);
  await application.decisions.take({ kind: 'skip', container: 'web', digest: newer, by: 'a test' });
  for (const _ of [1, 2, 3]) {
    const { containers } = await application.update(full);
    expect(containers.map(({ image, outcome }) => `${image} ${outcome}`).toSorted()).toEqual([
      'plain:1 skipped',
      'swarm/web:1 fresh',
    ]);
  }
});

test.each([
  ['container', ['plain:1 updated']],
  ['service', ['swarm/web:1 updated']],
  [undefined, ['plain:1 updated', 'swarm/web:1 updated']],
] as const)('a request for a %s of that name updates no other', async (kind, updated) => {
  const { application, store } = await start();
  store.publish('swarm/web:1', { version: '2' });
  const only = kind === undefined ? {} : { kind };
  const { containers } = await application.update({ ...full, containers: ['web'], ...only });
  expect(containers.map(({ image, outcome }) => `${image} ${outcome}`).toSorted()).toEqual(updated);
});
