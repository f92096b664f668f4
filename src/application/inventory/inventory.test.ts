import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { RestartKind } from '../../../sandbox/containers/processes.ts';
import type { Inventory, TrackedContainer } from '../../domain/inventory.ts';
import type { Outside, Engine } from '../../domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { type Journal, sealedText, sealLabel, writeJournal } from '../../domain/transaction/journal.ts';
import { containerSummary, digestOf, idOf } from '../../../test/support/scene/builders.ts';
import { emptyListing } from '../../domain/inventory.ts';
import { createCheck } from '../../../test/support/scene/create-check.ts';
import { createEngineCache } from './engine-cache.ts';
import { createInventory, createLastOutcomes } from './inventory.ts';
import { createLastChecks, type LastChecks } from './last-checks.ts';

type Followed = {
  readonly inventory: () => Inventory;
  readonly checks: LastChecks;
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
};

async function follow(
  scene: SandboxScene,
  settings: Partial<ServiceSettings> = {},
  more: Partial<Outside> = {},
): Promise<Followed> {
  const { outside, complaints } = scene.startProcess();
  const world = { ...outside, ...more };
  const mirror = createEngineCache(world);
  const checks = createLastChecks();
  const inventory = createInventory({
    settings: { ...defaultSettings, ...settings },
    instance: world.instance,
    seal: world.seal,
    listing: mirror.listing,
    checks,
    outcomes: createLastOutcomes(),
  });
  await mirror.follow();
  return { inventory, checks, complaints, close: mirror.close };
}

async function followed(...args: Parameters<typeof follow>): Promise<Followed> {
  const service = await follow(...args);
  onTestFinished(() => service.close());
  return service;
}

async function holdImages(scene: SandboxScene, ...references: readonly string[]): Promise<void> {
  for (const reference of references) {
    scene.registry.store.publish(reference, { version: reference });
    await scene.sandbox.engine.pullImage({ reference });
  }
}

/** The image `base:1`, and an engine whose list does not have it. */
async function leavingOutBase(scene: SandboxScene) {
  const { engine } = scene.startProcess().outside;
  const base = await engine.inspectImage('base:1');
  const listImages: Engine['listImages'] = async (signal) =>
    (await engine.listImages(signal)).filter(({ id }) => id !== base?.id);
  return { engine: { ...engine, listImages }, base };
}

/** Long enough for an event, and too short for a full reading of the engine. */
const soonMs = 100;

/** The journal of a finished update of an image without a digest. */
function journalOf({ name, oldImageId }: Pick<Journal, 'name' | 'oldImageId'>): Journal {
  const oldId = idOf(name);
  const owner = { owner: '', ownerContainer: '', members: [{ name, oldId }] };
  const images = { oldImageId, oldDigest: '', taggedBefore: oldImageId, newImageId: '', reference: `${name}:1` };
  const policy = { Name: 'no', MaximumRetryCount: 0 };
  const ran = { autoRemoves: false, wasRunning: true, desiredEndState: 'running', keepMs: 0, policy } as const;
  return { transaction: 't', role: 'successor', name, oldId, ...images, ...ran, ...owner };
}

const names = ({ containers }: Inventory) => containers.map(({ name }) => name);
const only = ({ containers }: Inventory): TrackedContainer => {
  const [container] = containers;
  if (container === undefined || containers.length > 1) throw new Error(`${containers.length} containers, wanted one`);
  return container;
};

