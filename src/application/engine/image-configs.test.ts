import { describe, expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { parseDigest, type Digest } from '../../domain/image/image-reference.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { listAll, createImageConfigs, imageOf } from './listing.ts';

const image = 'registry.test/team/app:1';

/**
 * `app` runs an image with labels that the engine does not show, as Docker's containerd image store. `manifestOf` is
 * what the engine says a container runs.
 */
async function setScene({
  isUnknown = true,
  names = ['app'],
  manifestOf = (_: string, shown: Digest): Digest | undefined => shown,
} = {}) {
  const scene = createSandboxScene();
  const { store } = scene.registry;
  const published = store.publish(image, { config: { Labels: { of: 'image' }, Env: ['A=1'] } });
  await scene.sandbox.engine.pullImage({ reference: image });
  for (const name of names) scene.sandbox.control.runContainer(name, { Image: image, Labels: { own: 'label' } });
  const { outside } = scene.startProcess();
  const { engine } = outside;
  const hide = <Each extends object>(one: Each): Each =>
    isUnknown ? { ...one, labels: {}, config: {}, os: '', architecture: '', isConfigUnknown: true } : one;
  const withManifest = <Each extends { readonly name: string }>(one: Each) => {
    const manifestDigest = manifestOf(one.name, published.digest);
    return { ...one, ...(manifestDigest !== undefined && { manifestDigest }) };
  };
  const blind: Engine = {
    ...engine,
    listImages: async (signal) => (await engine.listImages(signal)).map(hide),
    listContainers: async (filter, signal) => (await engine.listContainers(filter, signal)).map(withManifest),
    inspectImage: async (id, signal) => {
      const found = await engine.inspectImage(id, signal);
      return found && hide(found);
    },
    inspectContainer: async (id, signal) => {
      const found = await engine.inspectContainer(id, signal);
      if (found === undefined) return undefined;
      const { imageLabels, ...rest } = withManifest(found);
      return isUnknown || imageLabels === undefined ? rest : { ...rest, imageLabels };
    },
  };
  const world = { ...outside, engine: blind };
  const known = { ...world, ...createImageConfigs(world) };
  const list = async () => {
    const { containers, images } = await listAll(known, undefined);
    return images.byId(containers[0]!.imageId);
  };
  return { ...scene, store, known, list, digest: published.digest };
}

test('the configuration that the engine does not know comes from the registry, once', async () => {
  const { known, list, store, digest } = await setScene();
  const before = await known.engine.inspectContainer('app');
  expect(before?.imageLabels).toBeUndefined();
  expect(await list()).toMatchObject({ labels: { of: 'image' }, configManifest: digest });
  const requests = store.requests();
  expect(await list()).not.toHaveProperty('isConfigUnknown');
  const container = (await known.engine.inspectContainer('app'))!;
  expect(container.imageLabels).toEqual({ of: 'image' });
  expect(await imageOf(known, container)).toMatchObject({ config: { Env: ['A=1'] }, os: 'linux' });
  expect(store.requests()).toBe(requests);
});

test('no registry is asked about an image that the engine knows', async () => {
  const { known, list, store } = await setScene({ isUnknown: false });
  const requests = store.requests();
  expect(await list()).not.toHaveProperty('configManifest');
  await imageOf(known, (await known.engine.inspectContainer('app'))!);
  expect(store.requests()).toBe(requests);
});

test('a registry that fails is asked again after a minute, and the reason is kept until then', async () => {
  const { clock, list, store } = await setScene();
  store.misbehave('registry.test', { kind: 'denied' });
  expect(await list()).toMatchObject({ isConfigUnknown: true, configFault: expect.stringContaining('registry.test') });
  store.behaveAgain('registry.test');
  const requests = store.requests();
  expect(await list()).toMatchObject({ isConfigUnknown: true, configFault: expect.stringContaining('registry.test') });
  expect(store.requests()).toBe(requests);
  await clock.advance(60_000);
  expect(await list()).not.toHaveProperty('isConfigUnknown');
});

test('a silent registry delays nothing for long', async () => {
  const { clock, list, store } = await setScene();
  store.misbehave('registry.test', { kind: 'silent', deadlineMs: 600_000 });
  const begun = clock.monotonicMs();
  const late = async () => ({ listed: await list(), tookMs: clock.monotonicMs() - begun });
  expect(await clock.run(late)).toMatchObject({
    listed: { configFault: 'the registry did not answer in time' },
    tookMs: 15_000,
  });
});

const other: Digest = `sha256:${'7'.repeat(64)}`;

test('an index whose images several containers run stays unknown', async () => {
  const { list } = await setScene({
    names: ['app', 'other'],
    manifestOf: (name, shown) => (name === 'other' ? other : shown),
  });
  expect(await list()).toMatchObject({ configFault: 'its containers run different images of its index' });
});

test('a container of another manifest gets no configuration of the known one', async () => {
  const scene = { shown: undefined as Digest | undefined };
  const { known, list } = await setScene({ manifestOf: (_, shown) => scene.shown ?? shown });
  expect(await list()).toMatchObject({ labels: { of: 'image' } });
  scene.shown = other;
  const container = (await known.engine.inspectContainer('app'))!;
  expect(container.imageLabels).toBeUndefined();
  expect(await imageOf(known, container)).toMatchObject({ isConfigUnknown: true });
  expect(await list()).toMatchObject({ isConfigUnknown: true });
});

test('an index does not show which of its images a container runs', async () => {
  const { list, known, store } = await setScene({ manifestOf: () => undefined });
  const index = store.publish(image, { platforms: [{ os: 'linux', architecture: 'amd64', variant: '' }] });
  const unknown = { ...(await list())!, id: index.digest, isConfigUnknown: true as const };
  expect(await known.configs.complete(unknown, { references: [image], manifestDigest: undefined })).toMatchObject({
    configFault: 'the engine does not show which image of its index the container runs',
  });
});

describe('a container of another platform than the one that the engine shows of an index', () => {
  const linux = (architecture: string, variant = '') => ({ os: 'linux', architecture, variant });

  /** `app` runs the image of `run`; the engine shows, under the id of the index, an image of `linux/amd64`. */
  async function setIndex(run: ReturnType<typeof linux>, { shown = linux('amd64'), isForeign = true } = {}) {
    const scene = createSandboxScene();
    const { store } = scene.registry;
    const wanted = store.publish('registry.test/team/app:own', {
      config: { Labels: { of: 'own' }, Env: ['ARCH=own'] },
    });
    store.publish(image, { config: { Labels: { of: 'shown' }, Env: ['ARCH=shown'] } });
    await scene.sandbox.engine.pullImage({ reference: image });
    scene.sandbox.control.runContainer('app', { Image: image, Labels: { of: 'own' } });
    const { outside } = scene.startProcess();
    const { engine } = outside;
    const manifestDigest = parseDigest(wanted.digest)!;
    const inspected: string[] = [];
    const containerd: Engine = {
      ...engine,
      listContainers: async (filter, signal) =>
        (await engine.listContainers(filter, signal)).map((one) => ({
          ...one,
          manifestDigest,
          ...(isForeign && { platform: run }),
        })),
      inspectImage: async (id, signal) => {
        inspected.push(id);
        const found = await engine.inspectImage(id, signal);
        return found && { ...found, ...shown };
      },
      inspectContainer: async (id, signal) => {
        const { imageLabels: _, ...found } = (await engine.inspectContainer(id, signal))!;
        return { ...found, manifestDigest, platform: run };
      },
    };
    const world = { ...outside, engine: containerd };
    const known = { ...world, ...createImageConfigs(world) };
    const list = async () => {
      const { containers, images } = await listAll(known, undefined);
      return images.byId(containers[0]!.imageId);
    };
    return { ...scene, store, known, list, inspected };
  }

  test.each([linux('386'), linux('amd64', 'v3'), linux('arm64'), linux('arm', 'v6')])(
    'has the configuration of its own manifest: %j',
    async (run) => {
      const { known, list, store } = await setIndex(run);
      expect(await list()).toMatchObject({ labels: { of: 'own' } });
      const container = (await known.engine.inspectContainer('app'))!;
      expect(container.imageLabels).toEqual({ of: 'own' });
      const requests = store.requests();
      expect(await imageOf(known, container)).toMatchObject({ config: { Env: ['ARCH=own'] } });
      expect(await list()).toMatchObject({ labels: { of: 'own' } });
      expect(store.requests()).toBe(requests);
    },
  );

  test('is found at its inspection, if the list does not show a variant', async () => {
    const { known } = await setIndex(linux('amd64'), { shown: linux('amd64', 'v3'), isForeign: false });
    const container = (await known.engine.inspectContainer('app'))!;
    expect(await imageOf(known, container)).toMatchObject({ config: { Env: ['ARCH=own'] } });
  });

  test('stays unknown without its registry', async () => {
    const { list, store } = await setIndex(linux('386'));
    store.misbehave('registry.test', { kind: 'denied' });
    expect(await list()).toMatchObject({
      isConfigUnknown: true,
      configFault: expect.stringContaining('registry.test'),
    });
  });

  test.each([
    [linux('amd64'), linux('amd64', 'v1')],
    [linux('arm', 'v6'), linux('arm')],
    [linux('arm64', 'v8'), linux('arm64')],
  ])('is none where %j is shown as %j: no call more', async (run, shown) => {
    const { known, list, store, inspected } = await setIndex(run, { shown, isForeign: false });
    const requests = store.requests();
    expect(await list()).toMatchObject({ labels: { of: 'shown' } });
    expect(inspected).toEqual([]);
    expect(await imageOf(known, (await known.engine.inspectContainer('app'))!)).toMatchObject({
      config: { Env: ['ARCH=shown'] },
    });
    expect(store.requests()).toBe(requests);
  });
});
