import { describe, expect, test } from 'vitest';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { EngineWriter } from '../../domain/outside/engine.ts';
import type { Session } from '../../domain/run/session.ts';
import { dataVolumeNames } from '../../domain/transaction/data-helper.ts';
import { writeJournal } from '../../domain/transaction/journal.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';
import { removeCopies } from './kept-data.ts';

const settings = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000 };

/** `web` was updated from version 1 to version 2; `app` may live in its network. */
async function setScene(first: Behaviour = {}, { withDependent = false } = {}): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1', behaviour: first });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const HostConfig = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 }, Binds: ['kept:/data'] };
  scene.sandbox.control.runContainer('web', { Image: 'app:1', HostConfig });
  if (withDependent)
    scene.sandbox.control.runContainer('app', { Image: 'app:1', HostConfig: { NetworkMode: 'container:web' } });
  scene.registry.store.publish('app:1', { version: '2' });
  await as(scene, (application) => application.update({ trigger: 'command', images: [], containers: [] }));
  return scene;
}

/** Runs one action in a new process of the service, which ends afterwards. */
async function as<Result>(
  { clock, sandbox, startProcess }: SandboxScene,
  work: (application: Application) => Promise<Result>,
  faults: readonly PlannedFault[] = [],
  chosen: ServiceSettings = settings,
): Promise<Result> {
  const process = startProcess(sandbox.connect({ faults }));
  try {
    return await clock.run(() => work(createApplication(process.outside, chosen)));
  } finally {
    process.connection.crash();
  }
}

const rollBack = (scene: SandboxScene, ...names: string[]): Promise<Session> =>
  as(scene, (application) => application.rollBack(names));

const versions = ({ sandbox }: SandboxScene) =>
  Object.fromEntries(
    Object.values(sandbox.control.snapshot().containers).map(({ name, settings: { Config }, running }) => [
      name,
      `${Config.Labels?.['org.opencontainers.image.version'] ?? ''}${running ? '' : ', down'}`,
    ]),
  );

test('a container that its own label excludes is not rolled back: nobody would repair that', async () => {
  const scene = await setScene();
  const { engine, control } = scene.sandbox;
  const web = await engine.inspectContainer('web');
  control.removeContainer('web');
  const Labels = { ...web?.settings.Config.Labels, 'upkeep.enable': 'false' };
  control.runContainer('web', { Image: 'app:1', Labels });
  await expect(rollBack(scene, 'web')).rejects.toThrow('Cannot roll back "web": it is disabled by its label');
});

