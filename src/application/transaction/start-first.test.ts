import { expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

async function update(next: Behaviour, HostConfig: object = {}) {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const oldId = scene.sandbox.control.runContainer('web', { Image: 'app:1', HostConfig });
  scene.registry.store.publish('app:1', { version: '2', behaviour: next });
  const { outside, connection } = scene.startProcess();
  const application = createApplication(outside, { ...defaultSettings, startFirst: true });
  const request = { trigger: 'command', images: [], containers: [] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  const order = connection.calls.map(({ kind }) => kind).filter((kind) => /^(?:start|stop)Container$/.test(kind));
  const web = scene.sandbox.control.snapshot().containers['web'];
  return { outcome: containers[0], order, isOld: web?.id === oldId, isRunning: web?.running };
}

test('with start-first the old container is stopped when the new one has passed its health check', async () => {
  expect(await update({})).toMatchObject({
    outcome: { outcome: 'updated', downtimeMs: 0 },
    order: ['startContainer', 'stopContainer'],
    isOld: false,
    isRunning: true,
  });
});

test('a version that fails has never interrupted the old one', async () => {
  expect(await update({ exitsAfterMs: 500, exitCode: 3 })).toMatchObject({
    outcome: { outcome: 'rolled_back', reason: expect.stringContaining('exited with code 3') },
    order: ['startContainer'],
    isOld: true,
    isRunning: true,
  });
});

test('what cannot run twice is stopped first', async () => {
  const fixedPort = { PortBindings: { '80/tcp': [{ HostPort: '8080' }] } };
  const { outcome, order } = await update({}, fixedPort);
  expect([outcome?.outcome, ...order]).toEqual(['updated', 'stopContainer', 'startContainer']);
});