describe('the inventory', () => {
  test('is unknown and empty before the engine has been listed', () => {
    const { outside } = createSandboxScene().startProcess();
    const { listing } = createEngineCache(outside);
    const parts = {
      settings: defaultSettings,
      instance: outside.instance,
      checks: createLastChecks(),
      outcomes: createLastOutcomes(),
    };
    const inventory = createInventory({ ...parts, listing });
    expect(inventory()).toEqual({
      revision: 0,
      known: false,
      scope: '',
      containers: [],
      unfinished: [],
      images: [],
      updatesAvailable: undefined,
    });
  });

  test('shows an update as in progress until a listing from after its end still has remains of it', () => {
    const { outside } = createSandboxScene().startProcess();
    const state = { owner: 'alive' as ReturnType<Outside['instance']['ownerState']>, again: 0, begun: 1, shown: 1 };
    const containers = [
      containerSummary('web', { id: idOf('web') }),
      containerSummary('web.upkeep-new', {
        labels: writeJournal({ ...journalOf({ name: 'web', oldImageId: digestOf('old') }), owner: 'other' }),
      }),
    ];
    const inventory = createInventory({
      settings: defaultSettings,
      instance: { ...outside.instance, ownerState: () => state.owner },
      listing: () => ({ ...emptyListing, containers }),
      readings: { begun: () => state.begun, shown: () => state.shown, readAgain: () => void (state.again += 1) },
      checks: createLastChecks(),
      outcomes: createLastOutcomes(),
    });
    const shown = () => inventory().unfinished.map((one) => one.state);
    expect(shown()).toEqual([]);
    state.owner = 'dead';
    expect([shown(), shown(), state.again]).toEqual([['in progress'], ['in progress'], 1]);
    state.shown = 2;
    state.begun = 2;
    expect([shown(), inventory().unfinished[0]?.isAbandoned, state.again]).toEqual([['repair pending'], true, 1]);
  });

  test("is of the scope of the updater's own container, unless another is asked for", async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'web:1');
    const labels = { 'com.centurylinklabs.watchtower.scope': 'blue' };
    const id = scene.sandbox.control.runContainer('updater', { Image: 'web:1', Labels: labels });
    scene.sandbox.control.runContainer('web', { Image: 'web:1', Labels: { 'upkeep.scope': 'blue' } });
    scene.sandbox.control.runContainer('other', { Image: 'web:1' });
    const instance = { ...scene.startProcess().outside.instance, containerId: id };
    const inherited = await followed(scene, {}, { instance });
    expect(names(inherited.inventory()).toSorted()).toEqual(['updater', 'web']);
    expect(inherited.inventory().scope).toBe('blue');
    const unscoped = await followed(scene, { scope: 'none' }, { instance });
    expect(names(unscoped.inventory())).toEqual(['other']);
    expect(unscoped.inventory().scope).toBe('');
  });

  test('leaves out what image names leave out', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'db:1', 'web:1');
    scene.sandbox.control.runContainer('db', { Image: 'db:1' });
    scene.sandbox.control.runContainer('web', { Image: 'docker.io/library/web:1' });
    const skipping = await followed(scene, { skipImageNames: ['d.:1'] });
    expect(names(skipping.inventory())).toEqual(['web']);
    const choosing = await followed(scene, { monitorImageNames: ['db:.*'] });
    expect(names(choosing.inventory())).toEqual(['db']);
  });

  test('shows all that the details of a container are made of', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'db:1', 'web:1');
    const labels = {
      'upkeep.depends-on': 'db',
      'upkeep.monitor-only': 'true',
      'com.centurylinklabs.watchtower.monitor-only': 'false',
      'com.centurylinklabs.watchtower.enable': 'true',
      'upkeep.canary': 'perhaps',
      other: 'label',
    };
    scene.sandbox.control.runContainer('db', { Image: 'db:1' });
    const id = scene.sandbox.control.runContainer('web', { Image: 'docker.io/library/web:1', Labels: labels });
    const instance = { ...scene.startProcess().outside.instance, containerId: id };
    const { inventory } = await followed(scene, { labelEnable: false }, { instance });
    const [web] = inventory().containers;
    const image = await scene.sandbox.engine.inspectImage('web:1');
    expect(web).toEqual({
      id,
      name: 'web',
      image: 'web:1',
      imageId: image?.id,
      digest: image?.digests[0]?.split('@')[1],
      running: true,
      status: 'running',
      health: 'none',
      createdAtMs: expect.any(Number),
      self: true,
      monitorOnly: true,
      noPull: false,
      enabled: true,
      scope: '',
      dependsOn: ['db'],
      labelsInEffect: {
        'upkeep.depends-on': 'db',
        'upkeep.monitor-only': 'true',
        'com.centurylinklabs.watchtower.enable': 'true',
      },
      settings: [
        { name: 'depends-on', value: 'db', source: 'label upkeep.depends-on' },
        { name: 'monitor-only', value: 'true', source: 'label upkeep.monitor-only' },
      ],
      staleness: undefined,
      stale: false,
      updateAvailable: false,
      latestDigest: '',
      reason: '',
      checkedAtMs: undefined,
      version: '1',
      canRollBack: false,
    });
    expect(inventory().images).toMatchObject([
      { name: 'db:1', containers: 1 },
      { name: 'web:1', imageId: image?.id, containers: 1 },
    ]);
  });

  test.each<readonly [string, (scene: SandboxScene) => unknown, (inventory: Inventory) => void]>([
    [
      'a rename',
      ({ sandbox }) => sandbox.control.renameContainer('app', 'web'),
      (now) => expect(names(now)).toEqual(['web']),
    ],
    ['a removal', ({ sandbox }) => sandbox.control.removeContainer('app'), (now) => expect(names(now)).toEqual([])],
    [
      'a run',
      ({ sandbox }) => sandbox.control.runContainer('new', { Image: 'app:1' }),
      (now) => expect(names(now)).toEqual(['new', 'app']),
    ],
    ['an end', ({ sandbox }) => sandbox.control.stopContainer('app'), (now) => expect(only(now).status).toBe('exited')],
    [
      'a pull of the same content by another name',
      ({ registry, sandbox }) => {
        registry.store.publish('mirror.test/app:1', { version: 'app:1' });
        return sandbox.engine.pullImage({ reference: 'mirror.test/app:1' });
      },
      (now) => expect(only(now)).toMatchObject({ image: 'app:1', digest: expect.stringMatching(/^sha256:/) }),
    ],
  ])('sees %s within a tenth of a second', async (_, act, expectation) => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    const { inventory } = await followed(scene, { includeStopped: true });
    await act(scene);
    await scene.clock.sleep(soonMs);
    expectation(inventory());
  });

  test('offers no rollback any more when the former image, which no registry has, is removed', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1', 'app:2');
    const oldImageId = (await scene.sandbox.engine.inspectImage('app:1'))?.id ?? '';
    const tags = { reference: 'app:2', formerReference: 'app:1' };
    const Labels = writeJournal({ ...journalOf({ name: 'app', oldImageId }), ...tags });
    scene.sandbox.control.runContainer('app', { Image: 'app:2', Labels });
    const { inventory } = await followed(scene);
    expect(only(inventory()).canRollBack).toBe(true);
    await scene.sandbox.engine.removeImage('app:1');
    await scene.clock.sleep(soonMs);
    expect(only(inventory()).canRollBack).toBe(false);
  });

  test('offers a rollback only where one would be made', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1', 'app:2', 'vault:1');
    const idOfImage = async (reference: string) => (await scene.sandbox.engine.inspectImage(reference))?.id ?? '';
    const [own, foreign] = [await idOfImage('app:1'), await idOfImage('vault:1')];
    const run = (name: string, oldImageId: string, claims: Partial<Journal> = {}) => {
      const honest = { ...journalOf({ name, oldImageId }), reference: 'app:2', formerReference: 'app:1' };
      scene.sandbox.control.runContainer(name, { Image: 'app:2', Labels: writeJournal({ ...honest, ...claims }) });
    };
    run('honest', own);
    run('copied', own, { name: 'honest', members: [{ name: 'honest', oldId: idOf('copied') }] });
    run('strange-tag', own, { reference: 'vault:1' });
    run('strange-former-tag', own, { formerReference: 'vault:1' });
    run('strange-image', foreign);
    run('strange-image-with-digest', foreign, { oldDigest: `sha256:${'1'.repeat(64)}` });
    run('pulled', idOf('an image that is gone'), { oldDigest: `sha256:${'1'.repeat(64)}` });
    const offered = ({ inventory }: Followed) =>
      inventory()
        .containers.filter(({ canRollBack }) => canRollBack)
        .map(({ name }) => name)
        .toSorted();
    expect(offered(await followed(scene))).toEqual(['honest', 'pulled']);
    const seal = {
      sign: (text: string) => `sealed ${text}`,
      verify: (text: string, one: string) => one === `sealed ${text}`,
    };
    const sealed = { ...journalOf({ name: 'sealed', oldImageId: foreign }), reference: 'app:2' };
    scene.sandbox.control.runContainer('sealed', {
      Image: 'app:2',
      Labels: { ...writeJournal(sealed), [sealLabel]: seal.sign(sealedText(sealed)) },
    });
    expect(offered(await followed(scene, {}, { seal }))).toEqual(['sealed']);
  });

  test('keeps what a container was created from when the tag moves on, without asking again', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    const { engine, calls } = countCalls(scene.startProcess().outside.engine);
    const { inventory } = await followed(scene, {}, { engine });
    scene.registry.store.publish('app:1', { version: 'newer' });
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    scene.sandbox.control.renameContainer('app', 'web');
    await scene.clock.sleep(1000);
    expect(only(inventory())).toMatchObject({ name: 'web', image: 'app:1' });
    expect(calls.inspectContainer).toBeUndefined();
  });

  test('finds out, once, what a container was created from whose tag had moved on before', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    scene.registry.store.publish('app:1', { version: 'newer' });
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    const { engine, calls } = countCalls(scene.startProcess().outside.engine);
    const { inventory } = await followed(scene, {}, { engine });
    expect(only(inventory()).image).toBe('app:1');
    await scene.clock.sleep(600_000);
    expect(only(inventory()).image).toBe('app:1');
    expect(calls.inspectContainer).toBe(1);
  });

  test('asks about images that the list leaves out, because others were built on them', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1', 'base:1');
    const { engine, base } = await leavingOutBase(scene);
    const { inventory } = await followed(scene, {}, { engine });
    scene.sandbox.control.runContainer('app', { Image: 'base:1' });
    await scene.clock.sleep(soonMs);
    expect(only(inventory())).toMatchObject({ imageId: base?.id, digest: base?.digests[0]?.split('@')[1] });
  });

  test('knows the labels of an image that the list leaves out', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.registry.store.publish('base:1', {
      version: 'base',
      config: { Labels: { 'com.centurylinklabs.zodiac.original-image': 'other:1' } },
    });
    await scene.sandbox.engine.pullImage({ reference: 'base:1' });
    const { engine } = await leavingOutBase(scene);
    scene.sandbox.control.runContainer('app', { Image: 'base:1' });
    const { inventory } = await followed(scene, {}, { engine });
    expect(only(inventory()).image).toBe('base:1');
  });

  test('has the same listing after a full reading of the same images, listed or not', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1', 'base:1');
    scene.sandbox.control.runContainer('app', { Image: 'base:1' });
    const { engine } = await leavingOutBase(scene);
    const mirror = createEngineCache({ ...scene.startProcess().outside, engine });
    onTestFinished(() => mirror.close());
    await mirror.follow();
    const before = mirror.listing();
    await scene.clock.sleep(600_000);
    expect(mirror.listing()).toBe(before);
  });

  test('lists images once for many events of them, and shows a new container with a new image meanwhile', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    const { engine, calls } = countCalls(scene.startProcess().outside.engine);
    const { inventory } = await followed(scene, {}, { engine });
    await scene.clock.sleep(2000);
    const listedBefore = calls.listImages ?? 0;
    for (let number = 0; number < 5; number += 1) scene.sandbox.control.tagImage('app:1', `app:also-${number}`);
    await holdImages(scene, 'web:1');
    scene.sandbox.control.runContainer('web', { Image: 'web:1' });
    await scene.clock.sleep(soonMs);
    expect(inventory().containers.find(({ name }) => name === 'web')).toMatchObject({
      digest: expect.stringMatching(/^sha256:/),
    });
    expect(calls.listImages).toBe(listedBefore + 1);
    await scene.clock.sleep(2000);
    expect(calls.listImages).toBe(listedBefore + 2);
  });

  test('shows a container that it cannot inspect, and those beside it', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1', 'web:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    scene.sandbox.control.runContainer('web', { Image: 'web:1' });
    scene.registry.store.publish('app:1', { version: 'newer' });
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    const { engine } = scene.startProcess().outside;
    const inspectContainer: Engine['inspectContainer'] = () => Promise.reject(new Error('locked'));
    const { inventory } = await followed(scene, {}, { engine: { ...engine, inspectContainer } });
    const [web, app] = inventory().containers;
    expect([web?.image, app?.image]).toEqual(['web:1', app?.imageId]);
  });

  test('reads a burst once, and only what it is about', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    for (let index = 0; index < 20; index += 1) scene.sandbox.control.runContainer(`app-${index}`, { Image: 'app:1' });
    const lists: (number | 'all')[] = [];
    const { engine } = scene.startProcess().outside;
    const listContainers: Engine['listContainers'] = (filter, signal) => {
      lists.push(filter?.ids?.length ?? 'all');
      return engine.listContainers(filter, signal);
    };
    await followed(scene, {}, { engine: { ...engine, listContainers } });
    await scene.clock.sleep(1000);
    lists.length = 0;
    for (let index = 0; index < 5; index += 1) {
      scene.sandbox.control.renameContainer(`app-${index}`, `web-${index}`);
      scene.sandbox.control.renameContainer(`web-${index}`, `app-${index}`);
    }
    await scene.clock.sleep(1000);
    // One reading after the event, and a second one for engines that announce a change before they show it.
    expect(lists).toEqual([5, 5]);
  });

  test('costs the engine nothing to read, and hands out the same object until something changes', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    const { engine, calls } = countCalls(scene.startProcess().outside.engine);
    const { inventory } = await followed(scene, {}, { engine });
    const before = { ...calls };
    const first = inventory();
    for (let read = 0; read < 100; read += 1) expect(inventory()).toBe(first);
    expect(calls).toEqual(before);
    // A change of an unwatched container does not change the content.
    scene.sandbox.control.runContainer('other', { Image: 'app:1', Labels: { 'upkeep.enable': 'false' } });
    await scene.clock.sleep(soonMs);
    expect(inventory()).toBe(first);
  });

  test('goes on showing what it knows while the engine is away, says so once, and catches up', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    const { inventory, complaints } = await followed(scene);
    scene.sandbox.control.stopEngine('power-cut');
    await scene.clock.sleep(300_000);
    expect(names(inventory())).toEqual(['app']);
    expect(complaints).toEqual(['The engine cannot be listed']);
    scene.sandbox.control.startEngine();
    await scene.clock.sleep(10_000);
    expect(names(inventory())).toEqual([]);
  });

  test('looks at everything now and then, for an engine that announces nothing', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    const { engine } = scene.startProcess().outside;
    const nothing: Engine['events'] = (signal) =>
      scene.sandbox.connect().engine.events(AbortSignal.any([signal, AbortSignal.abort()]));
    const { inventory } = await followed(scene, {}, { engine: { ...engine, events: nothing } });
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    await scene.clock.sleep(soonMs);
    expect(names(inventory())).toEqual([]);
    await scene.clock.sleep(60_000);
    expect(names(inventory())).toEqual(['app']);
  });

  test('counts the tasks of a new service as they start, though nothing announces them, and no longer than that', async () => {
    const scene = createSandboxScene({ swarmNodes: 3 });
    scene.registry.store.publish('web:1', { version: '1' });
    const calls: string[] = [];
    const { swarm } = scene.sandbox;
    const services = (signal?: AbortSignal) => {
      calls.push('services');
      return swarm.services(signal);
    };
    const { inventory } = await followed(scene, {}, { swarm: { ...swarm, services } });
    const create = (Name: string, Image: string) =>
      scene.sandbox.swarmControl.create({
        Name,
        Mode: { Replicated: { Replicas: 2 } },
        TaskTemplate: { ContainerSpec: { Image } },
      });
    create('web', 'web:1');
    await scene.clock.sleep(10_000);
    expect(only(inventory())).toMatchObject({ name: 'web', wantedTasks: 2, runningTasks: 2 });
    expect(calls.length).toBeLessThan(6);
    create('never', 'missing:1');
    await scene.clock.sleep(3_600_000);
    calls.length = 0;
    await scene.clock.sleep(600_000);
    // Together with all other data, once a minute.
    expect(calls.length).toBeLessThanOrEqual(10);
  });

  test('lists all instead of very many, and no more than half of the time', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1');
    const { engine } = scene.startProcess().outside;
    const lists: (number | 'all')[] = [];
    const listContainers: Engine['listContainers'] = async (filter, signal) => {
      lists.push(filter?.ids?.length ?? 'all');
      await scene.clock.sleep(200);
      return engine.listContainers(filter, signal);
    };
    const { inventory } = await followed(scene, {}, { engine: { ...engine, listContainers } });
    await scene.clock.sleep(5000);
    lists.length = 0;
    for (let index = 0; index < 150; index += 1) {
      scene.sandbox.control.runContainer(`app-${index}`, { Image: 'app:1' });
      if (index % 3 === 2) await scene.clock.sleep(10);
    }
    await scene.clock.sleep(1500);
    expect(lists.length).toBeLessThanOrEqual(5);
    expect(lists).toContain('all');
    expect(inventory().containers).toHaveLength(150);
  });

  test('carries what the last check found, until the container runs another image', async () => {
    const scene = createSandboxScene();
    await holdImages(scene, 'app:1', 'app:2');
    scene.sandbox.control.runContainer('app', { Image: 'app:1' });
    const service = await followed(scene);
    scene.registry.store.publish('app:1', { version: 'newer' });
    const { outside } = scene.startProcess();
    const check = createCheck(outside, defaultSettings);
    const report = await check({ runId: 'r', images: [], containers: [], applyCooldown: false });
    service.checks.noteChecked(report.containers, 5000);
    const latestDigest = report.containers[0]?.latestDigest;
    const found = { staleness: 'stale', stale: true, updateAvailable: true, latestDigest, checkedAtMs: 5000 };
    expect(only(service.inventory())).toMatchObject(found);
    expect(service.inventory().updatesAvailable).toBe(1);

    scene.sandbox.control.renameContainer('app', 'web');
    await scene.clock.sleep(soonMs);
    expect(only(service.inventory())).toMatchObject({ name: 'web', ...found });

    scene.sandbox.control.removeContainer('web');
    scene.sandbox.control.runContainer('web', { Image: 'app:2' });
    await scene.clock.sleep(soonMs);
    expect(only(service.inventory())).toMatchObject({ staleness: undefined, updateAvailable: false, latestDigest: '' });
    expect(service.inventory().updatesAvailable).toBeUndefined();
  });

  test('equals a fresh look after whatever happens, and has a new revision when and only when it differs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), settingsToTry, async (steps, settings) => {
        const scene = createSandboxScene();
        await holdImages(scene, ...images);
        const service = await follow(scene, settings);
        let before = service.inventory();
        try {
          for (const one of steps) {
            await act(scene, one);
            if (!one.waits) continue;
            await scene.clock.sleep(afterRestartMs);
            const now = service.inventory();
            expect(contentOf(now)).toEqual(await freshContent(scene, settings));
            expect(now.revision > before.revision).toBe(contentOf(now) !== contentOf(before));
            expect(now.revision - before.revision).toBeGreaterThanOrEqual(0);
            before = now;
          }
        } finally {
          await service.close();
          scene.sandbox.control.close();
        }
      }),
      { numRuns: 200 },
    );
  }, 120_000);
});

