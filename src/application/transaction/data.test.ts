import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { SandboxCall, PlannedFault } from '../../../sandbox/engine/calls.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { printTime } from '../../domain/text/duration.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';
import { recoverTransactions, type RecoveryOrder } from '../recovery/recover.ts';
import { removeOverdueCopies } from '../update/kept-data.ts';

const settings: ServiceSettings = {
  ...defaultSettings,
  healthWindowMs: 2000,
  data: { kind: 'volumes' },
  dataImage: 'upkeep-tools:1',
};
const image = 'app:1';
const bad: Behaviour = { marksVolumes: 'v2', exitsAfterMs: 1000, exitCode: 3 };

async function setScene(
  next: Behaviour,
  first: Behaviour = {},
  labels: Readonly<Record<string, string>> = {},
): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish(image, { version: '1', behaviour: first });
  await scene.sandbox.engine.pullImage({ reference: image });
  scene.sandbox.control.addImage('upkeep-tools:1', { version: 'tools' });
  const HostConfig = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 }, Binds: ['kept:/data'] };
  scene.sandbox.control.runContainer('web', { Image: image, HostConfig, Labels: labels });
  scene.sandbox.control.markVolume('kept', 'of v1');
  scene.registry.store.publish(image, { version: '2', behaviour: next });
  return scene;
}

