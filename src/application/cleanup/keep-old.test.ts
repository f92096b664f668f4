import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { parseKeptName } from '../../domain/transaction/transaction-names.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';

const hourMs = 3_600_000;
const settings: ServiceSettings = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000, keepOldMs: hourMs };
const HostConfig = { RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 }, Binds: ['kept:/data'] };

type Scene = { readonly scene: SandboxScene; readonly id: string };

/** `web` runs version 1, and version 2 is published. */
async function staleScene(body: object = { HostConfig }, next: Behaviour = {}, first: Behaviour = {}): Promise<Scene> {
  const scene = createSandboxScene();
  scene.registry.store.publish('web:1', { version: '1', behaviour: first });
  await scene.sandbox.engine.pullImage({ reference: 'web:1' });
  const id = scene.sandbox.control.runContainer('web', { Image: 'web:1', ...body });
  scene.registry.store.publish('web:1', { version: '2', behaviour: next });
  return { scene, id };
}

type Work<Result> = (application: Application, outside: Outside) => Promise<Result>;

/** Runs one action in a new process of the service, which ends afterwards. */
async function as<Result>(
  { clock, sandbox, startProcess }: SandboxScene,
  work: Work<Result>,
  { faults = [], chosen = settings }: { faults?: readonly PlannedFault[]; chosen?: ServiceSettings } = {},
): Promise<Result> {
  const process = startProcess(sandbox.connect({ faults }));
  try {
    return await clock.run(() => work(createApplication(process.outside, chosen), process.outside));
  } finally {
    process.connection.crash();
  }
}

const update = (scene: SandboxScene, chosen: ServiceSettings = settings) =>
  as(scene, (application) => application.update({ trigger: 'command', images: [], containers: [] }), { chosen });
const rollBack = (scene: SandboxScene, faults: readonly PlannedFault[] = []) =>
  as(scene, (application) => application.rollBack(['web']), { faults });

const containersOf = ({ sandbox }: SandboxScene) => Object.values(sandbox.control.snapshot().containers);
const keptOf = (scene: SandboxScene) => containersOf(scene).filter(({ name }) => parseKeptName(name) !== undefined);
const webOf = (scene: SandboxScene) => containersOf(scene).find(({ name }) => name === 'web');
const policyOf = (container: ReturnType<typeof webOf>) => container?.settings.HostConfig.RestartPolicy?.Name;

describe('--keep-old', () => {
  test('keeps what was replaced: stopped, without a policy, its time in its name', async () => {
    const { scene, id } = await staleScene();
    const { containers } = await update(scene);
    expect(containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
    const [kept, ...others] = keptOf(scene);
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ id, running: false });
    expect(policyOf(kept)).toBe('no');
    const { untilMs = 0, ...name } = parseKeptName(kept?.name ?? '') ?? {};
    expect(name).toMatchObject({ name: 'web', policy: { Name: 'unless-stopped' }, wasRunning: true });
    expect(untilMs - scene.clock.nowMs()).toBeGreaterThan(hourMs - 60_000);
    expect(policyOf(webOf(scene))).toBe('unless-stopped');
    expect(webOf(scene)).toMatchObject({ running: true });
  });

  test('leaves nothing to repair, to watch or to update', async () => {
    const { scene } = await staleScene();
    await update(scene);
    const before = containersOf(scene).map(({ name }) => name);
    const report = await as(scene, (application) => application.recover());
    expect(report.transactions).toEqual([]);
    const all = { ...settings, includeStopped: true };
    const again = await update(scene, all);
    expect(again.containers).toMatchObject([{ name: 'web', outcome: 'fresh' }]);
    await as(
      scene,
      async (application) => {
        await application.follow();
        expect(application.inventory().containers.map(({ name }) => name)).toEqual(['web']);
        await application.close();
      },
      { chosen: all },
    );
    expect(containersOf(scene).map(({ name }) => name)).toEqual(before);
  });

  test('goes when its time is over, with keep-old off too, and its image with --cleanup', async () => {
    const { scene } = await staleScene();
    const chosen = { ...settings, keepOldMs: 0, cleanup: true };
    await update(scene, { ...settings, cleanup: true });
    const images = scene.sandbox.control.snapshot().imageIds.length;
    await scene.clock.sleep(hourMs - 60_000);
    await update(scene, chosen);
    expect(keptOf(scene)).toHaveLength(1);
    await scene.clock.sleep(61_000);
    await update(scene, chosen);
    expect(keptOf(scene)).toEqual([]);
    expect(scene.sandbox.control.snapshot().imageIds).toHaveLength(images - 1);
    expect(webOf(scene)).toMatchObject({ running: true });
  });

  test('goes at the next start, too', async () => {
    const { scene } = await staleScene();
    await update(scene);
    await scene.clock.sleep(hourMs + 1000);
    await as(scene, (application) => application.recover());
    expect(keptOf(scene)).toEqual([]);
  });

  test('makes room for the next one, which goes by its label', async () => {
    const { scene } = await staleScene({ HostConfig, Labels: { 'upkeep.keep-old': '2h' } });
    await update(scene);
    const second = webOf(scene)?.id;
    scene.registry.store.publish('web:1', { version: '3' });
    await update(scene, { ...settings, keepOldMs: 0 });
    expect(keptOf(scene)).toMatchObject([{ id: second }]);
  });

  test('stays while a version that fails goes back, and what a person has started stays theirs', async () => {
    const { scene, id } = await staleScene();
    await update(scene);
    scene.registry.store.publish('web:1', { version: '3', behaviour: { exitsAfterMs: 1, exitCode: 3 } });
    expect((await update(scene)).containers).toMatchObject([{ outcome: 'rolled_back' }]);
    expect(keptOf(scene)).toMatchObject([{ id }]);
    await scene.sandbox.engine.startContainer(id);
    await scene.clock.sleep(2 * hourMs);
    await update(scene);
    expect(keptOf(scene)).toMatchObject([{ id, running: true }]);
  });

  test.each([
    ['a container with --rm', { HostConfig: { AutoRemove: true } }, { updateAutoRemove: true }],
    ['what is to lose its volumes', { HostConfig, Volumes: { '/cache': {} } }, { removeVolumes: true }],
  ])('does not keep %s', async (_, body, more) => {
    const { scene } = await staleScene(body);
    expect((await update(scene, { ...settings, ...more })).containers).toMatchObject([{ outcome: 'updated' }]);
    expect(containersOf(scene).map(({ name }) => name)).toEqual(['web']);
  });

  test('does not keep what moves together with others', async () => {
    const { scene } = await staleScene();
    scene.sandbox.control.runContainer('app', { Image: 'web:1', HostConfig: { NetworkMode: 'container:web' } });
    await update(scene);
    expect(containersOf(scene).map(({ name }) => name)).toEqual(expect.arrayContaining(['app', 'web']));
    expect(keptOf(scene)).toEqual([]);
  });

  test('keeps what was stopped only after the health check of its successor', async () => {
    const { scene, id } = await staleScene({ Labels: { 'upkeep.start-first': 'true' } });
    await update(scene);
    expect(keptOf(scene)).toMatchObject([{ id, running: false }]);
    expect(webOf(scene)).toMatchObject({ running: true });
  });
});

