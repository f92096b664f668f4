import type { Registry } from '../../domain/outside/registry.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { familiarReference } from '../../domain/image/image-reference.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { type CheckOrder, createCheck } from '../../../test/support/scene/create-check.ts';

const everything: CheckOrder = { runId: 'run', images: [], containers: [], applyCooldown: false };

/** A container of an image that was pulled from the registry, as `docker run` leaves it. */
async function run(scene: SandboxScene, name: string, image: string, body: object = {}): Promise<string> {
  if ((await scene.sandbox.engine.inspectImage(image)) === undefined) {
    scene.registry.store.publish(image, { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: image });
  }
  return scene.sandbox.control.runContainer(name, { Image: image, ...body });
}

function checkIn(
  scene: SandboxScene,
  settings: Partial<ServiceSettings> = {},
  more: { engine?: Engine; registry?: Registry } = {},
) {
  const process = scene.startProcess();
  const check = createCheck({ ...process.outside, ...more }, { ...defaultSettings, ...settings });
  return { ...process, check };
}

const labels = (pairs: Readonly<Record<string, string>>) => ({ Labels: pairs });

describe('createCheck()', () => {
  test("checks what is in the scope of the updater's own container, unless another is asked for", async () => {
    const scene = createSandboxScene();
    const id = await run(scene, 'updater', 'app:1', labels({ 'upkeep.scope': 'blue' }));
    await run(scene, 'web', 'app:1', labels({ 'com.centurylinklabs.watchtower.scope': 'blue' }));
    await run(scene, 'other', 'app:1');
    const namesChecked = async (settings: Partial<ServiceSettings>) => {
      const { outside } = scene.startProcess();
      const own = { ...outside, instance: { ...outside.instance, containerId: id } };
      const { containers } = await createCheck(own, { ...defaultSettings, ...settings })(everything);
      return containers.map(({ name }) => name).toSorted();
    };
    expect(await namesChecked({})).toEqual(['updater', 'web']);
    expect(await namesChecked({ scope: 'none' })).toEqual(['other']);
    expect(await namesChecked({ scope: 'green' })).toEqual([]);
  });

  test('leaves out what image names leave out, also once the tag has moved on', async () => {
    const scene = createSandboxScene();
    await run(scene, 'db', 'db:1');
    await run(scene, 'web', 'docker.io/library/web:1');
    scene.sandbox.control.addImage('db:1', { version: 'moved' });
    const { check } = checkIn(scene, { skipImageNames: ['db:.*'] });
    const report = await check(everything);
    expect(report.containers.map(({ name }) => name)).toEqual(['web']);
    expect(report.unwatched).toEqual([{ name: 'db', reason: 'runs an image of skip-image-names' }]);
  });

  test('tells of every container, in listing order, how it stands and why', async () => {
    const scene = createSandboxScene();
    const { store } = scene.registry;
    await run(scene, 'fresh', 'app:1');
    await run(scene, 'stale', 'shop/api:2');
    await run(scene, 'watched-only', 'shop/api:2', labels({ 'upkeep.monitor-only': 'true' }));
    await run(scene, 'denied', 'private.test/app:1');
    await run(scene, 'deleted', 'gone.test/app:1');
    await run(scene, 'ignored', 'app:1', labels({ 'upkeep.enable': 'false' }));
    scene.sandbox.control.addImage('built:1', { version: 'mine' });
    scene.sandbox.control.runContainer('local', { Image: 'built:1' });
    const pinned = `app@${(await scene.sandbox.engine.inspectImage('app:1'))?.digests[0]?.split('@')[1] ?? ''}`;
    scene.sandbox.control.runContainer('pinned', { Image: pinned });
    const next = store.publish('shop/api:2', { version: '2' });
    store.misbehave('private.test', { kind: 'denied' });
    store.misbehave('gone.test', { kind: 'not-found' });

    const { check, events } = checkIn(scene);
    const report = await check(everything);

    const listing = await scene.sandbox.engine.listContainers();
    const order = listing.map(({ name }) => name).filter((name) => name !== 'ignored');
    expect(report.containers.map(({ name }) => name)).toEqual(order);
    expect(Object.fromEntries(report.containers.map(({ name, status }) => [name, status]))).toEqual({
      fresh: 'fresh',
      stale: 'stale',
      'watched-only': 'held',
      denied: 'unknown',
      deleted: 'unknown',
      local: 'local',
      pinned: 'pinned',
    });
    expect(report.containers.find(({ name }) => name === 'stale')).toMatchObject({
      image: 'shop/api:2',
      reference: 'shop/api:2',
      updateAvailable: true,
      latestDigest: next.digest,
      pullDigest: next.digest,
      latestImageId: undefined,
      error: undefined,
    });
    expect(report.containers.find(({ name }) => name === 'denied')).toMatchObject({
      updateAvailable: false,
      latestDigest: undefined,
      error: 'The registry refuses access. Cannot ask the registry "private.test" about "app": access denied',
    });
    expect(report.unwatched).toEqual([{ name: 'ignored', reason: 'is disabled by its label' }]);
    expect(events.filter(({ kind }) => kind === 'container_checked')).toHaveLength(order.length);
    const told = 'The registry refuses access. Cannot ask the registry "private.test" about "app": access denied';
    expect(events).toContainEqual(expect.objectContaining({ container: 'denied', status: 'unknown', reason: told }));
    expect(events[0]).toEqual({ kind: 'containers_selected', runId: 'run', names: order });
  });

  test('costs two lists, and one registry request for each distinct reference', async () => {
    const scene = createSandboxScene();
    for (let index = 0; index < 30; index += 1) await run(scene, `c${index}`, `app:${index % 3}`);
    const { engine, calls } = countCalls(scene.sandbox.engine);
    const asked: string[] = [];
    const registry: Registry = {
      ...scene.registry.registry,
      resolve: (reference, signal) => {
        asked.push(familiarReference(reference));
        return scene.registry.registry.resolve(reference, signal);
      },
    };
    const report = await checkIn(scene, {}, { engine, registry }).check(everything);
    expect(report.containers.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 'fresh'));
    expect(calls).toEqual({ listContainers: 1, listImages: 1 });
    expect(asked.toSorted()).toEqual(['app:0', 'app:1', 'app:2']);
  });

  test('looks once at the content of what is new, and at the engine and the old image for the platform', async () => {
    const scene = createSandboxScene();
    for (let index = 0; index < 10; index += 1) await run(scene, `c${index}`, 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    const { engine, calls } = countCalls(scene.sandbox.engine);
    const { check } = checkIn(scene, {}, { engine });
    const before = scene.registry.store.requests();
    expect((await check(everything)).containers.every(({ status }) => status === 'stale')).toBe(true);
    expect(calls).toEqual({ listContainers: 1, listImages: 1, info: 1, inspectImage: 1 });
    expect(scene.registry.store.requests() - before).toBe(2);
  });

  test('an index that was pushed again for other platforms is no update', async () => {
    const scene = createSandboxScene();
    const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };
    const arm64 = { os: 'linux', architecture: 'arm64', variant: '' };
    scene.registry.store.publish('app:1', { version: '1', platforms: [amd64] });
    await run(scene, 'early', 'other:1');
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    await run(scene, 'app', 'app:1');
    const again = scene.registry.store.publish('app:1', { version: '1', platforms: [amd64, arm64] });
    const { check } = checkIn(scene);
    const [app] = (await check({ ...everything, containers: ['app'] })).containers;
    expect(app).toMatchObject({ status: 'fresh', latestDigest: again.digest });
  });

  test('nothing for our platform is unknown, and says so', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'app:1');
    scene.registry.store.publish('app:1', {
      version: '2',
      platforms: [{ os: 'linux', architecture: 'arm64', variant: '' }],
    });
    const { check } = checkIn(scene);
    expect((await check(everything)).containers[0]).toMatchObject({
      status: 'unknown',
      reason: 'The registry has no such image for linux/amd64',
    });
  });

  test('a container whose tag has moved on is inspected once for all checks, and still has its reference', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    const pulled = await scene.sandbox.engine.inspectImage('app:1');
    const { engine, calls } = countCalls(scene.sandbox.engine);
    const { check } = checkIn(scene, {}, { engine });
    for (let round = 0; round < 3; round += 1) {
      expect((await check({ ...everything, images: ['app'] })).containers[0]).toMatchObject({
        image: 'app:1',
        status: 'stale',
        latestImageId: pulled?.id,
      });
    }
    expect(calls.inspectContainer).toBe(1);
  });

  test('no-pull asks no registry and pulls nothing', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'app:1');
    await run(scene, 'old', 'old:1');
    scene.sandbox.control.addImage('old:1', { version: 'mine' });
    scene.registry.store.publish('app:1', { version: '2' });
    const before = scene.registry.store.requests();
    const { check } = checkIn(scene, { noPull: true });
    const found = (await check(everything)).containers.map(({ name, status, pullDigest }) => [
      name,
      status,
      pullDigest,
    ]);
    expect(found).toEqual(
      expect.arrayContaining([
        ['app', 'fresh', undefined],
        ['old', 'stale', undefined],
      ]),
    );
    expect(scene.registry.store.requests()).toBe(before);
  });

  test('the cooldown holds back an update, not a check', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'app:1');
    const createdAtMs = scene.clock.nowMs() - 3_600_000;
    scene.registry.store.publish('app:1', { version: '2', createdAtMs });
    const { check, events } = checkIn(scene, { cooldownMs: 86_400_000 });
    expect((await check(everything)).containers[0]?.status).toBe('stale');
    // Log, page and messages tell what the next run would do.
    const told = events.flatMap((event) => (event.kind === 'container_checked' ? [event.status] : []));
    expect(told).toEqual(['held']);
    expect((await check({ ...everything, applyCooldown: true })).containers[0]).toMatchObject({
      status: 'held',
      updateAvailable: true,
      eligibleAtMs: createdAtMs + 86_400_000,
    });
  });

  test('what a request names in vain is reported', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'app:1');
    const { check } = checkIn(scene);
    const report = await check({ ...everything, containers: ['app', 'nobody'] });
    expect(report.containers.map(({ name }) => name)).toEqual(['app']);
    expect(report.unmatched).toEqual([
      { filter: 'nobody', reason: 'There is no container named "nobody"; the containers are "app"' },
    ]);
  });

  test('a label that is not heard is said once, not at every check', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'app:1', labels({ 'upkeep.enabel': 'false' }));
    const { check, complaints } = checkIn(scene);
    for (let round = 0; round < 3; round += 1) await check(everything);
    expect(complaints).toEqual([expect.stringContaining('enabel')]);
    const optIn = checkIn(scene, { labelEnable: true });
    expect((await optIn.check(everything)).containers).toEqual([]);
    expect(optIn.complaints).toEqual([expect.stringContaining('enabel')]);
  });

  test('a label of another container is not spoken of when one is named, as by approve', async () => {
    const scene = createSandboxScene();
    const wrong = { app: 'enabel', db: 'scpoe', other: 'windwo' };
    for (const [name, label] of Object.entries(wrong))
      await run(scene, name, `${name}:1`, labels({ [`upkeep.${label}`]: 'x' }));
    const { check, complaints } = checkIn(scene);
    await check({ ...everything, containers: ['db'] });
    await check({ ...everything, images: ['app'] });
    expect(complaints).toEqual([expect.stringContaining('scpoe'), expect.stringContaining('enabel')]);
  });

  test('a container whose inspect fails is unknown, the others are not', async () => {
    const scene = createSandboxScene();
    await run(scene, 'moved', 'app:1');
    await run(scene, 'good', 'app:1');
    scene.sandbox.control.addImage('app:1', { version: 'mine' });
    const broken = new ServiceError('engine-refused', 'Cannot inspect container "moved": no such task');
    const [moved] = (await scene.sandbox.engine.listContainers()).filter(({ name }) => name === 'moved');
    const engine: Engine = {
      ...scene.sandbox.engine,
      inspectContainer: (id) => (id === moved?.id ? Promise.reject(broken) : scene.sandbox.engine.inspectContainer(id)),
    };
    const { check } = checkIn(scene, {}, { engine });
    const { containers } = await check(everything);
    expect(containers.find(({ name }) => name === 'moved')).toMatchObject({ status: 'unknown', error: broken.message });
    expect(containers.find(({ name }) => name === 'good')?.status).toBe('fresh');
  });

  test('a container that was replaced after the listing is checked as the new one', async () => {
    const scene = createSandboxScene();
    await run(scene, 'moved', 'app:1');
    scene.sandbox.control.addImage('app:1', { version: 'mine' });
    const real = scene.sandbox.engine;
    let replacement = '';
    const engine: Engine = {
      ...real,
      inspectContainer: async (id) => {
        if (replacement === '') {
          await real.removeContainer(id);
          replacement = await run(scene, 'moved', 'app:1');
        }
        return real.inspectContainer(id);
      },
    };
    const { check } = checkIn(scene, {}, { engine });
    const { containers, unmatched } = await check({ ...everything, containers: ['moved'] });
    expect(containers).toMatchObject([{ id: replacement, image: 'app:1' }]);
    expect(containers[0]?.status).not.toBe('unknown');
    expect(unmatched).toEqual([]);
  });

  test('asks about so many references at once and no more', async () => {
    const scene = createSandboxScene();
    for (let index = 0; index < 12; index += 1) await run(scene, `c${index}`, `app:${index}`);
    let running = 0;
    let most = 0;
    const { registry: real } = scene.registry;
    const registry: Registry = {
      ...real,
      resolve: async (reference, signal) => {
        most = Math.max(most, (running += 1));
        await scene.clock.sleep(100);
        running -= 1;
        return real.resolve(reference, signal);
      },
    };
    await checkIn(scene, { checkConcurrency: 5 }, { registry }).check(everything);
    expect(most).toBe(5);
  });

  describe('after an abort', () => {
    test.each<readonly [string, unknown, string]>([
      ['of the time limit', new DOMException('late', 'TimeoutError'), 'check timed out'],
      ['by someone', undefined, 'check cancelled'],
    ])('%s reports what is known; the rest is unknown', async (_, reason, error) => {
      const scene = createSandboxScene();
      await run(scene, 'quick', 'app:1');
      await run(scene, 'slow', 'slow.test/app:1');
      scene.registry.store.misbehave('slow.test', { kind: 'silent', deadlineMs: 30_000 });
      const limit = new AbortController();
      void scene.clock.sleep(1000).then(() => limit.abort(reason));
      const { containers, durationMs } = await checkIn(scene).check(everything, limit.signal);
      expect(containers.find(({ name }) => name === 'quick')?.status).toBe('fresh');
      expect(containers.find(({ name }) => name === 'slow')).toMatchObject({ status: 'unknown', error });
      expect(durationMs).toBeLessThan(2000);
    });

    test('throws when not even the listing was done', async () => {
      const scene = createSandboxScene();
      const engine: Engine = {
        ...scene.sandbox.engine,
        listContainers: (_, signal) => Promise.reject((signal as AbortSignal).reason),
      };
      const signal = AbortSignal.abort(new DOMException('late', 'TimeoutError'));
      await expect(checkIn(scene, {}, { engine }).check(everything, signal)).rejects.toMatchObject({
        code: 'timeout',
        message: 'Cannot check containers: it did not end in time',
      });
    });
  });

  test('throws what the engine says when it cannot be listed', async () => {
    const scene = createSandboxScene();
    scene.sandbox.control.stopEngine('graceful');
    await expect(checkIn(scene).check(everything)).rejects.toMatchObject({ code: 'engine-unreachable' });
  });
});
