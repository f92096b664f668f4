import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { ImageConfig } from '../../domain/container/container.ts';
import type { Session } from '../../domain/run/session.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

/** Effects of options and labels on an update, in the sandbox engine. */

const health = { Healthcheck: { Test: ['CMD', 'true'], Interval: 1_000_000_000, Retries: 1 } };

/** A container whose image has a newer release. */
async function stale(scene: SandboxScene, name: string, body: object = {}, next: Behaviour = {}): Promise<string> {
  const id = await fresh(scene, name, body);
  scene.registry.store.publish(`${name}:1`, { version: '2', behaviour: next });
  return id;
}

async function fresh(scene: SandboxScene, name: string, body: object = {}, config: ImageConfig = {}): Promise<string> {
  scene.registry.store.publish(`${name}:1`, { version: '1', config });
  await scene.sandbox.engine.pullImage({ reference: `${name}:1` });
  return scene.sandbox.control.runContainer(name, { Image: `${name}:1`, ...body });
}

const compose = (service: string, dependsOn = '') => ({
  Labels: {
    'com.docker.compose.project': 'shop',
    'com.docker.compose.service': service,
    'com.docker.compose.depends_on': dependsOn,
  },
});

async function update(scene: SandboxScene, settings: Partial<ServiceSettings> = {}): Promise<Session> {
  const { outside } = scene.startProcess();
  const application = createApplication(outside, { ...defaultSettings, healthWindowMs: 1000, ...settings });
  return application.update({ trigger: 'command', images: [], containers: [] });
}

const outcomes = ({ containers }: Session) =>
  Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]));
const reasonFor = ({ containers }: Session, name: string) => containers.find((one) => one.name === name)?.reason;
const inspect = async (scene: SandboxScene, name: string) => (await scene.sandbox.engine.inspectContainer(name))!;

describe('an update with no-restart', () => {
  test('leaves the successor created and never started, with name and policy; the old one is gone', async () => {
    const scene = createSandboxScene();
    const HostConfig = { RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 } };
    const old = await stale(scene, 'web', { HostConfig });
    const session = await update(scene, { noRestart: true });
    expect(outcomes(session)).toEqual({ web: 'updated' });
    expect(reasonFor(session, 'web')).toBe('created and left stopped, as no-restart asks: it has not been proven');
    const web = await inspect(scene, 'web');
    expect(web).toMatchObject({ state: { status: 'created', startedAt: '' }, settings: { HostConfig } });
    expect(await scene.sandbox.engine.inspectContainer(old)).toBeUndefined();
    expect(await scene.sandbox.engine.listContainers()).toHaveLength(1);
  });

  test('changes nothing when the successor cannot be created', async () => {
    const scene = createSandboxScene();
    const old = await stale(scene, 'web');
    const { outside, connection } = scene.startProcess();
    connection.plan({ at: 'createContainer', fault: { kind: 'refuse', status: 500 }, every: true });
    const application = createApplication(outside, { ...defaultSettings, noRestart: true });
    const session = await application.update({ trigger: 'command', images: [], containers: [] });
    expect(outcomes(session)).toEqual({ web: 'failed' });
    expect(await inspect(scene, 'web')).toMatchObject({ id: old, state: { status: 'running' } });
  });
});