type Step = {
  readonly kind: 'run' | 'create' | 'start' | 'stop' | 'rename' | 'remove' | 'tag' | 'untag' | 'release' | RestartKind;
  readonly name: string;
  readonly other: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly networkMode: string;
  /** Whether it is created from the image's bare id. */
  readonly byId: boolean;
  /** Whether the test reads the inventory afterwards; otherwise the next step follows at once. */
  readonly waits: boolean;
};

const containerNames = ['aa', 'bb', 'cc', 'dd', 'aa.upkeep-old-u'];
const images = ['app:1', 'app:2', 'db:1'];

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    ...(['run', 'run', 'run', 'create', 'start', 'stop', 'rename', 'remove', 'tag', 'untag', 'release'] as const),
    ...(['graceful', 'crash', 'power-cut'] as const),
  ),
  name: fc.constantFrom(...containerNames),
  other: fc.constantFrom(...containerNames),
  image: fc.constantFrom(...images),
  labels: fc.constantFrom(
    {},
    {},
    { 'upkeep.enable': 'false' },
    { 'upkeep.depends-on': 'aa' },
    { 'upkeep.scope': 'blue' },
    { 'upkeep.monitor-only': 'true' },
  ),
  networkMode: fc.constantFrom('default', 'default', 'container:aa'),
  byId: fc.nat({ max: 4 }).map((number) => number === 0),
  waits: fc.boolean(),
});