async function update(
  scene: SandboxScene,
  more: Partial<ServiceSettings> = {},
  faults: readonly PlannedFault[] = [],
  calls: Partial<Outside['engine']> = {},
): Promise<ContainerOutcome | undefined> {
  const { outside, connection } = scene.startProcess(scene.sandbox.connect({ faults }));
  const engine = { ...outside.engine, ...calls };
  const application = createApplication({ ...outside, engine }, { ...settings, ...more });
  const request = { trigger: 'command', images: [], containers: [] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  connection.crash();
  return containers.find(({ name }) => name === 'web');
}

const recover = (scene: SandboxScene, order: RecoveryOrder = {}) =>
  scene.clock.run(() => recoverTransactions(scene.startProcess().outside, settings, undefined, order));
const worldOf = ({ sandbox }: SandboxScene) => {
  const { containers, volumes } = sandbox.control.snapshot();
  const running = Object.values(containers).flatMap(({ name, running: runs }) => (runs ? name : []));
  return { names: Object.keys(containers).toSorted(), running, volumes };
};

/** At the start of the new version: its old container has its parked name then. */
const atStart = (act: () => void): PlannedFault => ({
  at: ({ kind, target }) => kind === 'startContainer' && target === 'web',
  fault: { kind: 'third-party', when: 'after', act },
});

describe('an update that copies data', () => {
  test('tells how much it has copied, and whether that came back', async () => {
    const scene = await setScene(bad);
    expect(await update(scene)).toMatchObject({
      outcome: 'rolled_back',
      data: { bytes: 1_000_000, files: 1, isRestored: true },
      phases: { 'saving data': expect.any(Number), 'restoring data': expect.any(Number) },
    });
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
  });

  test('of a group counts its one copy once', async () => {
    const scene = await setScene(bad);
    const HostConfig = { NetworkMode: 'container:web', Binds: ['kept:/data'] };
    scene.sandbox.control.runContainer('app', { Image: image, HostConfig });
    const { outside } = scene.startProcess();
    const request = { trigger: 'command', images: [], containers: [] } as const;
    const { containers } = await scene.clock.run(() => createApplication(outside, settings).update(request));
    const copies = containers.map(({ name, data, sharesCopy }) => [name, data?.bytes, sharesCopy]);
    expect(copies).toHaveLength(2);
    expect(copies).toContainEqual(['web', 1_000_000, undefined]);
    expect(copies).toContainEqual(['app', 1_000_000, true]);
  });

  test('keeps the copy when someone has removed the old container of a version that fails', async () => {
    const scene = await setScene(bad);
    const removed = atStart(() => scene.sandbox.control.removeContainer('web.upkeep-old-a-d'));
    const outcome = await update(scene, {}, [removed]);
    expect(outcome?.outcome).toBe('failed');
    expect(outcome?.reason).toMatch(/so the new version stays; the copy of its data stays too: upkeep data list$/);
    const { names, volumes } = worldOf(scene);
    expect([names, Object.values(volumes)]).toEqual([['web'], ['of v1 v2 v2', '["of v1"]']]);
    const { outside } = scene.startProcess();
    const application = createApplication(outside, settings);
    expect(await application.keptCopies()).toMatchObject([{ container: 'web', bytes: 1_000_000 }]);
    await application.removeKeptCopies(['web']);
    expect(Object.keys(worldOf(scene).volumes)).toEqual(['kept']);
  });

  test('of a group that fails and whose old containers someone then removes stays as a copy, as the result says', async () => {
    const scene = await setScene(bad);
    const HostConfig = { NetworkMode: 'container:web', Binds: ['kept:/data'] };
    scene.sandbox.control.runContainer('app', { Image: image, HostConfig });
    const removeOlds = () => {
      for (const { name } of Object.values(scene.sandbox.control.snapshot().containers))
        if (/^(?:web|app)\.upkeep-old-/.test(name)) scene.sandbox.control.removeContainer(name);
    };
    // The log of a failed version is read before anything is undone.
    const { engine } = scene.sandbox;
    const containerLogs: typeof engine.containerLogs = async (id, ...rest) => {
      const log = await engine.containerLogs(id, ...rest);
      if ((await engine.inspectContainer(id))?.name === 'web') removeOlds();
      return log;
    };
    const outcome = await update(scene, {}, [], { containerLogs });
    const hasCopy = Object.keys(worldOf(scene).volumes).some((name) => name.startsWith('upkeep-data-'));
    expect([outcome?.outcome, hasCopy]).toEqual(['failed', true]);
    expect(outcome?.reason).toMatch(/so the new version stays; the copy of its data stays too: upkeep data list$/);
  });

  test('removes its volumes again when a power cut has brought them back without their labels', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const { sandbox } = scene;
    const made = new Set<string>();
    const isMark = ({ kind, target }: SandboxCall) => kind === 'removeImage' && /^upkeep-open:(?!helper)/.test(target);
    const note = sandbox.connect({ faults: [{ at: isMark, fault: { kind: 'crash', when: 'before' } }] });
    const { outside } = scene.startProcess(note);
    const createVolume: Outside['engine']['createVolume'] = (name, labels) => {
      made.add(name);
      return outside.engine.createVolume(name, labels);
    };
    const application = createApplication({ ...outside, engine: { ...outside.engine, createVolume } }, settings);
    const request = { trigger: 'command', images: [], containers: [] } as const;
    await scene.clock.run(() => application.update(request).catch(() => undefined));
    for (const name of made) await sandbox.engine.createVolume(name, {});
    expect([made.size, Object.keys(worldOf(scene).volumes)]).toEqual([2, ['kept', ...made]]);
    await recover(scene);
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1 v2' } });
  });

  test('goes back on a disk that the new version has filled', async () => {
    const scene = await setScene(bad);
    const full = atStart(() => scene.sandbox.control.fillDisk());
    expect(await update(scene, {}, [full])).toMatchObject({ outcome: 'rolled_back' });
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
  });

  test('copies again what the old version has written since, when the engine has run it again', async () => {
    const scene = await setScene(bad, { marksVolumes: 'v1' });
    const restarted: PlannedFault = {
      at: ({ kind, target, detail }) =>
        kind === 'updateRestartPolicy' && target.startsWith('web.upkeep-old-') && detail === 'no',
      fault: { kind: 'engine-restart', how: 'crash', when: 'before' },
    };
    const outcome = await update(scene, {}, [restarted]);
    expect(outcome).toMatchObject({ outcome: 'rolled_back', data: { isRestored: true } });
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1 v1 v1' } });
  });

  test('starts no restore before the copy was begun', async () => {
    const scene = await setScene(bad);
    const { connection, outside } = scene.startProcess(
      scene.sandbox.connect({
        faults: [{ at: ({ kind }) => kind === 'stopContainer', fault: { kind: 'crash', when: 'before' } }],
      }),
    );
    const request = { trigger: 'command', images: [], containers: [] } as const;
    await scene.clock.run(() =>
      createApplication(outside, settings)
        .update(request)
        .catch(() => undefined),
    );
    connection.crash();
    scene.sandbox.control.removeContainer('web');
    const again = scene.startProcess(scene.sandbox.connect({}));
    await scene.clock.run(() => recoverTransactions(again.outside, settings, undefined, {}));
    expect(again.connection.calls.map(({ kind, target }) => `${kind} ${target}`)).not.toContain(
      'startContainer web.upkeep-restore',
    );
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
  });

  test.each(['during', 'after'] as const)(
    'restores again when a power cut ends the helper %s its start',
    async (when) => {
      const scene = await setScene(bad);
      const { connection, outside } = scene.startProcess(
        scene.sandbox.connect({
          faults: [
            {
              at: ({ kind, target }) => kind === 'startContainer' && target === 'web.upkeep-restore',
              fault: { kind: 'engine-restart', how: 'power-cut', when },
            },
          ],
        }),
      );
      const request = { trigger: 'command', images: [], containers: [] } as const;
      await scene.clock.run(() => createApplication(outside, settings).update(request)).catch(() => undefined);
      connection.crash();
      await recover(scene);
      expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
    },
  );

  describe('and is interrupted', () => {
    /** The updater dies at this point. The helper goes on by itself, and has ended before the recovery. */
    async function interrupt(at: PlannedFault['at'], more: Partial<ServiceSettings> = {}): Promise<SandboxScene> {
      const scene = await setScene(bad);
      const crash: PlannedFault = { at, fault: { kind: 'crash', when: 'after' } };
      await update(scene, more, [crash]).catch(() => undefined);
      await scene.clock.run(() => scene.clock.sleep(10_000));
      return scene;
    }
    const starts = (name: string) => (call: SandboxCall) => call.kind === 'startContainer' && call.target === name;
    const comesBack = ({ kind, target, detail }: SandboxCall) =>
      kind === 'renameContainer' && target.startsWith('web.upkeep-old-') && detail === 'web';

    test.each([
      ['before the restore', starts('web')],
      ['during the restore', starts('web.upkeep-restore')],
      ['after the restore', comesBack],
    ])('%s tells in its recovery that the data are back', async (_, at) => {
      const scene = await interrupt(at);
      expect(await recover(scene)).toMatchObject({
        transactions: [{ result: 'undone', reason: 'the update had been interrupted; its data restored' }],
      });
      expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
    });

    test.each([
      [
        'the engine does not bring the old container back',
        (_: SandboxScene): PlannedFault => ({ at: comesBack, fault: { kind: 'refuse', status: 500 }, every: true }),
        { result: 'failed', reason: expect.stringMatching(/failed: injected fault.*; its data restored$/) },
      ],
      [
        'another container has its name',
        ({ sandbox }: SandboxScene): PlannedFault => ({
          at: ({ kind, target }) => kind === 'renameContainer' && target === 'web',
          fault: {
            kind: 'third-party',
            when: 'after',
            act: () => void sandbox.control.addContainer('web', { Image: image }),
          },
        }),
        { result: 'left', reason: expect.stringMatching(/^repair pending: .*; its data restored$/) },
      ],
    ] as const)('tells in its recovery that the data are back when %s', async (_, obstacle, told) => {
      const scene = await interrupt(starts('web'));
      const { outside } = scene.startProcess(scene.sandbox.connect({ faults: [obstacle(scene)] }));
      const { transactions } = await scene.clock.run(() => recoverTransactions(outside, settings));
      expect(transactions).toMatchObject([told]);
    });

    test('before anything was stopped tells nothing of them', async () => {
      const scene = await interrupt(({ kind, target }) => kind === 'createContainer' && target === 'web.upkeep-save');
      expect(await recover(scene)).toMatchObject({
        transactions: [{ result: 'undone', reason: 'the update had been interrupted' }],
      });
    });

    test.each([0, 3_600_000])(
      'needs its copy, which is to be kept for %d ms, also after a prune',
      async (dataKeepMs) => {
        const scene = await interrupt(starts('web'), { dataKeepMs });
        for (const role of ['save', 'restore']) scene.sandbox.control.removeContainer(`web.upkeep-${role}`);
        const application = createApplication(scene.startProcess().outside, settings);
        expect(await application.keptCopies()).toMatchObject([{ container: 'web', isNeeded: true }]);
        await expect(application.removeKeptCopies(['web'])).rejects.toMatchObject({
          message: 'Cannot remove the copy of "web": its update has not ended',
        });
        await recover(scene);
        expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
      },
    );

    test('needs its copy even when its time is over', async () => {
      const scene = await interrupt(starts('web'), { dataKeepMs: 60_000 });
      for (const role of ['save', 'restore']) scene.sandbox.control.removeContainer(`web.upkeep-${role}`);
      await scene.clock.run(() => scene.clock.sleep(600_000));
      const { outside } = scene.startProcess();
      await scene.clock.run(() => removeOverdueCopies(outside, settings));
      await recover(scene);
      expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
    });
  });

  test('whose end could not remove its copy leaves it to a person, who finds and removes it', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const refused: PlannedFault = {
      at: ({ kind, target }) => kind === 'removeVolume' && target.startsWith('upkeep-data-web-'),
      fault: { kind: 'refuse', status: 409, message: 'the volume is in use' },
      every: true,
    };
    expect(await update(scene, {}, [refused])).toMatchObject({ outcome: 'updated' });
    const application = createApplication(scene.startProcess().outside, settings);
    const copies = await application.keptCopies();
    expect(copies.map(({ container, keptUntilMs, isNeeded }) => [container, keptUntilMs, isNeeded])).toEqual([
      ['web', undefined, undefined],
    ]);
    expect(await application.removeKeptCopies(['web'])).toHaveLength(1);
    expect(Object.keys(worldOf(scene).volumes)).toEqual(['kept']);
  });

  test('does not begin without an image for its helpers, or above its limits', async () => {
    const scene = await setScene(bad);
    const startedAt = (await scene.sandbox.engine.inspectContainer('web'))?.state.startedAt;
    for (const [more, reason] of [
      [{ dataImage: undefined }, 'Upkeep does not run in a container of this engine'],
      [{ dataImage: 'none:1' }, 'this engine has no image "none:1"'],
      [{ dataMaxBytes: 1000 }, 'its data takes 1 MB, more than --data-max-size 1 kB'],
    ] as const) {
      const outcome = await update(scene, more);
      expect(outcome).toMatchObject({ outcome: 'failed', reason: expect.stringContaining(reason) });
    }
    expect((await scene.sandbox.engine.inspectContainer('web'))?.state.startedAt).toBe(startedAt);
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
  });

  test('does not begin on a disk that the copies of other updates will fill, and begins after their end', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const HostConfig = { Binds: ['more:/data'] };
    scene.sandbox.control.runContainer('app', { Image: image, HostConfig });
    const engine = scene.sandbox.engine;
    const containerLogs: Outside['engine']['containerLogs'] = async (...args) =>
      (await engine.containerLogs(...args)).replace(/bytes=\d+ (.*) free=\d+/, 'bytes=5000000000 $1 free=6000000000');
    const { outside } = scene.startProcess();
    const application = createApplication({ ...outside, engine: { ...outside.engine, containerLogs } }, settings);
    const outcomes = async () => {
      const request = { trigger: 'command', images: [], containers: [] } as const;
      const { containers } = await scene.clock.run(() => application.update(request));
      return containers.map(({ name, outcome, reason }) => `${name} ${outcome} ${reason}`).toSorted();
    };
    const [first = '', second = ''] = await outcomes();
    expect([first, second].filter((text) => text.includes('beside the copies of other updates'))).toHaveLength(1);
    expect([first, second].filter((text) => / updated /.test(text))).toHaveLength(1);
    expect((await outcomes()).filter((text) => / updated /.test(text))).toHaveLength(1);
  });

  const forbidden = (kind: 'createVolume' | 'removeVolume'): PlannedFault => ({
    at: kind,
    fault: { kind: 'forbid' },
    every: true,
  });
  const isDenied = () => Promise.reject(new ServiceError('engine-denied', 'Cannot list volumes: a proxy forbids it'));
  test.each([
    ['GET /volumes', [], { listVolumes: isDenied }, 'Cannot list volumes: a proxy forbids it'],
    ['POST /volumes/create', [forbidden('createVolume')], {}, 'forbids it'],
    ['DELETE /volumes/{name}', [forbidden('removeVolume')], {}, 'forbids it'],
  ] as const)('stops nothing behind a proxy that forbids %s', async (_, faults, calls, reason) => {
    const scene = await setScene(bad);
    const full = atStart(() => scene.sandbox.control.fillDisk());
    const startedAt = (await scene.sandbox.engine.inspectContainer('web'))?.state.startedAt;
    expect(await update(scene, {}, [...faults, full], calls)).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(
        `^measuring the data of "web" failed: .*${reason}.*; a copy of data needs GET /volumes, POST`,
      ),
    });
    expect((await scene.sandbox.engine.inspectContainer('web'))?.state.startedAt).toBe(startedAt);
    expect(worldOf(scene)).toEqual({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
  });

  test.each([
    ['keep-new', { names: ['web'], running: ['web'], volumes: { kept: 'of v1 v2 v2' } }],
    ['without-data', { names: ['web'], running: ['web'], volumes: { kept: 'of v1 v2' } }],
  ] as const)('whose copy is gone waits for a person, and "%s" ends it', async (choice, end) => {
    const scene = await setScene({ ...bad, exitsAfterMs: 1500 });
    const pruned = atStart(() => {
      const { control } = scene.sandbox;
      for (const role of ['save', 'restore']) control.removeContainer(`web.upkeep-${role}`);
      for (const name of Object.keys(control.snapshot().volumes))
        if (name.startsWith('upkeep-data-')) void scene.sandbox.engine.removeVolume(name);
    });
    const outcome = await update(scene, {}, [pruned]);
    expect(outcome).toMatchObject({ outcome: 'failed', isUnfinished: true });
    expect(outcome?.reason).toContain('the copy of the data of "web" is gone');
    expect(worldOf(scene).running).toEqual([]);
    expect(await recover(scene)).toMatchObject({ transactions: [{ result: 'failed' }] });
    expect(worldOf(scene).running).toEqual([]);
    await recover(scene, { dataChoice: { names: ['web'], choice } });
    expect(worldOf(scene)).toEqual(end);
  });

  test.each([
    ['restore', 'of v1', false],
    ['leave', 'of v1 v2', true],
  ] as const)('to a kept container goes back with "%s" of its data', async (data, content, isCopyLeft) => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const more = { keepOldMs: 3_600_000 };
    expect((await update(scene, more))?.data?.keptUntilMs).toBeGreaterThan(0);
    const application = createApplication(scene.startProcess().outside, { ...settings, ...more });
    const { containers } = await scene.clock.run(() => application.rollBack(['web'], undefined, { data }));
    expect(containers).toMatchObject([{ name: 'web', outcome: 'went_back' }]);
    const { names, volumes } = worldOf(scene);
    expect(names).toEqual(['web']);
    expect(volumes['kept']).toBe(content);
    expect(Object.keys(volumes).some((name) => name.startsWith('upkeep-data-'))).toBe(isCopyLeft);
  });

  test('that a rollback on request restores is told in its result and in its event, as after a failed version', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const more = { keepOldMs: 3_600_000 };
    await update(scene, more);
    const application = createApplication(scene.startProcess().outside, { ...settings, ...more });
    const events: ServiceEvent[] = [];
    application.subscribe((event) => void events.push(event));
    const [copy] = await application.keptCopies();
    const { containers } = await scene.clock.run(() => application.rollBack(['web'], undefined, { data: 'restore' }));
    const told = {
      outcome: 'went_back',
      data: { bytes: 1_000_000, files: 1, isRestored: true },
      phases: { 'restoring data': expect.any(Number) },
      reason: expect.stringMatching(
        /^back to the kept container from before its last update; its data restored \(1 MB in [\d.]+m?s\) from the copy of \d{4}-/,
      ),
    };
    expect(containers).toMatchObject([told]);
    expect(containers[0]?.reason).toContain(` from the copy of ${printTime(copy?.takenAtMs ?? 0)}`);
    expect(events.filter(({ kind }) => kind === 'update_completed')).toMatchObject([{ outcome: told }]);
  });

  const rollBack = (scene: SandboxScene, data: 'restore' | 'leave', more: Partial<ServiceSettings>) => {
    const application = createApplication(scene.startProcess().outside, { ...settings, ...more });
    return scene.clock.run(() => application.rollBack(['web'], undefined, { data }));
  };
  const copiesOf = (scene: SandboxScene) =>
    Object.entries(worldOf(scene).volumes).flatMap(([name, content]) =>
      name.startsWith('upkeep-data-') ? content : [],
    );

  test.each([{}, { dataKeepMs: 0 }, { data: { kind: 'none' } }] as const)(
    'keeps the only copy of the old data in a rollback that leaves them, with %j',
    async (later) => {
      const scene = await setScene({ marksVolumes: 'v2' });
      expect(await update(scene, { dataKeepMs: 3_600_000 })).toMatchObject({ outcome: 'updated' });
      expect(copiesOf(scene)).toEqual(['["of v1"]']);
      const { containers } = await rollBack(scene, 'leave', { dataKeepMs: 3_600_000, ...later });
      expect(containers).toMatchObject([{ outcome: 'went_back' }]);
      expect(copiesOf(scene)).toContain('["of v1"]');
    },
  );

  test('restores in a rollback with its present image, if the one of the update is gone', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const more = { keepOldMs: 3_600_000 };
    await update(scene, more);
    scene.sandbox.control.addImage('upkeep-tools:2', { version: 'later tools' });
    scene.sandbox.control.removeImageByForce((await scene.sandbox.engine.inspectImage('upkeep-tools:1'))?.id ?? '');
    const { containers } = await rollBack(scene, 'restore', { ...more, dataImage: 'upkeep-tools:2' });
    expect(containers).toMatchObject([{ outcome: 'went_back' }]);
    expect(worldOf(scene)).toMatchObject({ names: ['web'], running: ['web'], volumes: { kept: 'of v1' } });
  });

  test('stops nothing for a rollback without any image for its helper', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const more = { keepOldMs: 3_600_000 };
    await update(scene, more);
    scene.sandbox.control.removeImageByForce((await scene.sandbox.engine.inspectImage('upkeep-tools:1'))?.id ?? '');
    const { containers } = await rollBack(scene, 'restore', more);
    const reason =
      'its data cannot be restored (this engine has no image for its helper: name one with --data-image); nothing was stopped';
    expect(containers).toMatchObject([{ outcome: 'failed', reason }]);
    expect(worldOf(scene)).toMatchObject({ running: ['web'], volumes: { kept: 'of v1 v2' } });
    expect(copiesOf(scene)).toEqual(['["of v1"]']);
  });

  test('believes no journal about what a helper mounts, or about its image', async () => {
    const scene = await setScene({ marksVolumes: 'v2' });
    const { sandbox } = scene;
    sandbox.control.addImage('evil:1', { version: 'evil' });
    const evil = await sandbox.engine.inspectImage('evil:1');
    sandbox.control.markVolume('volumes', 'of others');
    const { outside, connection } = scene.startProcess(
      sandbox.connect({
        faults: [
          {
            at: ({ kind, target }) => kind === 'startContainer' && target === 'web',
            fault: { kind: 'crash', when: 'after' },
          },
        ],
      }),
    );
    const request = { trigger: 'command', images: [], containers: [] } as const;
    await scene.clock.run(() =>
      createApplication(outside, settings)
        .update(request)
        .catch(() => undefined),
    );
    connection.crash();
    const labels = (await sandbox.engine.inspectContainer('web'))?.settings.Config.Labels ?? {};
    const journal = JSON.parse(labels['upkeep.tx.data'] ?? '') as { items: { mount: object }[] };
    for (const name of ['web', 'web.upkeep-save', 'web.upkeep-restore']) sandbox.control.removeContainer(name);
    const forge = (data: object) => {
      const Labels = { ...labels, 'upkeep.tx.data': JSON.stringify({ ...journal, ...data, imageId: evil?.id }) };
      sandbox.control.runContainer('web', { Image: 'evil:1', Labels });
      sandbox.control.endProcess('web', 3);
    };
    forge({ items: journal.items.map((item) => ({ ...item, mount: { ...item.mount, Source: 'volumes' } })) });
    const stuck = await recover(scene);
    expect(JSON.stringify(stuck)).toContain('the old container does not use the volume');
    expect(worldOf(scene).volumes).toMatchObject({ volumes: 'of others' });
    expect(worldOf(scene).names).not.toContain('web.upkeep-restore');
  });

  test.each([{ 'upkeep.data': 'volumes' }, { 'upkeep.data': 'volumes', 'upkeep.data-max-size': '1GB' }])(
    'of a group holds to the lowest size that a label of it allows: %j of the other',
    async (other) => {
      const scene = await setScene(bad, {}, { 'upkeep.data': 'volumes', 'upkeep.data-max-size': '1kB' });
      const HostConfig = { NetworkMode: 'container:web', Binds: ['more:/data'] };
      scene.sandbox.control.runContainer('app', { Image: image, HostConfig, Labels: other });
      expect(await update(scene, { data: { kind: 'none' } })).toMatchObject({
        outcome: 'failed',
        reason: expect.stringContaining('more than --data-max-size 1 kB'),
      });
    },
  );

  describe('and keeps the copy by a label', () => {
    const labels = { 'upkeep.data': 'volumes', 'upkeep.data-keep': '60s' };
    const more = { data: { kind: 'none' } } as const;
    async function setOverdue(): Promise<SandboxScene> {
      const scene = await setScene({}, {}, labels);
      await update(scene, more);
      expect(copiesOf(scene)).toHaveLength(1);
      scene.sandbox.control.removeContainer('web');
      await scene.clock.run(() => scene.clock.sleep(600_000));
      return scene;
    }

    test('removes it in a run after its time, also if the container was recreated', async () => {
      const scene = await setOverdue();
      scene.sandbox.control.runContainer('web', { Image: image, Labels: labels });
      await update(scene, more);
      expect(copiesOf(scene)).toEqual([]);
    });

    test('removes it at the next start of the service, also if the container is gone', async () => {
      const scene = await setOverdue();
      const application = createApplication(scene.startProcess().outside, { ...settings, ...more });
      const ending = new AbortController();
      const order = { schedule: undefined, updateOnStart: false, whyNone: 'none is set' };
      void application.keepUpdating(order, ending.signal);
      await scene.clock.run(() => scene.clock.sleep(1000));
      ending.abort();
      expect(copiesOf(scene)).toEqual([]);
    });
  });
});