describe('a container that is rolled back', () => {
  test('has the image from before its last update again, its settings, and its name', async () => {
    const scene = await setScene();
    const { containers } = await rollBack(scene, 'web');
    expect(containers).toMatchObject([
      { name: 'web', outcome: 'went_back', reason: 'back to the image from before its last update' },
    ]);
    const { web } = scene.sandbox.control.snapshot().containers;
    expect(web).toMatchObject({
      running: true,
      settings: { HostConfig: { RestartPolicy: { Name: 'always' }, Binds: ['kept:/data'] } },
    });
    expect(versions(scene)).toEqual({ web: '1' });
  });

  test('is back at its kept container, which was unhealthy before its update, without waiting for its health', async () => {
    const scene = createSandboxScene();
    const Healthcheck = { Test: ['CMD', 'true'], Interval: 1_000_000_000, Retries: 1 };
    const publish = (version: string) =>
      scene.registry.store.publish('app:1', {
        version,
        behaviour: { health: { kind: 'unhealthy' } },
        config: { Healthcheck },
      });
    publish('1');
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    const Labels = { 'upkeep.keep-old': '1h' };
    const before = scene.sandbox.control.runContainer('web', { Image: 'app:1', Labels });
    publish('2');
    await scene.clock.run(() => scene.clock.sleep(2000));
    const updated = await as(scene, (application) =>
      application.update({ trigger: 'command', images: [], containers: ['web'] }),
    );
    expect(updated.containers).toMatchObject([{ outcome: 'updated' }]);
    expect((await rollBack(scene, 'web')).containers).toMatchObject([
      { outcome: 'went_back', reason: 'back to the kept container from before its last update' },
    ]);
    expect((await scene.sandbox.engine.inspectContainer('web'))?.id).toBe(before);
  });

  test('is announced as rolled back when it begins, unlike one that is updated', async () => {
    const scene = await setScene();
    const announced = (retryFailed: boolean) =>
      as(scene, async (application) => {
        const begun: unknown[] = [];
        application.subscribe((event) => {
          if (event.kind === 'update_started') begun.push(event.isRollback);
        });
        await (retryFailed
          ? application.update({ trigger: 'command', images: [], containers: ['web'], retryFailed })
          : application.rollBack(['web']));
        return begun;
      });
    expect(await announced(false)).toEqual([true]);
    expect(await announced(true)).toEqual([undefined]);
  });

  test('stays there until its tag moves on or a person says otherwise', async () => {
    const scene = await setScene();
    await rollBack(scene, 'web');
    const update = (retryFailed = false) =>
      as(scene, (application) =>
        application.update({ trigger: 'command', images: [], containers: ['web'], retryFailed }),
      );
    expect((await update()).containers).toMatchObject([{ outcome: 'skipped' }]);
    expect((await update(true)).containers).toMatchObject([{ outcome: 'updated' }]);
    expect(versions(scene)).toEqual({ web: '2' });
  });

  test('goes forward again when it is rolled back once more, if a person permits that', async () => {
    const scene = await setScene();
    await rollBack(scene, 'web');
    await expect(rollBack(scene, 'web')).rejects.toMatchObject({
      code: 'unconfirmed',
      message: expect.stringMatching(/^Cannot roll back "web": this would go forward again.* you went back from on /),
    });
    expect(versions(scene)).toEqual({ web: '1' });
    await as(scene, (application) => application.rollBack(['web'], undefined, { forward: true }));
    expect(versions(scene)).toEqual({ web: '2' });
    const report = await as(scene, (application) => application.check({ images: [], containers: [] }));
    expect(report.containers).toMatchObject([{ status: 'fresh' }]);
  });

  test('takes with it what moved together with it', async () => {
    const scene = await setScene({}, { withDependent: true });
    expect(versions(scene)).toEqual({ web: '2', app: '2' });
    await rollBack(scene, 'app');
    expect(versions(scene)).toEqual({ web: '1', app: '1' });
  });

  test('leaves alone a container of an image that was committed from a member', async () => {
    const scene = await setScene({}, { withDependent: true });
    const app = await scene.sandbox.engine.inspectContainer('app');
    scene.registry.store.publish('copy:1', { config: { Labels: app?.settings.Config.Labels ?? {} } });
    await scene.sandbox.engine.pullImage({ reference: 'copy:1' });
    scene.sandbox.control.runContainer('copy', { Image: 'copy:1', Labels: app?.settings.Config.Labels ?? {} });
    const { containers } = await rollBack(scene, 'app');
    expect(containers.map(({ name }) => name).toSorted()).toEqual(['app', 'web']);
    expect(versions(scene)).toMatchObject({ web: '1', app: '1' });
  });

  test('stays on its new version when the old one does not come up any more', async () => {
    const scene = await setScene({ exitsAfterMs: 30_000 });
    const patient = { ...settings, healthWindowMs: 60_000 };
    const { containers } = await as(scene, (application) => application.rollBack(['web']), [], patient);
    expect(containers).toMatchObject([{ name: 'web', outcome: 'rolled_back' }]);
    expect(versions(scene)).toEqual({ web: '2' });
  });

  test('is pulled by its digest when the engine no longer holds the image', async () => {
    const scene = await setScene();
    for (const { id, labels } of await imagesOf(scene))
      if (labels === '1') scene.sandbox.control.removeImageByForce(id);
    await rollBack(scene, 'web');
    expect(versions(scene)).toEqual({ web: '1' });
  });

  test('survives a death of the process at any call', async () => {
    for (let at = 1; at < 40; at += 1) {
      const scene = await setScene();
      const faults = [{ at, fault: { kind: 'crash', when: 'after' } }] as const;
      const isOver = await as(scene, (application) => application.rollBack(['web']), faults).then(
        () => true,
        () => false,
      );
      await as(scene, (application) => application.recover());
      expect(Object.keys(versions(scene)), `after call ${at}`).toEqual(['web']);
      expect(versions(scene)['web'], `after call ${at}`).toMatch(/^[12]$/);
      if (isOver) return;
    }
    throw new Error('a rollback makes fewer than 40 calls');
  });
});

