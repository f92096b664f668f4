import { describe, expect, test } from 'vitest';
import { makeCosignKey } from '../../../test/support/registry/cosign.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { readVerificationKeys } from '../../adapters/process/verification-keys.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };
const v3 = { ...amd64, variant: 'v3' };
const repository = 'registry.test/team/app';
const everything = { trigger: 'command', images: [], containers: [] } as const;

/** `app` runs an old image. The index of its tag has an image for each variant, and the engine knows that it is a v3. */
async function setScene(
  signed: 'index' | 'image' | 'nothing',
  change: (engine: Engine) => Partial<Engine> = () => ({}),
) {
  const scene = createSandboxScene({ platform: v3 });
  const { store } = scene.registry;
  store.publish(`${repository}:1`, { version: '1.0' });
  await scene.sandbox.engine.pullImage({ reference: `${repository}:1` });
  const id = scene.sandbox.control.runContainer('app', { Image: `${repository}:1` });
  const index = store.publish(`${repository}:1`, { version: '2.0', platforms: [v3, amd64] });
  const [other, plain] = index.kind === 'index' ? index.images : [];
  const key = makeCosignKey('team');
  const sign = (digest: Digest) => store.sign(`${repository}@${digest}`, key.signImage(digest, repository));
  if (signed !== 'nothing') sign(signed === 'index' ? index.digest : plain!.manifestDigest);
  const { outside } = scene.startProcess();
  const pulled: string[] = [];
  const engine: Engine = {
    ...outside.engine,
    pullImage: (request, signal) => {
      pulled.push(request.reference.replace(`${repository}@`, ''));
      return outside.engine.pullImage(request, signal);
    },
    ...change(outside.engine),
  };
  const verificationKeys = await readVerificationKeys(signed === 'nothing' ? [] : [key.file]);
  const application = createApplication(
    { ...outside, engine, verificationKeys },
    { ...defaultSettings, healthWindowMs: 0 },
  );
  const update = async () => (await scene.clock.run(() => application.update(everything))).containers[0];
  const app = () => scene.sandbox.control.snapshot().containers['app'];
  return { ...scene, application, update, app, pulled, id, index: index.digest, plain: plain!, other: other! };
}

describe('a verified image', () => {
  test('runs, if the engine prefers another entry of its signed index', async () => {
    const { update, app, pulled, index, plain } = await setScene('index');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(app()?.imageId).toBe(plain.id);
    expect(pulled).toEqual([index, plain.manifestDigest]);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test('is all that the engine gets to see of an index that is not signed', async () => {
    const { update, app, pulled, plain } = await setScene('image');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(app()?.imageId).toBe(plain.id);
    expect(pulled).toEqual([plain.manifestDigest]);
  });

  test('is no matter where no signature is needed: the engine chooses', async () => {
    const { update, app, pulled, index, other } = await setScene('nothing');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(app()?.imageId).toBe(other.id);
    expect(pulled).toEqual([index]);
  });

  test('is needed, if the image that runs says "off", and the engine lists another one of its index', async () => {
    const off = { 'upkeep.verify': 'off' };
    const { update, app, id, pulled } = await setScene('image', (engine) => ({
      listContainers: async (signal) =>
        (await engine.listContainers(signal)).map((one) => ({ ...one, labels: { ...one.labels, ...off } })),
      inspectContainer: async (container, signal) => {
        const found = await engine.inspectContainer(container, signal);
        if (found === undefined) return;
        const { settings } = found;
        const Labels = { ...settings.Config.Labels, ...off };
        return { ...found, settings: { ...settings, Config: { ...settings.Config, Labels } } };
      },
      inspectImage: async (reference, signal) => {
        const found = await engine.inspectImage(reference, signal);
        return found && { ...found, labels: { ...found.labels, ...off } };
      },
    }));
    const outcome = await update();
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome?.reason).toContain('Cannot update "app": no signature of its new image was checked');
    expect(pulled).toEqual([]);
    expect(app()).toMatchObject({ id, state: { status: 'running' } });
  });

  test('is the reason for a refusal, if the engine shows another image under its digest', async () => {
    const { update, app, id, plain } = await setScene('image', (engine) => ({
      inspectImage: async (reference, signal) => {
        const image = await engine.inspectImage(reference, signal);
        return image?.id === plain.id ? { ...image, id: `sha256:${'e'.repeat(64)}` } : image;
      },
    }));
    const outcome = await update();
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome?.reason).toContain(
      `Cannot update "app": the engine does not show that its image of "${repository}:1" is the one whose signature was checked, ${plain.manifestDigest}`,
    );
    expect(app()).toMatchObject({ id, state: { status: 'running' } });
  });

  test.each([
    ['of which the engine has only this image', (plain: Digest) => [plain], 'updated'],
    ['of which the engine has other images too', (plain: Digest, other: Digest) => [plain, other], 'failed'],
    ['whose images the engine does not show', () => [], 'failed'],
  ])('is proven with the id of its signed index, %s', async (_, manifestsOf, outcome) => {
    const scene = await setScene('index', (engine) => ({
      // As in containerd's image store. The engine has only what was pulled first.
      pullImage: (request, signal) =>
        engine.pullImage({ ...request, reference: `${repository}@${scene.plain.manifestDigest}` }, signal),
      inspectImage: (reference, signal) =>
        engine
          .inspectImage(reference.replace(/@.*/, `@${scene.plain.manifestDigest}`), signal)
          .then((image) =>
            image?.id === scene.plain.id && reference.includes('@') ? { ...image, id: scene.index } : image,
          ),
      manifestsIn: async (id) =>
        id === scene.index ? manifestsOf(scene.plain.manifestDigest, scene.other.manifestDigest) : [],
      tagImage: (id, tag) => engine.tagImage(id === scene.index ? scene.plain.id : id, tag),
      inspectContainer: (id, signal) =>
        engine
          .inspectContainer(id, signal)
          .then((container) =>
            container?.imageId === scene.plain.id ? { ...container, imageId: scene.index } : container,
          ),
    }));
    expect(await scene.update()).toMatchObject({ outcome });
    expect(scene.app()?.imageId === scene.plain.id).toBe(outcome === 'updated');
  });

  test('is compared once more after the creation, before anything is stopped', async () => {
    const { update, app, id, other, plain } = await setScene('image', (engine) => ({
      inspectContainer: async (container, signal) => {
        const found = await engine.inspectContainer(container, signal);
        return found?.imageId === plain.id ? { ...found, manifestDigest: other.manifestDigest } : found;
      },
    }));
    const outcome = await update();
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome?.reason).toContain('the engine created it from another image than the one that was checked');
    expect(app()).toMatchObject({ id, state: { status: 'running' } });
  });

  test('is also the one whose configuration the registry gave', async () => {
    const { update, app, id } = await setScene('nothing', (engine) => ({
      inspectImage: async (reference, signal) => {
        const found = await engine.inspectImage(reference, signal);
        return found && { ...found, configManifest: `sha256:${'7'.repeat(64)}` };
      },
    }));
    const outcome = await update();
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome?.reason).toContain('the engine created it from another image than the one that was checked');
    expect(app()).toMatchObject({ id, state: { status: 'running' } });
  });

  test('is the one of the check, if the tag moves before the pull', async () => {
    const scene = await setScene('image', (engine) => ({
      pullImage: (request, signal) => {
        scene.registry.store.publish(`${repository}:1`, { version: '3.0' });
        return engine.pullImage(request, signal);
      },
    }));
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(scene.app()?.imageId).toBe(scene.plain.id);
  });
});
