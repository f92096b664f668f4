import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { behaviours } from '../../sandbox/base/behaviour.ts';
import { dataOf, type EventReader, followEvents } from '../support/http/event-reader.ts';
import { startWholeService, type WholeService, type WholeServiceOptions } from '../support/http/whole-service.ts';
import { describedAsk } from './described/described.ts';

let scene: WholeService;
let ask: WholeService['ask'];
const readers: EventReader[] = [];

afterEach(async () => {
  for (const reader of readers.splice(0)) reader.end();
  await scene.stop();
});

/** Two containers, one of which a newer image has been published for. */
async function start(options: WholeServiceOptions = {}): Promise<void> {
  scene = await startWholeService(options);
  ask = await describedAsk(scene);
  for (const image of ['nginx:1.27', 'ghcr.io/acme/api:2']) scene.publish(image, '1');
  await scene.run('web', 'nginx:1.27');
  await scene.run('api', 'ghcr.io/acme/api:2');
  scene.publish('nginx:1.27', '2');
  await until(async () => (await namesOf()).length === 2);
}

/** Begins an update of `web`, whose health check lasts until the returned function ends the new container. */
async function startUpdateWithoutEnd(): Promise<() => Promise<void>> {
  await start({ service: { healthWindowMs: 3_600_000 } });
  const reader = await followEvents(scene.url, { extra: true });
  readers.push(reader);
  const update = post('/v1/update');
  await reader.until((text) => text.includes('checking health'));
  return async () => {
    scene.sandbox.control.endProcess('web', 1);
    const { summary } = (await update).json();
    expect(summary).toMatchObject({ updated: 0, failed: 1 });
  };
}

const post = (target: string) => ask(target, { method: 'POST' });
const namesOf = async (target = '/v1/containers') =>
  (await ask(target))
    .json()
    .containers.map(({ name }: { name: string }) => name)
    .sort();

async function follow(): Promise<EventReader> {
  const reader = await followEvents(scene.url);
  readers.push(reader);
  return reader;
}

