import { expect, test } from 'vitest';
import { countCalls } from '../../../test/support/counted-engine.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/settings.ts';
import { createApplication } from '../create-application.ts';

async function tenContainers(): Promise<SandboxScene> {
  const scene = createSandboxScene();
  for (let each = 0; each < 10; each += 1) {
    const image = `app${each}:1`;
    scene.registry.store.publish(image, { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: image });
    await scene.sandbox.control.runContainer(`app${each}`, { Image: image });
  }
  return scene;
}

function counted(scene: SandboxScene) {
  const { outside } = scene.startProcess();
  const { engine, calls } = countCalls(outside.engine);
  const application = createApplication({ ...outside, engine }, { ...defaultSettings, gateWindowMs: 10_000 });
  return { application, calls, outside };
}

const everything = { trigger: 'command', images: [], containers: [] } as const;

test('count', async () => {
  const scene = await tenContainers();
  const one = counted(scene);
  await one.application.check({ images: [], containers: [] });
  console.log('check', JSON.stringify(one.calls));
  scene.registry.store.publish('app3:1', { version: '2' });
  const two = counted(scene);
  await two.application.update(everything);
  console.log('update 1 of 10', JSON.stringify(two.calls), Object.values(two.calls).reduce((a, b) => a + b, 0));
  scene.registry.store.publish('app3:1', { version: '3' });
  const three = counted(scene);
  await three.application.update({ ...everything, containers: ['app3'] });
  console.log('update app3', JSON.stringify(three.calls), Object.values(three.calls).reduce((a, b) => a + b, 0));
  expect(1).toBe(1);
});
