import type { Engine } from '../../domain/outside/outside.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import { describe, expect, test } from 'vitest';
import {
  createSandboxScene,
  type SandboxProcess,
  type SandboxScene,
} from '../../../test/support/scene/sandbox-outside.ts';
import { writeJournal } from '../../domain/transaction/journal.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { beingRepaired, unfinishedUpdates } from '../../domain/recovery/leftovers.ts';
import { containerSummary, idOf } from '../../../test/support/scene/builders.ts';
import { createApplication } from '../create-application.ts';

const settings = { ...defaultSettings, healthWindowMs: 1000 };
const everything = { images: [], containers: [] } as const;

/** `vpn` is stale; `quiet` beside it is not. */
async function setScene(): Promise<SandboxScene> {
  const scene = createSandboxScene();
  const { control, engine } = scene.sandbox;
  for (const name of ['vpn', 'quiet']) {
    scene.registry.store.publish(`${name}:3`, { version: '1' });
    await engine.pullImage({ reference: `${name}:3` });
    control.runContainer(name, { Image: `${name}:3`, HostConfig: { RestartPolicy: { Name: 'always' } } });
  }
  scene.registry.store.publish('vpn:3', { version: '2' });
  return scene;
}

/** Stops an update of `vpn` before a rename or a start, for as long as `act` takes; `ends: 'dead'` kills it there. */
async function during(
  scene: SandboxScene,
  stage: (name: string) => boolean,
  act: (other: SandboxProcess) => Promise<unknown>,
  ends: 'alive' | 'dead' | 'strange' = 'alive',
): Promise<void> {
  const first = scene.startProcess();
  let isDone = false;
  let failure: unknown;
  const pause = async (name: string) => {
    if (isDone || !stage(name)) return;
    isDone = true;
    if (ends === 'dead') first.connection.crash();
    // An error here stands for an error of the engine.
    await act(scene.startProcess()).catch((error: unknown) => (failure = error));
  };
  const { engine } = first.outside;
  const held: Engine = {
    ...engine,
    renameContainer: async (id, name) => (await pause(name), engine.renameContainer(id, name)),
    startContainer: async (id) => (await pause('start'), engine.startContainer(id)),
  };
  const instance = ends === 'strange' ? { ...first.outside.instance, owner: 'nobody knows' } : first.outside.instance;
  const application = createApplication({ ...first.outside, instance, engine: held }, settings);
  await scene.clock
    .run(() => application.update({ trigger: 'command', ...everything }))
    .catch((error: unknown) => {
      if (ends === 'alive') throw error;
    });
  expect(isDone).toBe(true);
  expect(failure).toBeUndefined();
}

const stages: Readonly<Record<string, (name: string) => boolean>> = {
  'before the old one is parked': (name) => name.includes('.upkeep-old-'),
  'before the new one has the name': (name) => name === 'vpn',
  'before the new one is started': (name) => name === 'start',
  'before the commit': (name) => name.includes('.upkeep-drop-'),
};

describe.each(Object.entries(stages))('an update by another instance, %s', (_title, stage) => {
  test.each([{ containers: [] }, { containers: ['vpn'] }])('stays in the summary of a run about %o', async (about) => {
    const scene = await setScene();
    await during(scene, stage, async ({ outside }) => {
      const application = createApplication(outside, settings);
      const { containers } = await application.update({ trigger: 'command', images: [], ...about });
      const vpn = containers.filter(({ name }) => name === 'vpn');
      expect(vpn).toMatchObject([
        { image: 'vpn:3', outcome: 'deferred', reason: 'another update of "vpn" is in progress' },
      ]);
      if (about.containers.length === 0)
        expect(containers.map(({ name }) => name).toSorted()).toEqual(['quiet', 'vpn']);
      const report = await application.check({ ...everything, ...about });
      expect(report.unmatched).toEqual([]);
      const isParked = report.unfinished.length > 0;
      if (isParked) expect(report.unfinished).toMatchObject([{ name: 'vpn', image: 'vpn:3', state: 'in progress' }]);
      else expect(report.containers.map(({ name }) => name)).toContain('vpn');
    });
    expect((await scene.sandbox.engine.inspectContainer('vpn'))?.state.status).toBe('running');
  });

  test.each(['dead', 'strange'] as const)('whose owner is %s leaves a repair pending', async (ends) => {
    const scene = await setScene();
    await during(
      scene,
      stage,
      async ({ outside }) => {
        const application = createApplication(outside, settings);
        const { unfinished } = await application.check(everything);
        expect(unfinished).toMatchObject([{ name: 'vpn', image: 'vpn:3', state: 'repair pending' }]);
        const follow = new AbortController();
        await application.follow(follow.signal);
        expect(application.inventory().unfinished).toMatchObject([{ name: 'vpn', state: 'repair pending' }]);
        await application.close();
      },
      ends,
    );
    const { outside } = scene.startProcess();
    if (ends === 'dead') {
      const application = createApplication(outside, settings);
      await scene.clock.run(() => application.recover());
      expect((await application.check(everything)).unfinished).toEqual([]);
    }
  });
});