describe('what cannot be rolled back', () => {
  test.each([
    ['nobody', 'Cannot roll back "nobody": there is no container of this name'],
    ['fresh', 'Cannot roll back "fresh": it has not been updated since it was created'],
  ])('%s is refused, and nothing changes', async (name, message) => {
    const scene = await setScene();
    scene.sandbox.control.runContainer('fresh', { Image: 'app:1' });
    const before = scene.sandbox.control.snapshot().containers;
    await expect(rollBack(scene, 'web', name)).rejects.toThrow(message);
    expect(scene.sandbox.control.snapshot().containers).toEqual(before);
  });

  test('the container that the command runs in is refused', async () => {
    const scene = await setScene();
    const { web } = scene.sandbox.control.snapshot().containers;
    const { outside } = scene.startProcess(scene.sandbox.connect());
    const instance = { ...outside.instance, containerId: web?.id };
    const application = createApplication({ ...outside, instance }, settings);
    await expect(application.rollBack(['web'])).rejects.toThrow('Cannot roll back "web": this command runs in it');
  });
});

async function imagesOf({
  sandbox,
}: SandboxScene): Promise<readonly { readonly id: string; readonly labels: string }[]> {
  const images = await sandbox.engine.listImages();
  return Promise.all(
    images.map(async ({ id }) => ({
      id,
      labels: (await sandbox.engine.inspectImage(id))?.config.Labels?.['org.opencontainers.image.version'] ?? '',
    })),
  );
}

test('a journal that an image brings leads nowhere back', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:0', { version: '0' });
  await scene.sandbox.engine.pullImage({ reference: 'app:0' });
  const target = (await scene.sandbox.engine.inspectImage('app:0'))?.id ?? '';
  const oldId = 'a'.repeat(64);
  const journal = writeJournal({
    transaction: 'forged',
    name: 'web',
    oldId,
    oldImageId: target,
    oldDigest: '',
    taggedBefore: target,
    newImageId: '',
    role: 'successor',
    autoRemoves: false,
    reference: 'app:0',
    wasRunning: true,
    keepMs: 0,
    policy: { Name: 'no', MaximumRetryCount: 0 },
    desiredEndState: 'running',
    owner: '',
    ownerContainer: '',
    members: [{ name: 'web', oldId }],
  });
  scene.registry.store.publish('app:1', { version: '1', config: { Labels: journal } });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  await expect(rollBack(scene, 'web')).rejects.toThrow('it has not been updated since it was created');
  expect(versions(scene)).toEqual({ web: '1' });
});