describe('a helper that an update left behind', () => {
  /** The updater dies when a helper of this role has started, and a person removes all else of the update. */
  async function leaveHelper(role: 'measure' | 'save' | 'restore'): Promise<SandboxScene> {
    const scene = await setScene(bad);
    const started: PlannedFault = {
      at: ({ kind, target }) => kind === 'startContainer' && target === `web.upkeep-${role}`,
      fault: { kind: 'crash', when: 'after' },
    };
    const { outside, connection } = scene.startProcess(scene.sandbox.connect({ faults: [started] }));
    const request = { trigger: 'command', images: [], containers: [] } as const;
    await scene.clock.run(() => createApplication(outside, settings).update(request)).catch(() => undefined);
    connection.crash();
    const { control } = scene.sandbox;
    for (const name of Object.keys(control.snapshot().containers))
      if (name !== `web.upkeep-${role}` && !(role === 'measure' && name === 'web')) control.removeContainer(name);
    return scene;
  }
  const tagsOf = async ({ sandbox }: SandboxScene) =>
    (await sandbox.engine.listImages()).flatMap(({ tags }) => tags).filter((tag) => tag.includes('upkeep-open:'));
  const minute = (scene: SandboxScene) => scene.clock.run(() => scene.clock.sleep(60_000));

  test.each(['measure', 'save', 'restore'] as const)('by a prune during "%s" is removed, and no copy', async (role) => {
    const scene = await leaveHelper(role);
    await minute(scene);
    expect(await recover(scene)).toMatchObject({ transactions: [] });
    const { names, volumes } = worldOf(scene);
    expect(names).toEqual(role === 'measure' ? ['web'] : []);
    expect(Object.keys(volumes).map((name) => name.replace(/-[0-9a-f]{16}$/, ''))).toEqual(
      role === 'measure' ? ['kept'] : ['kept', 'upkeep-data-web'],
    );
    expect(await tagsOf(scene)).toEqual([]);
    const again = scene.startProcess();
    await scene.clock.run(() => recoverTransactions(again.outside, settings));
    expect(again.connection.calls).toEqual([]);
  });

  test('stays as long as it copies, and is told', async () => {
    const scene = await leaveHelper('restore');
    // The recovery waits before it removes anything, and the helper is started again meanwhile.
    const life = scene.startProcess();
    const recovering = scene.clock.run(() => recoverTransactions(life.outside, settings));
    const restarted = scene.clock.run(async () => {
      await scene.clock.sleep(1900);
      scene.sandbox.control.startContainer('web.upkeep-restore');
    });
    const [{ transactions }] = await Promise.all([recovering, restarted]);
    expect(transactions).toMatchObject([
      {
        containers: ['web.upkeep-restore'],
        result: 'left',
        isPending: true,
        reason: expect.stringMatching(/^repair pending: /),
      },
    ]);
    expect(worldOf(scene).names).toEqual(['web.upkeep-restore']);
    await minute(scene);
    expect(await recover(scene)).toMatchObject({ transactions: [] });
    expect(worldOf(scene).names).toEqual([]);
  });

  test('is told and left, if only its labels claim it', async () => {
    const scene = await leaveHelper('measure');
    const { control, engine } = scene.sandbox;
    const labels = (await engine.inspectContainer('web.upkeep-measure'))?.settings.Config.Labels ?? {};
    control.removeContainer('web.upkeep-measure');
    control.addContainer('web.upkeep-save', { Image: 'upkeep-tools:1', Labels: labels });
    expect(await recover(scene)).toMatchObject({
      transactions: [{ containers: ['web.upkeep-save'], result: 'left', looksAlike: true }],
    });
    expect(worldOf(scene).names).toEqual(['web', 'web.upkeep-save']);
    expect(await tagsOf(scene)).toEqual([]);
  });
});