describe('no update is told of', () => {
  test('for a name alone', async () => {
    const scene = await setScene();
    for (const name of ['web.upkeep-old-u', 'quiet.upkeep-new', 'job.upkeep-drop-n'])
      scene.sandbox.control.addContainer(name, { Image: 'quiet:3' });
    const report = await createApplication(scene.startProcess().outside, settings).check(everything);
    expect(report.unfinished).toEqual([]);
  });

  test('for containers that only act as one beside the container that has the name', async () => {
    const scene = await setScene();
    const { control } = scene.sandbox;
    const old = control.addContainer('quiet.upkeep-old-u', { Image: 'quiet:3' });
    const policy = { Name: 'unless-stopped', MaximumRetryCount: 0 };
    const images = { oldImageId: '', oldDigest: '', taggedBefore: '', newImageId: '', reference: 'quiet:3' };
    const Labels = writeJournal({
      transaction: 'forged',
      name: 'quiet',
      oldId: old,
      role: 'successor',
      autoRemoves: false,
      wasRunning: true,
      ...images,
      policy,
      desiredEndState: 'running',
      keepMs: 0,
      owner: '',
      ownerContainer: '',
      members: [{ name: 'quiet', oldId: old }],
    });
    control.addContainer('quiet.upkeep-new', { Image: 'quiet:3', Labels });
    const report = await createApplication(scene.startProcess().outside, settings).check(everything);
    expect(report.unfinished).toEqual([]);
    expect(report.containers.map(({ name }) => name)).toContain('quiet');
  });

  test('for a container that is not watched', async () => {
    const scene = await setScene();
    await during(
      scene,
      stages['before the new one is started']!,
      async ({ outside }) => {
        const others = createApplication(outside, { ...settings, disableContainers: ['vpn'] });
        expect((await others.check(everything)).unfinished).toEqual([]);
      },
      'dead',
    );
  });
});

describe('a container that a rollback has given its name back, and that does not run', () => {
  const oldId = idOf('old');
  const carrier = (status: ContainerSummary['status']) =>
    containerSummary('web.upkeep-bad', {
      status,
      labels: writeJournal({
        transaction: 't',
        name: 'web',
        oldId,
        role: 'successor',
        autoRemoves: false,
        wasRunning: true,
        ...{ oldImageId: '', oldDigest: '', taggedBefore: '', newImageId: '', reference: 'web:3' },
        policy: { Name: 'no', MaximumRetryCount: 0 },
        desiredEndState: 'running',
        keepMs: 0,
        owner: 'someone',
        ownerContainer: '',
        members: [{ name: 'web', oldId }],
      }),
    });
  const told = (old: ContainerSummary['status'], owner: 'alive' | 'dead', repairs: readonly string[] = []) =>
    unfinishedUpdates(
      [containerSummary('web', { id: oldId, status: old }), carrier('created')],
      { ownerState: () => owner, containerId: undefined, transactions: new Set(repairs) },
      [],
    );

  test.each([
    ['of an update that nobody works on', 'exited', 'dead', [], { state: 'repair pending', isDown: true }],
    ['that another process rolls back', 'exited', 'alive', [], { state: 'in progress' }],
    ['that is being repaired', 'exited', 'dead', ['t'], { state: 'in progress', reason: beingRepaired('web') }],
    ['that is being repaired, and died', 'dead', 'dead', ['t'], { state: 'in progress' }],
  ] as const)('%s is told, as a container that ran', (_, old, owner, repairs, expected) => {
    expect(told(old, owner, repairs)).toMatchObject([{ name: 'web', container: { status: 'running' }, ...expected }]);
  });

  test('is watched as before once it runs again', () => {
    expect(told('running', 'alive')).toEqual([]);
    expect(told('running', 'dead', ['t'])).toEqual([]);
  });
});