describe('a rollback to what was kept', () => {
  test('starts the very container that ran before, with its policy, and leaves nothing else', async () => {
    const { scene, id } = await staleScene();
    await update(scene);
    const { containers } = await rollBack(scene);
    expect(containers).toMatchObject([
      { name: 'web', outcome: 'went_back', reason: 'back to the kept container from before its last update' },
    ]);
    expect(containersOf(scene)).toMatchObject([{ id, name: 'web', running: true }]);
    expect(policyOf(webOf(scene))).toBe('unless-stopped');
    // The abandoned version is not applied again on its own.
    expect((await update(scene)).containers).toMatchObject([{ outcome: 'skipped' }]);
  });

  test('recreates it where nothing is kept any more', async () => {
    const { scene, id } = await staleScene();
    await update(scene);
    await scene.clock.sleep(hourMs);
    const { containers } = await rollBack(scene);
    expect(containers).toMatchObject([
      { outcome: 'went_back', reason: 'back to the image from before its last update' },
    ]);
    expect(webOf(scene)?.id).not.toBe(id);
    expect(webOf(scene)).toMatchObject({ running: true });
  });

  test('says so when what is back does not stay up', async () => {
    const { scene } = await staleScene(undefined, {}, { exitsAfterMs: 20_000, exitCode: 6 });
    await update(scene);
    const { containers } = await as(scene, (application) => application.rollBack(['web']), {
      chosen: { ...settings, healthWindowMs: 60_000 },
    });
    const reason = 'the old container is back, but it was restarted';
    expect(containers).toMatchObject([{ outcome: 'failed', reason }]);
  });

  const faults = ['before', 'during', 'after'] as const;
  test.each(faults)(
    'killed %s any call ends with one container that runs, old or new, and nothing lost',
    async (when) => {
      const clean = await staleScene();
      await update(clean.scene);
      const { connection, outside } = clean.scene.startProcess();
      await clean.scene.clock.run(() => createApplication(outside, settings).rollBack(['web']));
      const calls = connection.calls.length;
      expect(calls).toBeGreaterThan(8);
      const ends = new Set<string>();
      for (let at = 1; at <= calls; at += 1) {
        const { scene, id } = await staleScene();
        await update(scene);
        const newer = webOf(scene)?.id;
        await rollBack(scene, [{ at, fault: { kind: 'crash', when } }]).catch(() => undefined);
        for (const _ of [1, 2]) await as(scene, (application) => application.recover());
        const web = webOf(scene);
        const where = `${when} call ${at}`;
        expect([web?.running, policyOf(web)], where).toEqual([true, 'unless-stopped']);
        expect([id, newer], where).toContain(web?.id);
        const rest = containersOf(scene).filter((container) => container !== web && container.name !== 'web');
        expect(
          rest.map((container) => container.id),
          where,
        ).toEqual(web?.id === id ? [] : [id]);
        expect(
          keptOf(scene).map(({ running }) => running),
          where,
        ).toEqual(web?.id === id ? [] : [false]);
        ends.add(web?.id === id ? 'old' : 'new');
      }
      expect([...ends].toSorted()).toEqual(['new', 'old']);
    },
  );

  test.each(['power-cut', 'crash', 'graceful'] as const)(
    '%s of the engine at any call: after the next start one of the two runs, and the other never does',
    async (how) => {
      const always = { HostConfig: { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } } };
      const ends = new Set<string>();
      for (const when of faults) {
        for (let at = 1; at <= 10; at += 1) {
          const { scene, id } = await staleScene(always);
          await update(scene);
          await rollBack(scene, [{ at, fault: { kind: 'engine-restart', how, when } }]).catch(() => undefined);
          // The engine has to start first.
          await scene.clock.run(() => scene.clock.sleep(60_000));
          for (const _ of [1, 2]) await as(scene, (application) => application.recover());
          const web = webOf(scene);
          const running = containersOf(scene).filter((container) => container.running);
          expect([running.map(({ name }) => name), policyOf(web)], `${when} call ${at}`).toEqual([['web'], 'always']);
          expect(containersOf(scene).length, `${when} call ${at}`).toBe(web?.id === id ? 1 : 2);
          ends.add(web?.id === id ? 'old' : 'new');
        }
      }
      expect(ends).toContain('old');
    },
  );
});