const settingsToTry = fc.record({ includeStopped: fc.boolean(), monitorOnly: fc.boolean() });

/** An engine that was away is tried again at ever longer intervals, up to five seconds. */
const afterRestartMs = 6000;

/** Invalid actions are tried too, and change nothing. */
async function act({ sandbox, registry }: SandboxScene, step: Step): Promise<void> {
  const { kind, name, other, labels, networkMode, byId } = step;
  const { control, engine } = sandbox;
  const image = byId ? ((await engine.inspectImage(step.image))?.id ?? step.image) : step.image;
  const body = { Image: image, Labels: labels, HostConfig: { NetworkMode: networkMode } };
  const acts: Readonly<Record<Step['kind'], () => unknown>> = {
    run: () => control.runContainer(name, body),
    create: () => control.addContainer(name, body),
    start: () => control.startContainer(name),
    stop: () => control.stopContainer(name, 0),
    rename: () => control.renameContainer(name, other),
    remove: () => control.removeContainer(name),
    tag: () => control.tagImage(image, 'moved:1'),
    untag: () => engine.removeImage(image),
    release: () => {
      registry.store.publish(step.image, { version: `${name}${other}` });
      return engine.pullImage({ reference: step.image });
    },
    graceful: () => control.restartEngine('graceful', 1000),
    crash: () => control.restartEngine('crash', 1000),
    'power-cut': () => control.restartEngine('power-cut', 1000),
  };
  try {
    await acts[kind]();
  } catch {
    // No event was sent.
  }
}

function contentOf(inventory: Inventory): string {
  return JSON.stringify({ ...inventory, revision: 0 });
}

/** The result of a new service; the inventory must have the containers that a check would inspect. */
async function freshContent(scene: SandboxScene, settings: Partial<ServiceSettings>): Promise<string> {
  const fresh = await follow(scene, settings);
  const inventory = fresh.inventory();
  await fresh.close();
  const { outside } = scene.startProcess();
  const check = createCheck(outside, { ...defaultSettings, ...settings, noPull: true });
  const report = await check({ runId: 'r', images: [], containers: [], applyCooldown: false });
  const shown = inventory.containers.map(({ id, name, image, imageId, digest }) => ({
    id,
    name,
    image,
    imageId,
    digest,
  }));
  const checked = report.containers.map(({ id, name, image, imageId, digest = '' }) => ({
    id,
    name,
    image,
    imageId,
    digest,
  }));
  expect(shown).toEqual(checked);
  return contentOf(inventory);
}