describe('an update of what is stopped', () => {
  const stopped = async (scene: SandboxScene, next: Behaviour = {}, body: object = {}) => {
    const id = await stale(scene, 'web', body, next);
    await scene.sandbox.engine.stopContainer(id, {});
    return id;
  };

  test('leaves it stopped with include-stopped, starts it with revive-stopped, and does neither without', async () => {
    const scene = createSandboxScene();
    await stopped(scene);
    expect(outcomes(await update(scene, { reviveStopped: true }))).toEqual({});
    expect(outcomes(await update(scene, { includeStopped: true }))).toEqual({ web: 'updated' });
    expect((await inspect(scene, 'web')).state.status).toBe('created');
    scene.registry.store.publish('web:1', { version: '3' });
    expect(outcomes(await update(scene, { includeStopped: true, reviveStopped: true }))).toEqual({ web: 'updated' });
    expect((await inspect(scene, 'web')).state.status).toBe('running');
  });

  test('that is revived to a bad version gives the old one back, stopped', async () => {
    const scene = createSandboxScene();
    const old = await stopped(scene, { exitsAfterMs: 10, exitCode: 3 });
    const session = await update(scene, { includeStopped: true, reviveStopped: true });
    expect(session.containers[0]).toMatchObject({ outcome: expect.stringMatching(/failed|rolled_back/) });
    expect(await inspect(scene, 'web')).toMatchObject({ id: old, state: { status: 'exited' } });
  });

  test.each([
    [0, 'updated', 'updated'],
    [3, 'failed', 'skipped'],
  ])(
    'that is a job others wait for runs it to its end: code %i, then %s, and who waits is %s',
    async (exitCode, job, web) => {
      const scene = createSandboxScene();
      const migrate = await stale(scene, 'migrate', compose('migrate'), { exitsAfterMs: 60_000, exitCode });
      await scene.sandbox.engine.stopContainer(migrate, {});
      await stale(scene, 'web', compose('web', 'migrate:service_completed_successfully:false'));
      const session = await update(scene, { includeStopped: true, reviveStopped: true });
      const got = outcomes(session);
      expect([got['migrate']?.replace('rolled_back', 'failed'), got['web']]).toEqual([job, web]);
      expect((await inspect(scene, 'migrate')).state).toMatchObject(
        exitCode === 0 ? { status: 'exited', exitCode: 0 } : { status: 'exited' },
      );
      expect(await scene.sandbox.engine.listContainers()).toHaveLength(2);
    },
  );
});

describe('an update with rolling-restart', () => {
  test('stops no container before the one before it has been proven', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb', 'cc']) await stale(scene, name);
    const { outside, connection } = scene.startProcess();
    const settings = { ...defaultSettings, healthWindowMs: 1000, rollingRestart: true };
    await createApplication(outside, settings).update({ trigger: 'command', images: [], containers: [] });
    const ends = connection.calls.filter(({ kind, target }) => kind === 'stopContainer' || target.includes('-drop-'));
    const told = connection.calls
      .filter((call) => ends.includes(call) || call.kind === 'removeContainer')
      .map(({ kind, target }) => `${kind === 'stopContainer' ? 'stop' : 'remove'} ${target.slice(0, 2)}`);
    expect(told).toEqual(['stop aa', 'remove aa', 'stop bb', 'remove bb', 'stop cc', 'remove cc']);
  });
});

