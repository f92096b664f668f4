import { expect, onTestFinished, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { createSandboxScene } from '../../../../test/support/scene/sandbox-outside.ts';
import { createApplication } from '../../../application/create-application.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { defaultSettings } from '../../../domain/settings/effective-settings.ts';
import { logStart } from './run.ts';

async function bannerOf(follows: boolean) {
  const sandbox = createSandboxScene();
  sandbox.registry.store.publish('web:1', { version: '1' });
  await sandbox.sandbox.engine.pullImage({ reference: 'web:1' });
  sandbox.sandbox.control.runContainer('web', { Image: 'web:1' });
  sandbox.sandbox.control.runContainer('db', { Image: 'web:1', Labels: { 'upkeep.enable': 'false' } });
  const { outside } = sandbox.startProcess();
  const application = createApplication(outside, defaultSettings);
  onTestFinished(() => application.close());
  if (follows) await application.follow();
  const scene = createCommandScene(['run']);
  const about = { version: '1.2.3', engine: outside.engine.info };
  await logStart({ ...scene.context, application, about });
  return scene.logged.map(([level, message]) => `${level} ${message}`);
}

test('logStart() names version, engine and containers, a line each', async () => {
  expect(await bannerOf(false)).toEqual([
    expect.stringMatching(/^info Upkeep 1\.2\.3 with (?:Docker|Podman) \d\S*$/),
    'info 2 containers on the engine',
  ]);
});

test('logStart() says how many are watched where that is known already', async () => {
  expect((await bannerOf(true)).at(-1)).toBe('info 1 container watched, 1 not watched');
});

test('logStart() names each engine of several, and says which is away', async () => {
  const scene = createCommandScene(['run']);
  const state = {
    address: '',
    sinceMs: 0,
    lastRunAtMs: undefined,
    error: undefined,
    containers: 0,
    updatesAvailable: 0,
  };
  const engines = () => [
    { ...state, name: 'nas', kind: 'docker' as const, version: '27.3.1', reachable: true },
    { ...state, name: 'pi', kind: 'podman' as const, version: '4.9.4', reachable: true },
    { ...state, name: 'vps', kind: 'docker' as const, version: '27.3.1', reachable: false },
    { ...state, name: 'new', kind: undefined, version: undefined, reachable: true },
  ];
  const { outside } = createSandboxScene().startProcess();
  const application = { ...createApplication(outside, defaultSettings), engines };
  onTestFinished(() => application.close());
  await logStart({ ...scene.context, application, about: { version: '1.2.3', engine: outside.engine.info } });
  expect(scene.logged[0]?.[1]).toBe(
    'Upkeep 1.2.3 with 4 engines: nas (Docker 27.3.1), pi (Podman 4.9.4), vps (unreachable), new',
  );
});

test('logStart() keeps silent about an engine that does not answer', async () => {
  const scene = createCommandScene(['run']);
  const engine = () => Promise.reject(new ServiceError('engine-unreachable', 'Cannot reach the engine'));
  await logStart({ ...scene.context, about: { version: '1', engine } });
  expect(scene.logged.map(([level]) => level)).toEqual(['debug']);
});
