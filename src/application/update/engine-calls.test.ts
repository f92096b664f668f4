import { expect, test } from 'vitest';
import { countCalls } from '../../../test/support/counted-engine.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/settings.ts';
import { createApplication } from '../create-application.ts';

/** `app0` to `app9`, of an image each. */
async function tenContainers(): Promise<SandboxScene> {
  const scene = createSandboxScene();
  for (let each = 0; each < 10; each += 1) {
    const image = `app${each}:1`;
    scene.registry.store.publish(image, { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: image });
    scene.sandbox.control.runContainer(`app${each}`, { Image: image });
  }
  return scene;
}

function serviceIn(scene: SandboxScene) {
  const { outside } = scene.startProcess();
  const { engine, calls } = countCalls(outside.engine);
  const application = createApplication({ ...outside, engine }, { ...defaultSettings, gateWindowMs: 10_000 });
  return { application, calls };
}

test('a check of ten containers costs two calls', async () => {
  const { application, calls } = serviceIn(await tenContainers());
  await application.check({ images: [], containers: [] });
  expect(calls).toEqual({ listContainers: 1, listImages: 1 });
});

test('a health window of ten seconds costs as many looks as one of one second', async () => {
  const scene = await tenContainers();
  scene.registry.store.publish('app3:1', { version: '2' });
  const { application, calls } = serviceIn(scene);
  const { containers } = await application.update({ trigger: 'command', images: [], containers: [] });
  expect(containers.filter(({ outcome }) => outcome === 'updated')).toHaveLength(1);
  expect(calls.events).toBe(1);
  // Ten of them for the plan, the rest for the transaction.
  expect(calls.inspectContainer).toBeLessThanOrEqual(38);
});
