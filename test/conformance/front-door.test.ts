import { afterEach, describe, expect, test } from 'vitest';
import { behaviours } from '../../sandbox/base/behaviour.ts';
import type { Schedule } from '../../src/domain/run/event.ts';
import { startWholeService, type WholeService, type WholeServiceOptions } from '../support/http/whole-service.ts';
import { describedAsk } from './described/described.ts';

let scene: WholeService;
let ask: WholeService['ask'];

afterEach(() => scene.stop());

const source = 'https://git.example/web';

/** One container of version 1.4.2, for which 1.5.0 has been published. */
async function start(options: WholeServiceOptions = {}, labels: Readonly<Record<string, string>> = {}): Promise<void> {
  scene = await startWholeService(options);
  ask = await describedAsk(scene);
  release('1.4.2');
  await scene.run('web', 'nginx:1', { ...project, ...labels });
  release('1.5.0');
  await until(async () => (await details()).length === 1);
}

const project = { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web' };

function release(version: string, parts: object = {}): void {
  const config = { Labels: { 'org.opencontainers.image.source': source } };
  scene.registry.store.publish('nginx:1', {
    version,
    config,
    createdAtMs: Date.UTC(2026, 2, 4),
    layers: [{ bytes: 4_000_000 }, { bytes: 200 }],
    ...parts,
  });
}

const post = (target: string) => ask(target, { method: 'POST' });
const details = async () => (await ask('/v1/containers/details')).json().containers;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

async function settled(image: string): Promise<Record<string, unknown>> {
  await until(async () => (await details())[0]?.image_id === image);
  return (await details())[0];
}

describe('the details of a container', () => {
  test('make no claim before its first check', async () => {
    await start();
    const [web] = await details();
    expect(web).toMatchObject({ version: '1.4.2', project: 'shop', can_roll_back: false });
    for (const field of ['verdict', 'hold', 'latest_version', 'change', 'last', 'released_at', 'download_bytes']) {
      expect(web).not.toHaveProperty(field);
    }
  });

  test('tell since when it has been running, and of a stopped one nothing', async () => {
    await start({ service: { includeStopped: true } });
    const since = async () => (await details())[0].started_at;
    await until(async () => (await since()) !== undefined);
    const { sandbox } = scene;
    const { state } = (await sandbox.engine.inspectContainer('web')) ?? {};
    expect(await since()).toBe(state?.startedAt.replace(/\d{6}Z$/, 'Z'));
    await sandbox.control.stopContainer('web', 0);
    await until(async () => (await since()) === undefined);
    expect((await details())[0]).toMatchObject({ status: 'exited' });
    sandbox.control.startContainer('web');
    await until(async () => (await since()) !== undefined);
    expect(Date.parse(await since())).toBeGreaterThan(Date.parse(state?.startedAt ?? ''));
  });

  test('name the newer version, its size and its age after a check, as the check does', async () => {
    await start();
    const [checked] = (await post('/v1/check')).json().containers;
    const newer = {
      version: '1.4.2',
      latest_version: '1.5.0',
      change: 'minor',
      released_at: '2026-03-04T00:00:00.000Z',
      download_bytes: 4_000_200,
      source_url: source,
    };
    expect(checked).toMatchObject(newer);
    expect((await details())[0]).toMatchObject({ ...newer, verdict: 'stale' });
  });

  test('tell of an update with its versions, and that it can be rolled back', async () => {
    await start();
    const { containers, run_id } = (await post('/v1/update')).json();
    expect(containers).toMatchObject([{ outcome: 'updated', from: '1.4.2', to: '1.5.0' }]);
    const web = await settled(containers[0].new_image_id);
    expect(web).toMatchObject({
      version: '1.5.0',
      verdict: 'fresh',
      can_roll_back: true,
      last: { outcome: 'updated', from: '1.4.2', to: '1.5.0', run_id, downtime_ms: expect.any(Number) },
    });
    expect(web).not.toHaveProperty('latest_version');
  });

  test('tell of a version that was taken back: it is held, and its last words are there', async () => {
    await start();
    release('1.5.0', { behaviour: behaviours.crashesAtStart });
    await post('/v1/update');
    await until(async () => (await details()).length === 1);
    await post('/v1/check');
    await until(async () => (await details())[0]?.verdict === 'held');
    const [web] = await details();
    expect(web).toMatchObject({
      verdict: 'held',
      hold: 'failed',
      latest_version: '1.5.0',
      change: 'minor',
      last: { outcome: 'rolled_back', from: '1.4.2', to: '1.5.0', reason: expect.stringMatching(/\S/) },
    });
  });

  test('say why a version waits, and until when', async () => {
    await start({ service: { cooldownMs: 3_600_000 } });
    release('1.6.0', { createdAtMs: Date.now() });
    await post('/v1/update');
    const [web] = await details();
    expect(web).toMatchObject({ verdict: 'held', hold: 'cooldown', latest_version: '1.6.0' });
    expect(Date.parse(web.eligible_at)).toBeGreaterThan(Date.now());
  });

  test('say what is only monitored', async () => {
    await start({}, { 'upkeep.monitor-only': 'true' });
    await post('/v1/check');
    expect((await details())[0]).toMatchObject({ verdict: 'held', hold: 'monitor-only' });
  });

  test.each([
    ['rate-limited', { kind: 'rate-limited', max: 0, windowMs: 60_000 }],
    ['unreachable', { kind: 'unreachable' }],
    ['unauthorised', { kind: 'denied' }],
    ['not-found', { kind: 'not-found' }],
  ] as const)('say that a check failed: %s, and keep what was known', async (hold, misbehaviour) => {
    await start();
    await post('/v1/check');
    scene.registry.store.misbehave('docker.io', misbehaviour);
    const [checked] = (await post('/v1/check')).json().containers;
    expect(checked).toMatchObject({ status: 'unknown', hold });
    const [web] = await details();
    expect(web).toMatchObject({ verdict: 'unknown', hold, stale: false, latest_version: '1.5.0' });
    if (hold === 'rate-limited') expect(Date.parse(web.retry_at)).toBeGreaterThan(Date.now());
  });

  test('do not ask the engine or a registry', async () => {
    await start();
    await post('/v1/check');
    const before = scene.registry.store.requests();
    for (let times = 0; times < 20; times += 1) await details();
    expect(scene.registry.store.requests()).toBe(before);
  });
});

describe('the status', () => {
  test('is there before the first update for those who ask for more', async () => {
    await start();
    expect((await ask('/v1/status')).status).toBe(204);
    const reply = await ask('/v1/status?extra=true');
    expect([reply.status, reply.json()]).toMatchObject([
      200,
      {
        summary: { scanned: 0 },
        running: false,
        watched: 1,
        unwatched: [],
        engine: { name: 'local', version: expect.stringMatching(/^\d/), reachable: true },
      },
    ]);
    expect(reply.json()).not.toHaveProperty('last_run');
    expect(reply.json()).not.toHaveProperty('run');
  });

  test('counts what is not watched, with the remedy', async () => {
    await start({ service: { disableContainers: ['c1'] } });
    await scene.run('a1', 'nginx:1', { 'upkeep.enable': 'false' });
    await scene.run('b1', 'nginx:1', { 'upkeep.enable': 'false' });
    await scene.run('c1', 'nginx:1');
    const status = async () => (await ask('/v1/status?extra=true')).json();
    await until(async () => (await status()).unwatched.length === 2);
    await until(async () => (await status()).unwatched[0].count === 2);
    expect((await status()).unwatched).toEqual([
      { reason: 'disabled by label', count: 2, remedy: expect.stringContaining('upkeep.enable') },
      { reason: 'excluded', count: 1, remedy: expect.stringMatching(/\S/) },
    ]);
  });

  test('shows the run under way with the phase of its container', async () => {
    await start({ service: { healthWindowMs: 60_000 } });
    const { run_id } = (await post('/v1/update?async=true')).json();
    await until(
      async () => (await ask('/v1/status?extra=true')).json().run?.containers[0]?.phase === 'checking health',
    );
    expect((await ask('/v1/status?extra=true')).json().run).toEqual({
      run_id,
      trigger: 'http',
      by: 'API token',
      started_at: expect.any(String),
      containers: [{ name: 'web', phase: 'checking health' }],
    });
    scene.sandbox.control.endProcess('web', 1);
  });

  test('tells the schedule in words, or why there is none', async () => {
    await start();
    const status = async () => (await ask('/v1/status?extra=true')).json();
    expect(await status()).not.toHaveProperty('schedule_off');
    const schedule: Schedule = { kind: 'interval', words: 'every 6h', everyMs: 21_600_000 };
    for (const [order, told] of [
      [
        { schedule, updateOnStart: false },
        { schedule: 'every 6h', next_run: expect.any(String) },
      ],
      [{ schedule: undefined, updateOnStart: false, whyNone: 'The API is on' }, { schedule_off: 'The API is on' }],
    ] as const) {
      const asked = new AbortController();
      const ended = scene.application.keepUpdating(order, asked.signal);
      expect(await status()).toMatchObject(told);
      asked.abort();
      await ended;
    }
  });
});

test('the history names the containers with news, and their versions', async () => {
  await start();
  await post('/v1/update');
  await post('/v1/update');
  const { entries } = (await ask('/v1/history')).json();
  expect(entries).toMatchObject([
    { containers: [{ name: 'web', outcome: 'updated', from: '1.4.2', to: '1.5.0' }] },
    { containers: [] },
  ]);
});

describe('POST /v1/update?dry_run=true', () => {
  test('answers with the plan in the order of the work, and changes nothing', async () => {
    await start();
    await scene.run('app', 'nginx:1', { 'upkeep.depends-on': 'web' });
    await scene.run('held', 'nginx:1', { 'upkeep.monitor-only': 'true' });
    release('1.5.1');
    const before = await details();
    const reply = await post('/v1/update?dry_run=true');
    expect(reply.status).toBe(200);
    const plan = reply.json().plan.map(({ name, action, from, to, depends_on }: Record<string, unknown>) => {
      return { name, action, from, to, depends_on };
    });
    expect([reply.json().dry_run, plan]).toEqual([
      true,
      [
        { name: 'web', action: 'update', from: '1.4.2', to: '1.5.1', depends_on: [] },
        { name: 'app', action: 'update', from: '1.5.0', to: '1.5.1', depends_on: ['web'] },
        { name: 'held', action: 'skip', from: '1.5.0', to: '1.5.1', depends_on: [] },
      ],
    ]);
    expect((await details()).map(({ id }: { id: string }) => id)).toEqual(
      expect.arrayContaining(before.map(({ id }: { id: string }) => id)),
    );
    expect((await ask('/v1/history')).json().entries).toEqual([]);
  });

  test('names a service of a swarm as one', async () => {
    await start({ swarmNodes: 1 });
    const { swarm, swarmControl } = scene.sandbox;
    const { digest } = scene.registry.store.publish('nginx:1', { version: '1.5.0' });
    const id = swarmControl.create({ Name: 'shop', TaskTemplate: { ContainerSpec: { Image: `nginx:1@${digest}` } } });
    await until(async () => (await swarm.tasks([id])).some(({ state }) => state === 'running'));
    release('1.6.0');
    const { plan } = (await post('/v1/update?dry_run=true')).json();
    expect(plan).toContainEqual(expect.objectContaining({ name: 'shop', kind: 'service', action: 'update' }));
  });

  test('is about the containers that are named, and takes no turn from an update', async () => {
    await start({ service: { healthWindowMs: 60_000 } });
    await post('/v1/update?async=true');
    expect((await post('/v1/update?dry_run=true&container=nobody')).json().plan).toEqual([]);
    const phase = async () => (await ask('/v1/status?extra=true')).json().run?.containers[0]?.phase;
    await until(async () => (await phase()) === 'checking health');
    scene.sandbox.control.endProcess('web', 1);
  });
});

test('a version that failed is tried again with retry_failed=true, and not without', async () => {
  await start();
  release('2.0.0', { behaviour: behaviours.crashesAtStart });
  const outcome = async (query: string) => (await post(`/v1/update${query}`)).json().containers[0].outcome;
  expect(await outcome('')).toBe('rolled_back');
  expect(await outcome('')).toBe('skipped');
  expect((await post('/v1/update?dry_run=true&retry_failed=true')).json().plan).toMatchObject([{ action: 'update' }]);
  expect(await outcome('?retry_failed=true')).toBe('rolled_back');
});

describe('POST /v1/rollback', () => {
  test('puts a container back to the version before, and that stays so', async () => {
    await start();
    await post('/v1/update');
    const reply = await post('/v1/rollback?container=web');
    expect([reply.status, reply.json().containers]).toMatchObject([
      200,
      [{ name: 'web', outcome: 'went_back', from: '1.5.0', to: '1.4.2' }],
    ]);
    const web = await settled(reply.json().containers[0].new_image_id);
    expect(web).toMatchObject({ version: '1.4.2', last: { from: '1.5.0', to: '1.4.2' } });
    await post('/v1/check');
    expect((await details())[0]).toMatchObject({ verdict: 'held', hold: 'went-back' });
    expect((await ask('/v1/history')).json().entries.at(-1)).toMatchObject({
      trigger: 'http',
      updated: 0,
      went_back: 1,
    });
    const again = await post('/v1/rollback?container=web');
    expect([again.status, again.json().error]).toEqual([409, expect.stringContaining('forward=true permits it')]);
    expect((await post('/v1/rollback?container=web&forward=true')).status).toBe(200);
  });

  test('goes on in the background when asked to', async () => {
    await start();
    await post('/v1/update');
    const reply = await post('/v1/rollback?container=web&async=true');
    expect(reply.status).toBe(202);
    const runs = async () => (await ask('/v1/history')).json().entries.map(({ run_id }: { run_id: string }) => run_id);
    await until(async () => (await runs()).includes(reply.json().run_id));
  });

  test.each([
    ['', 400, /"container"/],
    ['?container=nobody', 404, /^Cannot roll back "nobody": there is no container of this name$/],
    ['?container=web', 409, /^Cannot roll back "web": it has not been updated/],
    ['?container=web&dry_run=true', 400, /^unknown query parameter "dry_run": this request cannot be rehearsed$/],
    ['?container=web&dryRun', 400, /cannot be rehearsed/],
    ['?container=web&preview=1', 400, /cannot be rehearsed/],
    ['?container=web&apply=false', 400, /cannot be rehearsed/],
    ['?name=web', 400, /did you mean "container"/],
    ['?container=web&tag=1.26', 400, /^unknown query parameter "tag": this request cannot be limited by it$/],
    ['?container=web&image=nginx:1.26', 400, /cannot be limited/],
    ['?container=web&toVersion=1.2', 400, /cannot be limited/],
  ])('%j is refused with %i', async (query, status, error) => {
    await start();
    const reply = await post(`/v1/rollback${query}`);
    expect([reply.status, reply.json().error]).toEqual([status, expect.stringMatching(error)]);
  });
});
