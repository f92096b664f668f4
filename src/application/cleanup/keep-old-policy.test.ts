import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';

const settings: ServiceSettings = {
  ...defaultSettings,
  healthWindowMs: 1000,
  stopTimeoutMs: 1000,
  keepOldMs: 3_600_000,
};

describe('with --keep-old, the restart policy that a person sets after an update', () => {
  test('stays at the next start', async () => {
    const scene = await updatedScene();
    await setPolicy(scene, 'no');
    await as(scene, (application) => application.recover());
    expect(webOf(scene)).toMatchObject({ running: true, settings: policy('no') });
  });

  test('stays at the next start, and so does the stop that came after it', async () => {
    const scene = await updatedScene();
    await setPolicy(scene, 'no');
    await scene.clock.run(() => scene.sandbox.engine.stopContainer(webOf(scene)?.id ?? '', { timeoutSeconds: 1 }));
    await as(scene, (application) => application.recover());
    expect(webOf(scene)).toMatchObject({ running: false, settings: policy('no') });
  });

  test.each(['no', 'always'])('is that of the container that a rollback brings back: %s', async (name) => {
    const scene = await updatedScene();
    await setPolicy(scene, name);
    await as(scene, (application) => application.rollBack(['web']));
    expect(webOf(scene)).toMatchObject({ running: true, settings: policy(name) });
  });

  test('stays where nothing was kept, too', async () => {
    const scene = await updatedScene();
    await setPolicy(scene, 'always');
    await as(scene, (application) => application.recover());
    expect(webOf(scene)).toMatchObject({ running: true, settings: policy('always') });
  });
});

/** `web` has been updated, and its old container is kept. */
async function updatedScene(): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish('web:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'web:1' });
  scene.sandbox.control.runContainer('web', { Image: 'web:1', ...policy('unless-stopped') });
  scene.registry.store.publish('web:1', { version: '2' });
  const { containers } = await as(scene, runAll);
  expect(containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
  return scene;
}

type Work<Result> = (application: Application) => Promise<Result>;

/** Runs one action in a new process of the service, which ends afterwards. */
async function as<Result>(scene: SandboxScene, work: Work<Result>): Promise<Result> {
  const { outside, connection } = scene.startProcess();
  try {
    return await scene.clock.run(() => work(createApplication(outside, settings)));
  } finally {
    connection.crash();
  }
}

function runAll(application: Application) {
  return application.update({ trigger: 'command', images: [], containers: [] });
}

/** `docker update --restart`. */
async function setPolicy(scene: SandboxScene, Name: string): Promise<void> {
  const id = webOf(scene)?.id ?? '';
  await scene.clock.run(() => scene.sandbox.engine.updateRestartPolicy(id, { Name, MaximumRetryCount: 0 }));
}

function policy(Name: string) {
  return { HostConfig: { RestartPolicy: { Name, MaximumRetryCount: 0 } } };
}

function webOf({ sandbox }: SandboxScene) {
  return Object.values(sandbox.control.snapshot().containers).find(({ name }) => name === 'web');
}
