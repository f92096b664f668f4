import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';
import { createPicture } from './share-engine.ts';

const everything = { trigger: 'command', images: [], containers: [] } as const;

async function scenePicture() {
  const scene = createSandboxScene();
  const publish = (version: string) => scene.registry.store.publish('app:1', { version }).digest;
  const digest = publish('1');
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const id = scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  return { scene, publish, digest, id, ...createPicture(scene.sandbox.engine, scene.clock) };
}

test('the engine may have any image until its images are listed, and again after a minute', async () => {
  const { engine, picture, digest, publish, scene } = await scenePicture();
  const next = publish('2');
  expect(picture.mayHave(next)).toBe(true);
  await engine.listImages();
  expect([picture.mayHave(digest), picture.mayHave(next)]).toEqual([true, false]);
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  await engine.inspectImage('app:1');
  expect(picture.mayHave(next)).toBe(true);
  const other = publish('3');
  expect(picture.mayHave(other)).toBe(false);
  await scene.clock.run(() => scene.clock.sleep(60_000));
  expect(picture.mayHave(other)).toBe(true);
});

test('a container counts by the time at which its inspection began, networks for ten seconds', async () => {
  const { engine, picture, id, scene } = await scenePicture();
  const nowMs = scene.clock.monotonicMs();
  await engine.inspectContainer('web');
  await engine.listNetworks();
  expect(picture.containerSince(id, nowMs)?.name).toBe('web');
  expect(picture.containerSince(id, nowMs + 1)).toBeUndefined();
  expect(picture.networks()).toBeDefined();
  await scene.clock.run(() => scene.clock.sleep(10_000));
  expect(picture.networks()).toBeUndefined();
});

test('an image that someone takes the tag from during its update keeps a name, and its container', async () => {
  const { scene, publish } = await scenePicture();
  publish('2');
  const { outside } = scene.startProcess();
  const taken: string[] = [];
  const engine: Engine = {
    ...outside.engine,
    renameContainer: async (id, name) => {
      if (name.startsWith('web.upkeep-drop')) {
        taken.push((await outside.engine.inspectImage('app:1'))?.id ?? '');
        await outside.engine.removeImage('app:1');
      }
      return outside.engine.renameContainer(id, name);
    },
  };
  const application = createApplication({ ...outside, engine }, { ...defaultSettings, healthWindowMs: 0 });
  const { containers } = await scene.clock.run(() => application.update(everything));
  expect(containers.map(({ outcome }) => outcome)).toEqual(['updated']);
  const image = await scene.sandbox.engine.inspectImage(taken[0] ?? '');
  expect(image?.tags).toEqual(['upkeep-open:nameless']);
  expect(await scene.sandbox.engine.inspectContainer('web')).toMatchObject({ imageId: taken[0] });
});