describe('a container with a kept copy of its data', () => {
  async function withCopy(): Promise<SandboxScene> {
    const scene = await setScene();
    await scene.sandbox.engine.createVolume('upkeep-data-web-forged', { ...labels, 'upkeep.data.of': 'two' });
    const { copy } = dataVolumeNames({ leader: 'web', transaction: 'one' });
    await scene.sandbox.engine.createVolume(copy, labels);
    return scene;
  }
  const labels = {
    'upkeep.data.of': 'one',
    'upkeep.data.container': 'web',
    'upkeep.data.bytes': '412000000',
    'upkeep.data.files': '7',
    'upkeep.data.keep': '172800000',
  };

  test('is rolled back only when somebody says what becomes of the data, and nothing is changed before', async () => {
    const scene = await withCopy();
    const before = await scene.sandbox.engine.listContainers();
    await as(scene, async (application) => {
      await expect(application.rollBack(['web'])).rejects.toMatchObject({
        code: 'undecided',
        message: expect.stringContaining('(412 MB)'),
        remedy: expect.stringContaining('everything written since'),
      });
    });
    expect(await scene.sandbox.engine.listContainers()).toEqual(before);
    const session = await as(scene, (application) => application.rollBack(['web'], undefined, { data: 'leave' }));
    expect(session.containers.map(({ outcome }) => outcome)).toEqual(['went_back']);
  });

  test('gets its data back only together with the container that wrote them', async () => {
    const scene = await withCopy();
    await as(scene, async (application) => {
      await expect(application.rollBack(['web'], undefined, { data: 'restore' })).rejects.toMatchObject({
        message: expect.stringContaining('the old container of the same update is not kept'),
      });
      await application.removeKeptCopies(['web']);
      await expect(application.rollBack(['web'], undefined, { data: 'restore' })).rejects.toMatchObject({
        message: expect.stringContaining('no copy of them is kept'),
      });
    });
  });

  test('is listed, and removed by name only; a volume with a made-up name is not', async () => {
    const scene = await withCopy();
    await as(scene, async (application) => {
      expect(await application.keptCopies()).toMatchObject([{ container: 'web', bytes: 412_000_000, files: 7 }]);
      await expect(application.removeKeptCopies(['db'])).rejects.toMatchObject({ code: 'not-found' });
      expect(await application.removeKeptCopies(['web'])).toHaveLength(1);
      expect(await application.keptCopies()).toEqual([]);
    });
    expect(await scene.sandbox.engine.listVolumes('upkeep.data.of')).toHaveLength(1);
  });

  test('that was to be kept for no time is listed as left, is removed by name only, and asks nothing of a rollback', async () => {
    const scene = await setScene();
    const { copy } = dataVolumeNames({ leader: 'web', transaction: 'one' });
    await scene.sandbox.engine.createVolume(copy, { ...labels, 'upkeep.data.keep': '0' });
    await as(scene, async (application) => {
      const [left] = await application.keptCopies();
      expect([left?.volume, left?.keptUntilMs, left?.isNeeded]).toEqual([copy, undefined, undefined]);
      await application.update({ trigger: 'command', images: [], containers: [] });
    });
    expect((await rollBack(scene, 'web')).containers.map(({ outcome }) => outcome)).toEqual(['went_back']);
    await as(scene, async (application) => {
      expect(await application.keptCopies()).toHaveLength(1);
      expect(await application.removeKeptCopies(['web'])).toHaveLength(1);
      expect(await application.keptCopies()).toEqual([]);
    });
  });

  test('is listed and removed by name also if a power cut has brought it back without its labels', async () => {
    const scene = await setScene();
    const { copy, reserve } = dataVolumeNames({ leader: 'web', transaction: 'one' });
    const foreign = { copy: 'upkeep-data-web', labelled: dataVolumeNames({ leader: 'web', transaction: 'two' }).copy };
    for (const name of [copy, reserve, foreign.copy]) await scene.sandbox.engine.createVolume(name, {});
    await scene.sandbox.engine.createVolume(foreign.labelled, { backup: 'mine' });
    await as(scene, async (application) => {
      const copies = await application.keptCopies();
      expect(copies.map(({ container, volume }) => [container, volume])).toEqual([
        ['web', copy],
        ['web', reserve],
      ]);
      expect(copies.some(({ isNeeded }) => isNeeded)).toBe(false);
    });
    expect((await rollBack(scene, 'web')).containers.map(({ outcome }) => outcome)).toEqual(['went_back']);
    await as(scene, async (application) => {
      expect(await application.removeKeptCopies(['web'])).toHaveLength(2);
    });
    const left = (await scene.sandbox.engine.listVolumes(undefined)).map(({ name }) => name);
    expect(left).toEqual(expect.arrayContaining(Object.values(foreign)));
    expect(left).not.toEqual(expect.arrayContaining([copy]));
  });

  test('is told as removed when the engine refuses to remove a further one', async () => {
    const scene = await withCopy();
    const { copy: second } = dataVolumeNames({ leader: 'web', transaction: 'two' });
    await scene.sandbox.engine.createVolume(second, { ...labels, 'upkeep.data.of': 'two' });
    const { engine } = scene.startProcess().outside;
    const removeVolume: EngineWriter['removeVolume'] = async (name) =>
      name === second ? { kind: 'refused', status: 409, message: 'volume is in use' } : engine.removeVolume(name);
    const { copy: first } = dataVolumeNames({ leader: 'web', transaction: 'one' });
    await expect(removeCopies({ engine: { ...engine, removeVolume } }, ['web'])).rejects.toMatchObject({
      message: `Cannot remove the copy of "web": volume is in use; removed before that: "${first}"`,
    });
  });

  test.each(['web.upkeep-old-a-d', 'web.upkeep-bad'])('is not removed while there is "%s"', async (name) => {
    const scene = await setScene();
    const { copy } = dataVolumeNames({ leader: 'web', transaction: 'one' });
    await scene.sandbox.engine.createVolume(copy, { ...labels, 'upkeep.data.keep': '0' });
    scene.sandbox.control.addContainer(name, { Image: 'app:1' });
    await as(scene, async (application) => {
      expect(await application.keptCopies()).toMatchObject([{ volume: copy, isNeeded: true }]);
      await expect(application.removeKeptCopies(['web'])).rejects.toMatchObject({
        message: 'Cannot remove the copy of "web": its update has not ended',
      });
    });
    expect(await scene.sandbox.engine.listVolumes('upkeep.data.of')).toHaveLength(1);
  });
});