describe('an update and compose', () => {
  test('restarts who says restart: true of what was updated, and nobody else', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'db', compose('db'));
    const web = await fresh(scene, 'web', compose('web', 'db:service_started:true'));
    const other = await fresh(scene, 'other', compose('other', 'db:service_started:false'));
    const before = (await inspect(scene, 'other')).state.startedAt;
    const session = await update(scene);
    expect(outcomes(session)).toEqual({ db: 'updated', web: 'restarted', other: 'fresh' });
    expect(reasonFor(session, 'web')).toBe('restarted after the update of "db"');
    const [db, after] = [await inspect(scene, 'db'), await inspect(scene, 'web')];
    expect(after.id).toBe(web);
    expect(after.state.startedAt > db.state.startedAt).toBe(true);
    expect(await inspect(scene, 'other')).toMatchObject({ id: other, state: { startedAt: before } });
  });

  test('restarts one that is never healthy without waiting for that', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'db', compose('db'));
    scene.registry.store.publish('web:1', { behaviour: { health: { kind: 'unhealthy' } }, config: health });
    await scene.sandbox.engine.pullImage({ reference: 'web:1' });
    scene.sandbox.control.runContainer('web', { Image: 'web:1', ...compose('web', 'db:service_started:true') });
    await scene.clock.run(() => scene.clock.sleep(2000));
    expect(outcomes(await update(scene))).toEqual({ db: 'updated', web: 'restarted' });
  });

  test('lets the dependent of an unhealthy container follow, if its HEALTHCHECK is to be ignored', async () => {
    const scene = createSandboxScene();
    const { Labels } = compose('db');
    scene.registry.store.publish('db:1', { behaviour: { health: { kind: 'unhealthy' } }, config: health });
    await scene.sandbox.engine.pullImage({ reference: 'db:1' });
    const Image = 'db:1';
    scene.sandbox.control.runContainer('db', { Image, Labels: { ...Labels, 'upkeep.health': 'ignore' } });
    await stale(scene, 'web', compose('web', 'db:service_healthy:false'));
    await scene.clock.run(() => scene.clock.sleep(2000));
    expect(outcomes(await update(scene))).toEqual({ db: 'fresh', web: 'updated' });
  });

  test('restarts nobody for an update that was rolled back', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'db', compose('db'), { exitsAfterMs: 10 });
    await fresh(scene, 'web', compose('web', 'db:service_started:true'));
    const { startedAt } = (await inspect(scene, 'web')).state;
    expect(outcomes(await update(scene))).toEqual({ db: 'rolled_back', web: 'fresh' });
    expect((await inspect(scene, 'web')).state.startedAt).toBe(startedAt);
  });

  test('a dependent that does not come up again after its restart is reported, and started once more', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'db', compose('db'));
    await fresh(scene, 'web', compose('web', 'db:service_started:true'));
    const { outside, connection } = scene.startProcess();
    connection.plan({ at: 'restartContainer', fault: { kind: 'refuse', status: 500, message: 'no' } });
    const settings = { ...defaultSettings, healthWindowMs: 1000 };
    const session = await createApplication(outside, settings).update({
      trigger: 'command',
      images: [],
      containers: [],
    });
    expect(outcomes(session)).toEqual({ db: 'updated', web: 'failed' });
    expect((await inspect(scene, 'web')).state.status).toBe('running');
  });

  test('a dependent that is not up right after its restart is started once more', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'db', compose('db'));
    await fresh(scene, 'web', compose('web', 'db:service_started:true'));
    const { outside, connection } = scene.startProcess();
    const die = () => scene.sandbox.control.stopContainer('web');
    connection.plan({ at: 'restartContainer', fault: { kind: 'third-party', when: 'after', act: die } });
    const settings = { ...defaultSettings, healthWindowMs: 1000 };
    const session = await createApplication(outside, settings).update({
      trigger: 'command',
      images: [],
      containers: [],
    });
    expect(outcomes(session)).toEqual({ db: 'updated', web: 'restarted' });
    expect((await inspect(scene, 'web')).state.status).toBe('running');
  });

  test.each(['lose-request', 'lose-answer'] as const)(
    'a restart with %s is a restart or a failure, and it runs',
    async (kind) => {
      const scene = createSandboxScene();
      await stale(scene, 'db', compose('db'));
      await fresh(scene, 'web', compose('web', 'db:service_started:true'));
      const { startedAt } = (await inspect(scene, 'web')).state;
      const { outside, connection } = scene.startProcess();
      connection.plan({ at: 'restartContainer', fault: { kind } });
      const settings = { ...defaultSettings, healthWindowMs: 1000 };
      const session = await createApplication(outside, settings).update({
        trigger: 'command',
        images: [],
        containers: [],
      });
      const { state } = await inspect(scene, 'web');
      expect(state.status).toBe('running');
      expect(outcomes(session)['web']).toBe(state.startedAt === startedAt ? 'failed' : 'restarted');
    },
  );

  test('what needs a healthy container is deferred while that is not', async () => {
    const scene = createSandboxScene();
    const db = await fresh(scene, 'db', compose('db'), health);
    const web = await stale(scene, 'web', compose('web', 'db:service_healthy:false'));
    await scene.sandbox.engine.stopContainer(db, {});
    const session = await update(scene);
    expect(outcomes(session)).toEqual({ web: 'deferred' });
    expect(reasonFor(session, 'web')).toBe('It depends on "db", which must be healthy and does not run');
    expect(await inspect(scene, 'web')).toMatchObject({ id: web, state: { status: 'running' } });
    await scene.sandbox.engine.startContainer(db);
    expect(outcomes(await update(scene))).toEqual({ db: 'fresh', web: 'updated' });
  });
});