describe('an update over HTTP', () => {
  test('replaces what is stale, and everything tells the same story of it', async () => {
    await start({ service: { cleanup: true } });
    const reader = await follow();
    const reply = await post('/v1/update');
    expect(reply.status).toBe(200);
    const { summary, containers, run_id } = reply.json();
    expect(summary).toEqual({ scanned: 2, updated: 1, failed: 0, restarted: 0, skipped: 0 });
    const web = containers.find(({ name }: { name: string }) => name === 'web');
    expect(web).toMatchObject({ outcome: 'updated', reason: '', image: 'nginx:1.27' });
    expect(web.new_image_id).not.toBe(web.old_image_id);

    const frames = await reader.frames(5);
    expect(frames.map((frame) => dataOf(frame).type)).toEqual([
      'scan_started',
      'update_started',
      'update_completed',
      'image_cleanup',
      'scan_completed',
    ]);
    expect(frames.map((frame) => dataOf(frame).data.run_id)).toEqual(Array.from({ length: 5 }, () => run_id));
    expect(dataOf(frames[0]).data.trigger).toBe('http');
    expect(dataOf(frames[1]).data).toMatchObject({ container: 'web', image: 'nginx:1.27', from: web.old_image_id });
    expect(dataOf(frames[2]).data).toMatchObject({ container: 'web', from: web.old_image_id, to: web.new_image_id });
    expect(dataOf(frames[3]).data.images).toMatchObject([{ image_id: web.old_image_id, container_name: 'web' }]);
    expect(dataOf(frames[4]).data).toMatchObject(summary);

    const { entries } = (await ask('/v1/history')).json();
    expect(entries).toMatchObject([{ ...summary, run_id, trigger: 'http', rolled_back: 0 }]);
    expect((await ask('/v1/status')).json()).toMatchObject({ summary, running: false, updates_available: 0 });
    const metrics = (await ask('/v1/metrics')).text;
    for (const line of [
      'watchtower_containers_scanned 2',
      'watchtower_containers_updated 1',
      'upkeep_scans_total 1',
      'upkeep_downtime_seconds_count 1',
    ]) {
      expect(metrics.split('\n')).toContain(line);
    }
    expect((await ask('/v1/containers?name=web')).json().containers).toMatchObject([{ image_id: web.new_image_id }]);
  });

  test('of some containers leaves the others', async () => {
    await start();
    for (const query of [
      '?container=api',
      '?image=ghcr.io/acme/api',
      '?image=nginx:1.26',
      '?container=we',
      '?image=nginx&container=api',
    ]) {
      const { summary } = (await post(`/v1/update${query}`)).json();
      expect([query, summary.updated]).toEqual([query, 0]);
    }
    expect((await post('/v1/update?container=/web')).json().summary).toMatchObject({ scanned: 1, updated: 1 });
  });

  test.each([
    '?container=w.b',
    '?container=(web|db)',
    '?image=docker.io/library/nginx',
    '?image=nginx',
    '?image=redis,nginx:1.27',
    '?image=nginx&container=w.*',
  ])('%s means web', async (query) => {
    await start();
    expect((await post(`/v1/update${query}`)).json().containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
  });

  test('that goes wrong brings the old container back, is no HTTP error, and is told', async () => {
    await start();
    const reader = await follow();
    scene.publish('nginx:1.27', '3', { behaviour: behaviours.crashesAtStart });
    const reply = await post('/v1/update');
    expect(reply.status).toBe(200);
    expect(reply.json().summary).toMatchObject({ updated: 0, failed: 1 });
    const web = reply.json().containers.find(({ name }: { name: string }) => name === 'web');
    expect(web).toMatchObject({ outcome: 'rolled_back', reason: expect.stringMatching(/\S/) });
    const failed = (await reader.frames(4)).map(dataOf).find(({ type }) => type === 'update_failed');
    expect(failed?.data).toMatchObject({ container: 'web', rolled_back: true, error: web.reason });
    expect((await ask('/v1/history')).json().entries).toMatchObject([{ failed: 1, rolled_back: 1 }]);
    expect((await ask('/v1/metrics')).text).toContain('\nupkeep_rollbacks_total 1\n');
    await until(async () => (await namesOf()).join() === 'api,web');
  });

  test('of nothing that there is scans nothing, though it is no full one', async () => {
    await start();
    for (const query of [
      '?image=NGINX:::',
      '?image=nope',
      '?container=nope',
      '?container=%5B',
      '?container=((a%2B)%2B)%2B',
    ])
      expect([query, (await post(`/v1/update${query}`)).json().summary.scanned]).toEqual([query, 0]);
    expect((await post('/v1/check?container=web')).json().containers[0].update_available).toBe(true);
  });

  test('by the schedule is told like one of a request', async () => {
    await start();
    const reader = await follow();
    const { runId } = await scene.application.update({ images: [], containers: [], trigger: 'schedule' });
    const frames = (await reader.frames(4)).map(dataOf);
    expect(frames.map(({ type }) => type)).toEqual([
      'scan_started',
      'update_started',
      'update_completed',
      'scan_completed',
    ]);
    expect(frames[0].data).toMatchObject({ run_id: runId, trigger: 'schedule' });
    expect((await ask('/v1/history')).json().entries).toMatchObject([
      { run_id: runId, trigger: 'schedule', updated: 1 },
    ]);
    expect((await ask('/v1/status')).json().summary.updated).toBe(1);
    expect((await ask('/v1/metrics')).text).toContain('\nwatchtower_containers_updated 1\n');
  });

  test('in the background is found by its run id', async () => {
    await start();
    const reader = await follow();
    const { run_id } = (await post('/v1/update?async=true')).json();
    await reader.until((text) => text.includes('event: scan_completed'));
    const completed = (await reader.frames(4)).map(dataOf).at(-1);
    expect(completed).toMatchObject({ type: 'scan_completed', data: { run_id, updated: 1 } });
    expect((await ask('/v1/history')).json().entries).toMatchObject([{ run_id }]);
  });

  test('of an engine that is away fails as a whole', async () => {
    await start();
    const reader = await follow();
    scene.sandbox.control.stopEngine('crash');
    expect((await ask('/readyz', { token: null })).status).toBe(503);
    for (const path of ['/v1/update', '/v1/check']) {
      const reply = await post(path);
      expect([reply.status, reply.json().error]).toEqual([500, 'the container engine cannot be reached']);
    }
    expect((await reader.frames(4)).map((frame) => dataOf(frame).type)).toEqual([
      'scan_started',
      'scan_failed',
      'scan_started',
      'scan_failed',
    ]);
    expect((await ask('/livez')).status).toBe(200);
    for (const path of ['/v1/containers', '/v1/containers/details', '/v1/images'])
      await until(async () => (await ask(path)).status === 500);
    scene.sandbox.control.startEngine();
    await until(async () => (await ask('/readyz')).status === 200);
    await until(async () => (await ask('/v1/containers')).status === 200);
  });

  test('at the same time as another: full ones are refused, targeted ones come after', async () => {
    await start({ registryLatencyMs: 500 });
    const first = post('/v1/update');
    await until(async () => (await ask('/v1/status?extra=true')).json().running);
    const [full, targeted] = await Promise.all([post('/v1/update'), post('/v1/update?container=web')]);
    expect([full.status, full.headers['retry-after']]).toEqual([429, '30']);
    expect((await first).json().summary.updated).toBe(1);
    expect([targeted.status, targeted.json().summary.updated]).toEqual([200, 0]);
    expect((await ask('/v1/metrics')).text).toContain('\nwatchtower_scans_skipped 1\n');
  });

  test('that runs out of time stops where nothing is half done', async () => {
    await start({ service: { healthWindowMs: 1500 } });
    const reply = await post('/v1/update?timeout=400ms');
    expect(reply.status).toBe(408);
    await until(
      async () => !(await ask('/v1/status?extra=true')).json().running && (await ask('/v1/history')).json().count > 0,
    );
    expect(await namesOf()).toEqual(['api', 'web']);
    expect((await post('/v1/update')).status).toBe(200);
  });
});

describe('a check over HTTP', () => {
  test('finds what is stale, changes nothing, and leaves no history', async () => {
    await start();
    const reader = await follow();
    const before = scene.sandbox.calls.length;
    const { containers, count } = (await post('/v1/check')).json();
    expect(count).toBe(2);
    const [web, api] = ['web', 'api'].map((name) => containers.find((each: { name: string }) => each.name === name));
    expect(web).toMatchObject({ update_available: true, status: 'stale', image: 'nginx:1.27', latest_image_id: '' });
    expect(web.latest_digest).toMatch(/^sha256:/);
    expect(web.latest_digest).not.toBe(web.digest);
    expect(api).toMatchObject({
      update_available: false,
      status: 'fresh',
      latest_digest: api.digest,
      latest_image_id: api.image_id,
    });
    expect(scene.sandbox.calls).toHaveLength(before);
    expect((await ask('/v1/history')).json().count).toBe(0);
    expect((await ask('/v1/status')).status).toBe(204);
    const frames = (await reader.frames(2)).map(dataOf);
    expect(frames.map(({ type }) => type)).toEqual(['scan_started', 'scan_completed']);
    expect(frames[1].data).toMatchObject({ scanned: 2, updated: 0, failed: 0 });
    const details = (await ask('/v1/containers/details?name=web')).json().containers[0];
    expect(details).toMatchObject({
      stale: true,
      update_available: true,
      latest_digest: web.latest_digest,
      checked_at: expect.any(String),
    });
  });

  test('tells of a registry that does not answer in the entry, and counts it as failed', async () => {
    await start();
    const reader = await follow();
    scene.registry.store.misbehave('ghcr.io', { kind: 'unreachable' });
    const reply = await post('/v1/check');
    expect(reply.status).toBe(200);
    const api = reply.json().containers.find(({ name }: { name: string }) => name === 'api');
    expect(api).toMatchObject({
      update_available: false,
      latest_digest: '',
      latest_image_id: '',
      status: 'unknown',
      error: expect.stringMatching(/\S/),
    });
    expect(dataOf((await reader.frames(2))[1]).data).toMatchObject({ scanned: 2, updated: 0, failed: 1 });
  });

  test('whose time is up says so for what has not been answered', async () => {
    await start();
    scene.registry.store.misbehave('ghcr.io', { kind: 'slow', ms: 2000 });
    const { containers } = (await post('/v1/check?timeout=300ms')).json();
    const byName = Object.fromEntries(
      containers.map((each: { name: string; error?: string }) => [each.name, each.error]),
    );
    expect(byName).toEqual({ api: 'check timed out', web: undefined });
  });

  test('does not mind the cooldown, which holds an update', async () => {
    await start({ service: { cooldownMs: 86_400_000 } });
    scene.publish('nginx:1.27', '3', { createdAtMs: Date.now() });
    const checked = (await post('/v1/check?container=web')).json().containers[0];
    expect(checked).toMatchObject({ update_available: true, status: 'stale' });
    const updated = (await post('/v1/update?container=web')).json().containers[0];
    expect(updated).toMatchObject({ outcome: 'deferred', reason: expect.stringContaining('cooldown') });
  });

  test('asks no registry where no-pull is set', async () => {
    await start();
    await scene.run('quiet', 'ghcr.io/acme/api:2', { 'upkeep.no-pull': 'true' });
    const before = scene.registry.store.requests();
    const { containers } = (await post('/v1/check?container=quiet')).json();
    expect(containers).toHaveLength(1);
    expect(scene.registry.store.requests()).toBe(before);
  });

  test('asks none at all where no-pull is set for all', async () => {
    await start({ service: { noPull: true } });
    const before = scene.registry.store.requests();
    const { containers } = (await post('/v1/check')).json();
    expect(containers).toHaveLength(2);
    for (const container of containers) expect(container).not.toHaveProperty('error');
    expect(scene.registry.store.requests()).toBe(before);
  });

  test('does not wait for an update that runs', async () => {
    const end = await startUpdateWithoutEnd();
    expect((await post('/v1/check')).status).toBe(200);
    await end();
  });
});

describe('reading', () => {
  test('shows what others do to the engine', async () => {
    await start();
    scene.sandbox.control.renameContainer('web', 'renamed');
    await until(async () => (await namesOf()).join() === 'api,renamed');
    scene.sandbox.control.removeContainer('renamed');
    await until(async () => (await namesOf()).join() === 'api');
    expect((await ask('/v1/images')).json().images).toMatchObject([{ name: 'ghcr.io/acme/api:2', containers: 1 }]);
  });

  test('goes on while an update runs', async () => {
    const end = await startUpdateWithoutEnd();
    for (const path of [
      '/v1/containers',
      '/v1/containers/details',
      '/v1/images',
      '/v1/history',
      '/v1/config',
      '/v1/status',
      '/v1/metrics',
      '/livez',
      '/readyz',
    ])
      expect([200, 204]).toContain((await ask(path)).status);
    await end();
  });

  test('shows the tag that a reference leaves out', async () => {
    await start();
    scene.publish('redis:latest', '1');
    await scene.run('cache', 'redis');
    await until(async () => (await namesOf()).length === 3);
    for (const path of ['/v1/containers?image=redis:latest', '/v1/containers/details?name=cache'])
      expect((await ask(path)).json().containers).toMatchObject([{ name: 'cache', image: 'redis:latest' }]);
    expect((await post('/v1/check?container=cache')).json().containers).toMatchObject([{ image: 'redis:latest' }]);
  });

  test('finds the last 500 updates in the history, and no check', async () => {
    await start();
    for (let each = 0; each < 501; each += 1)
      await scene.application.update({ images: [], containers: [`no-${each}`], trigger: 'http' });
    await post('/v1/check');
    const { entries, count } = (await ask('/v1/history')).json();
    expect([entries.length, count]).toEqual([500, 500]);
    expect(entries[0].run_id).not.toBe((await ask('/v1/history?limit=499')).json().entries[0].run_id);
  });

  test('tells wishes of containers, from either family of labels', async () => {
    await start();
    await scene.run('calm', 'nginx:1.27', {
      'com.centurylinklabs.watchtower.monitor-only': 'true',
      'upkeep.depends-on': 'web',
    });
    await until(async () => (await namesOf()).length === 3);
    const calm = (await ask('/v1/containers/details?name=calm')).json().containers[0];
    expect(calm).toMatchObject({
      monitor_only: true,
      no_pull: false,
      enabled: true,
      depends_on: ['web'],
      running: true,
      status: 'running',
      self: false,
    });
    expect(calm.labels_in_effect).toEqual({
      'com.centurylinklabs.watchtower.monitor-only': 'true',
      'upkeep.depends-on': 'web',
    });
  });
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 8000;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error('it never came to that');
    await sleep(10);
  }
}