describe('behind a proxy that forbids the list of volumes', () => {
  /** One action in a process whose engine denies `GET /volumes`. */
  async function denied<Result>(
    { clock, startProcess }: SandboxScene,
    work: (application: Application) => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly complaints: readonly string[] }> {
    const { outside, connection, complaints } = startProcess();
    const listVolumes = () => Promise.reject(new ServiceError('engine-denied', 'Cannot list volumes: forbidden'));
    const engine = { ...outside.engine, listVolumes };
    try {
      const result = await clock.run(() => work(createApplication({ ...outside, engine }, settings)));
      return { result, complaints };
    } finally {
      connection.crash();
    }
  }

  async function recreateWith(scene: SandboxScene, more: Readonly<Record<string, string>>): Promise<void> {
    const { engine, control } = scene.sandbox;
    const web = await engine.inspectContainer('web');
    control.removeContainer('web');
    control.runContainer('web', { Image: 'app:1', Labels: { ...web?.settings.Config.Labels, ...more } });
  }

  test.each([undefined, 'leave'] as const)(
    'a container without data is rolled back, with the answer %s',
    async (data) => {
      const scene = await setScene();
      const { result, complaints } = await denied(scene, (one) => one.rollBack(['web'], undefined, data && { data }));
      expect(result.containers).toMatchObject([{ name: 'web', outcome: 'went_back' }]);
      expect(versions(scene)).toEqual({ web: '1' });
      expect(complaints).toEqual([]);
    },
  );

  async function updateWithData(scene: SandboxScene): Promise<void> {
    scene.registry.store.publish('app:1', { version: '3' });
    scene.sandbox.control.addImage('upkeep-tools:1', { version: 'tools' });
    const chosen = { ...settings, data: { kind: 'volumes' }, dataImage: 'upkeep-tools:1' } as const;
    const order = { trigger: 'command', images: [], containers: [] } as const;
    const { containers } = await as(scene, (application) => application.update(order), [], chosen);
    expect(containers).toMatchObject([{ outcome: 'updated' }]);
  }

  test.each([
    [
      'its labels ask for copies',
      (scene: SandboxScene) => recreateWith(scene, { 'upkeep.data': 'volumes' }),
      undefined,
    ],
    ['its update has copied data', updateWithData, undefined],
    ['the data are to come back', () => Promise.resolve(), 'restore'],
  ] as const)('nothing is changed where %s', async (_, arrange, data) => {
    const scene = await setScene();
    await arrange(scene);
    const before = await scene.sandbox.engine.listContainers();
    await denied(scene, async (application) => {
      await expect(application.rollBack(['web'], undefined, data && { data })).rejects.toMatchObject({
        code: 'engine-denied',
        message: expect.stringContaining('Cannot list volumes'),
      });
    });
    expect(await scene.sandbox.engine.listContainers()).toEqual(before);
  });

  test.each([
    [{}, []],
    [{ 'upkeep.data': 'volumes' }, ['Kept copies of data cannot be listed']],
  ])('a start of the service with the labels %j complains only about copies that may exist', async (labels, told) => {
    const scene = await setScene();
    await recreateWith(scene, labels);
    const { complaints } = await denied(scene, async (application) => {
      const ending = new AbortController();
      const order = { schedule: undefined, updateOnStart: false, whyNone: 'none is set' };
      const running = application.keepUpdating(order, ending.signal);
      await scene.clock.sleep(1000);
      ending.abort();
      await running;
    });
    expect(complaints).toEqual(told);
  });
});

test('a return to a kept container is left 4 s after the process was asked to end, and says what is unproven', async () => {
  const kept = { ...settings, keepOldMs: 3_600_000 };
  const scene = createSandboxScene();
  const { clock, registry, sandbox } = scene;
  registry.store.publish('app:1', { version: '1' });
  await sandbox.engine.pullImage({ reference: 'app:1' });
  sandbox.control.runContainer('web', { Image: 'app:1', Labels: { 'upkeep.health-window': '10m' } });
  registry.store.publish('app:1', { version: '2' });
  await as(scene, (one) => one.update({ trigger: 'command', images: [], containers: [] }), [], kept);
  const ending = new AbortController();
  const { outside, connection } = scene.startProcess(sandbox.connect());
  const application = createApplication({ ...outside, ending: ending.signal }, kept);
  let askedAtMs = 0;
  void clock.sleep(20_000).then(() => {
    askedAtMs = clock.monotonicMs();
    ending.abort();
  });
  const { containers } = await clock.run(() => application.rollBack(['web'], ending.signal));
  expect(clock.monotonicMs() - askedAtMs).toBeLessThan(8000);
  const reason = 'the old container is back; Upkeep was stopped before its health was proven';
  expect(containers).toMatchObject([{ outcome: 'went_back', reason }]);
  connection.crash();
  expect(versions(scene)).toEqual({ web: '1' });
  // The next run does not install the version that a person went back from.
  const { containers: next } = await as(scene, (one) =>
    one.update({ trigger: 'schedule', images: [], containers: [] }),
  );
  expect(next.map(({ outcome }) => outcome)).not.toContain('updated');
  expect(versions(scene)).toEqual({ web: '1' });
});