describe('an update with remove-volumes', () => {
  const storing = { Volumes: { '/data': {}, '/own': {} }, HostConfig: { Binds: ['kept:/kept'] } };
  const volumes = (scene: SandboxScene) => Object.keys(scene.sandbox.control.snapshot().volumes).toSorted();
  const mounted = async (scene: SandboxScene, name: string) =>
    (await inspect(scene, name)).settings.Mounts.map(({ Name }) => String(Name)).toSorted();

  test('gives the successor fresh anonymous volumes, and removes the old ones; named ones stay', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', storing);
    const before = await mounted(scene, 'web');
    expect(outcomes(await update(scene, { removeVolumes: true }))).toEqual({ web: 'updated' });
    const after = await mounted(scene, 'web');
    expect(after.filter((name) => before.includes(name))).toEqual(['kept']);
    expect(after).toHaveLength(3);
    expect(volumes(scene)).toEqual(after);
  });

  test('without it they are taken over, and with it later are let go all the same', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', storing);
    const before = await mounted(scene, 'web');
    await update(scene);
    expect(await mounted(scene, 'web')).toEqual(before);
    scene.registry.store.publish('web:1', { version: '3' });
    await update(scene, { removeVolumes: true });
    const after = await mounted(scene, 'web');
    expect(after.filter((name) => before.includes(name))).toEqual(['kept']);
    expect(volumes(scene)).toEqual(after);
  });

  test('removes none of an update that failed, and none that another container uses, though it is stopped', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', storing, { exitsAfterMs: 10 });
    const before = await mounted(scene, 'web');
    expect(outcomes(await update(scene, { removeVolumes: true }))).toEqual({ web: 'rolled_back' });
    expect(await mounted(scene, 'web')).toEqual(before);
    expect(volumes(scene)).toEqual(expect.arrayContaining(before));
    const [shared = ''] = before;
    const Binds = [`${shared}:/shared`];
    const reader = await fresh(scene, 'reader', { HostConfig: { Binds } });
    await scene.sandbox.engine.stopContainer(reader, {});
    scene.registry.store.publish('web:1', { version: '3' });
    expect(outcomes(await update(scene, { removeVolumes: true }))['web']).toBe('updated');
    expect(volumes(scene)).toContain(shared);
  });

  test('leaves those of what is only re-created with another container', async () => {
    const scene = createSandboxScene();
    const vpn = await stale(scene, 'vpn', storing);
    await fresh(scene, 'app', { Volumes: { '/app': {} }, HostConfig: { NetworkMode: `container:${vpn}` } });
    const before = await mounted(scene, 'app');
    expect(outcomes(await update(scene, { removeVolumes: true }))).toEqual({ vpn: 'updated', app: 'restarted' });
    expect(await mounted(scene, 'app')).toEqual(before);
  });
});

test('what crashes over and over is replaced, also when it crashes at a bad moment', async () => {
  const scene = createSandboxScene({ version: '20.10' });
  const behaviour = { exitsAfterMs: 40, exitCode: 3 };
  scene.registry.store.publish('web:1', { version: '1', behaviour });
  await scene.sandbox.engine.pullImage({ reference: 'web:1' });
  const HostConfig = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } };
  const old = scene.sandbox.control.runContainer('web', { Image: 'web:1', HostConfig });
  scene.registry.store.publish('web:1', { version: '2' });
  for (const waitMs of [0, 10, 30, 60, 200]) {
    await scene.clock.advance(waitMs);
    const session = await update(scene, { includeRestarting: true });
    if (outcomes(session)['web'] === 'fresh') break;
    expect(outcomes(session)).toEqual({ web: 'updated' });
  }
  expect(await inspect(scene, 'web')).toMatchObject({ state: { status: 'running' }, settings: { HostConfig } });
  expect((await inspect(scene, 'web')).id).not.toBe(old);
  expect(await scene.sandbox.engine.listContainers()).toHaveLength(1);
});

test('a dependent that was restarted is left 4 s after the process was asked to end, and its reason says so', async () => {
  const scene = createSandboxScene();
  const { clock } = scene;
  await stale(scene, 'web', compose('web'));
  const { Labels } = compose('app', 'web:service_started:true');
  await fresh(scene, 'app', { Labels: { ...Labels, 'upkeep.health-window': '10m' } });
  const ending = new AbortController();
  const { outside } = scene.startProcess();
  const settings = { ...defaultSettings, healthWindowMs: 1000 };
  const application = createApplication({ ...outside, ending: ending.signal }, settings);
  let askedAtMs = 0;
  void clock.sleep(60_000).then(() => {
    askedAtMs = clock.monotonicMs();
    ending.abort();
  });
  const session = await application.update({ trigger: 'command', images: [], containers: [] }, ending.signal);
  expect(clock.monotonicMs() - askedAtMs).toBeLessThan(8000);
  expect(outcomes(session)).toEqual({ web: 'updated', app: 'restarted' });
  const reason = 'restarted after the update of "web"; Upkeep was stopped before its health was proven';
  expect(reasonFor(session, 'app')).toBe(reason);
});
