import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { digestOf, idOf } from '../support/scene/builders.ts';
import { type Reply, startHttp } from '../support/http/http-scene.ts';
import {
  createScriptedService,
  historyEntry,
  trackedImage,
  watchedContainer,
} from '../support/http/scripted-service.ts';
import { type DescribedScene, expectErrorBody, startDescribed } from './described/described.ts';

let scene: DescribedScene;
beforeAll(async () => {
  scene = await startDescribed();
});
afterAll(() => scene.stop());

const names = (reply: Reply, list: string) => reply.json()[list].map((each: { name: string }) => each.name);

describe('GET /v1/containers', () => {
  beforeAll(() => {
    scene.service.script.inventory = {
      revision: 7,
      containers: [
        watchedContainer('web', { image: 'nginx:1.27' }),
        watchedContainer('web-2', { image: 'nginx:latest' }),
        watchedContainer('api', { image: 'ghcr.io/acme/api:2', digest: '' }),
        watchedContainer('odd', { image: 'sha256:0123' }),
      ],
      images: [],
    };
  });

  test('lists them', async () => {
    const { containers, count } = (await scene.ask('/v1/containers')).json();
    expect(count).toBe(4);
    expect(containers[0]).toEqual({
      name: 'web',
      image: 'nginx:1.27',
      image_id: digestOf('image web'),
      digest: digestOf('manifest web'),
    });
    expect(containers[2].digest).toBe('');
  });

  test.each([
    ['?name=web', ['web']],
    ['?name=we', []],
    ['?name=web.*', []],
    ['?name=WEB', []],
    ['?name=web&name=api', ['web']],
    ['?name=', ['web', 'web-2', 'api', 'odd']],
    ['?image=nginx', ['web', 'web-2']],
    ['?image=nginx:1.27', ['web']],
    ['?image=docker.io/library/nginx', ['web', 'web-2']],
    ['?image=docker.io/library/nginx:latest', ['web-2']],
    ['?image=ghcr.io/acme/api', ['api']],
    ['?image=api', []],
    ['?image=NGINX:::', []],
    ['?image=nginx&image=ghcr.io/acme/api', ['web', 'web-2']],
    ['?image=nginx&name=web-2', ['web-2']],
    ['?image=nginx&name=api', []],
    ['?other=x', ['web', 'web-2', 'api', 'odd']],
  ])('%s keeps %j', async (query, expected) => {
    for (const path of ['/v1/containers', '/v1/containers/details']) {
      const reply = await scene.ask(path + query);
      expect(reply.status).toBe(200);
      expect(names(reply, 'containers')).toEqual(expected);
      expect(reply.json().count).toBe(expected.length);
    }
  });

  test('shows a change of the inventory at once, and is the same while there is none', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startHttp(service);
    const ofRevision = async () => names(await ask('/v1/containers'), 'containers');
    expect(await ofRevision()).toEqual([]);
    service.script.inventory = { revision: 2, containers: [watchedContainer('new')], images: [] };
    expect(await ofRevision()).toEqual(['new']);
    expect(await ofRevision()).toEqual(['new']);
    await stop();
  });

  test('says when each reply was made, though its text is kept', async () => {
    const first = (await scene.ask('/v1/containers')).json().timestamp;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const second = (await scene.ask('/v1/containers')).json().timestamp;
    expect(Date.parse(second)).toBeGreaterThan(Date.parse(first));
  });
});

test.each(['/v1/containers', '/v1/containers?name=x', '/v1/containers/details', '/v1/images', '/v1/images?id=x'])(
  '%s does not say that there is nothing before the engine has been asked',
  async (path) => {
    const service = createScriptedService();
    const { ask, stop } = await startHttp(service);
    service.script.inventory = { revision: 0, known: false, containers: [], images: [] };
    const reply = await ask(path);
    expect(reply.status).toBe(503);
    expectErrorBody(reply);
    await stop();
  },
);

describe('GET /v1/containers/details', () => {
  test('tells all that is known', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startDescribed({}, service);
    const latestDigest = digestOf('newer');
    service.script.inventory = {
      revision: 2,
      containers: [
        watchedContainer('web', {
          running: false,
          status: 'exited',
          health: 'unhealthy',
          self: true,
          monitorOnly: true,
          noPull: true,
          enabled: false,
          stale: true,
          scope: 'prod',
          updateAvailable: true,
          latestDigest,
          checkedAtMs: Date.UTC(2026, 1, 2, 3, 4, 5, 678),
          reason: 'A newer image is available',
          dependsOn: ['db'],
          labelsInEffect: { 'upkeep.scope': 'prod' },
          settings: [{ name: 'scope', value: 'prod', source: 'label upkeep.scope' }],
        }),
        watchedContainer('db', { startedAtMs: Date.UTC(2026, 0, 1, 12, 30, 1, 5) }),
      ],
      images: [],
    };
    const { containers } = (await ask('/v1/containers/details')).json();
    expect(containers[0]).toEqual({
      name: 'web',
      image: 'web:1',
      image_id: digestOf('image web'),
      digest: digestOf('manifest web'),
      running: false,
      watchtower: true,
      self: true,
      monitor_only: true,
      no_pull: true,
      enabled: false,
      stale: true,
      scope: 'prod',
      id: idOf('container web'),
      created: '2026-01-01T12:30:00.250Z',
      status: 'exited',
      health: 'unhealthy',
      update_available: true,
      latest_digest: latestDigest,
      checked_at: '2026-02-02T03:04:05.678Z',
      reason: 'A newer image is available',
      depends_on: ['db'],
      labels_in_effect: { 'upkeep.scope': 'prod' },
      settings: [{ name: 'scope', value: 'prod', source: 'label upkeep.scope' }],
      can_roll_back: false,
    });
    expect(containers[1]).toMatchObject({
      running: true,
      started_at: '2026-01-01T12:30:01.005Z',
      watchtower: false,
      self: false,
      scope: '',
      labels_in_effect: {},
      depends_on: [],
    });
    expect(containers[1]).not.toHaveProperty('checked_at');
    await stop();
  });
});

describe('GET /v1/images', () => {
  const ids = [`sha256:${'a'.repeat(64)}`, `sha256:${'ab'.repeat(32)}`, `sha256:${'c'.repeat(64)}`] as const;
  beforeAll(() => {
    scene.service.script.inventory = {
      ...scene.service.script.inventory,
      revision: 8,
      images: [
        trackedImage('redis:7', { imageId: ids[2], containers: 2 }),
        trackedImage('nginx:1.27', { imageId: ids[0] }),
        trackedImage('ghcr.io/acme/api:2', { imageId: ids[1], digest: '' }),
        trackedImage('nginx:latest', { imageId: ids[0] }),
      ],
    };
  });

  test('lists one for each image and reference, sorted by name', async () => {
    const { images, count } = (await scene.ask('/v1/images')).json();
    expect(count).toBe(4);
    expect(images.map(({ name }: { name: string }) => name)).toEqual([
      'ghcr.io/acme/api:2',
      'nginx:1.27',
      'nginx:latest',
      'redis:7',
    ]);
    expect(images[3]).toEqual({
      name: 'redis:7',
      image_id: ids[2],
      digest: digestOf('manifest redis:7'),
      containers: 2,
    });
  });

  test.each([
    ['?name=nginx', ['nginx:1.27', 'nginx:latest']],
    ['?name=nginx:1.27', ['nginx:1.27']],
    ['?name=docker.io/library/redis', ['redis:7']],
    ['?name=nope', []],
    [`?id=${ids[2]}`, ['redis:7']],
    ['?id=sha256:c', ['redis:7']],
    ['?id=ccc', ['redis:7']],
    ['?id=CCC', ['redis:7']],
    [`?id=${ids[0]}`, ['nginx:1.27', 'nginx:latest']],
    ['?id=aaa', ['nginx:1.27', 'nginx:latest']],
    ['?id=a', []],
    ['?id=d', []],
    ['?id=', ['ghcr.io/acme/api:2', 'nginx:1.27', 'nginx:latest', 'redis:7']],
    ['?id=aaa&name=nginx:latest', ['nginx:latest']],
  ])('%s keeps %j', async (query, expected) => {
    const reply = await scene.ask(`/v1/images${query}`);
    expect(names(reply, 'images')).toEqual(expected);
    expect(reply.json().count).toBe(expected.length);
  });

  test('the begin of an id means the image of the engine that is named, whatever other engines have', async () => {
    const service = createScriptedService();
    const images = ['near', 'far'].map((engine, index) => trackedImage('nginx', { engine, imageId: ids[index] ?? '' }));
    service.script.inventory = { revision: 1, containers: [], images };
    const state = { address: '', kind: 'docker', version: '1', reachable: true, sinceMs: 0, error: undefined } as const;
    const counts = { containers: 0, updatesAvailable: 0, lastRunAtMs: undefined };
    const engines = () => ['near', 'far'].map((name) => ({ name, ...state, ...counts }));
    const { ask, stop } = await startHttp({ ...service, engines });
    onTestFinished(stop);
    expect((await ask('/v1/images?id=a')).json().images).toEqual([]);
    expect((await ask('/v1/images?id=a&engine=far')).json().images).toMatchObject([
      { engine: 'far', image_id: ids[1] },
    ]);
  });
});

describe('GET /v1/history', () => {
  const at = (second: number) => Date.UTC(2026, 0, 1, 0, 0, second);
  beforeAll(() => {
    const failures = [{ name: 'web', outcome: 'rolled_back', reason: 'It ended' }] as const;
    scene.service.script.history = [
      historyEntry(at(10), { trigger: 'start' }),
      historyEntry(at(20), { trigger: 'http', rolledBack: 1, failed: 2, durationMs: 1234.5, failures }),
      historyEntry(at(30) + 500),
    ];
  });

  test('lists the runs, oldest first', async () => {
    const { entries, count } = (await scene.ask('/v1/history')).json();
    expect(count).toBe(3);
    expect(entries[1]).toEqual({
      timestamp: '2026-01-01T00:00:20.000Z',
      scanned: 3,
      updated: 1,
      failed: 2,
      restarted: 0,
      skipped: 0,
      rolled_back: 1,
      run_id: `run-at-${at(20)}`,
      trigger: 'http',
      duration_ms: 1235,
      failures: [{ name: 'web', outcome: 'rolled_back', reason: 'It ended' }],
      containers: [],
    });
  });

  const [first, second, third] = ['10.000Z', '20.000Z', '30.500Z'];
  test.each([
    ['', [first, second, third]],
    ['?limit=', [first, second, third]],
    ['?limit=0', [first, second, third]],
    ['?limit=2', [second, third]],
    ['?limit=1', [third]],
    ['?limit=99', [first, second, third]],
    ['?limit=9007199254740991', [first, second, third]],
    ['?limit=99999999999999999999', [first, second, third]],
    ['?since=2026-01-01T00:00:20Z', [second, third]],
    ['?since=2026-01-01T00:00:20.001Z', [third]],
    ['?until=2026-01-01T00:00:20Z', [first, second]],
    ['?until=2026-01-01T00:00:19.999Z', [first]],
    ['?since=2026-01-01T00:00:20Z&until=2026-01-01T00:00:20Z', [second]],
    ['?since=2026-01-01T02:00:20%2B02:00', [second, third]],
    ['?since=2026-01-01T02:00:20+02:00', [second, third]],
    ['?since=2025-12-31T19:00:30-05:00', [third]],
    ['?since=2026-01-01t00:00:20z', [second, third]],
    ['?since=2027-01-01T00:00:00Z', []],
    ['?until=2025-01-01T00:00:00Z', []],
    ['?since=2026-01-01T00:00:10Z&until=2026-01-01T00:00:20Z&limit=1', [second]],
    ['?other=x', [first, second, third]],
  ])('%s keeps %j', async (query, expected) => {
    const reply = await scene.ask(`/v1/history${query}`);
    expect(reply.status).toBe(200);
    expect(reply.json().entries.map(({ timestamp }: { timestamp: string }) => timestamp.slice(17))).toEqual(expected);
    expect(reply.json().count).toBe(expected.length);
  });

  test.each([
    '?limit=-1',
    '?limit=x',
    '?limit=1.5',
    '?limit=1e3',
    '?limit=%201',
    '?since=',
    '?until=',
    '?since=yesterday',
    '?since=2026-01-01',
    '?since=2026-01-01T00:00:00',
    '?since=1767225600',
    '?until=2026-13-01T00:00:00Z',
    '?until=2026-02-30T00:00:00Z',
    '?until=2026-01-01T25:00:00Z',
    '?until=2026-01-01T00:00:00%2B25:00',
    '?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z',
  ])('%s is refused', async (query) => {
    const reply = await scene.ask(`/v1/history${query}`);
    expect(reply.status).toBe(400);
    expect(reply.json().error).toMatch(/invalid query parameter/);
    expectErrorBody(reply);
  });
});

describe('GET /v1/config', () => {
  test('shows the settings and where each option came from', async () => {
    expect((await scene.ask('/v1/config')).json()).toMatchObject({
      config: {
        monitor_only: false,
        cleanup: true,
        no_pull: false,
        no_restart: false,
        rolling_restart: false,
        include_stopped: false,
        include_restarting: false,
        lifecycle_hooks: false,
        label_enable: false,
        filter_desc: 'All containers',
        scope: '',
      },
      options: [{ name: 'cleanup', value: 'true', source: '--cleanup', meaning: 'Remove old images' }],
    });
  });
});

describe('GET /v1/status', () => {
  test('is empty before the first run', async () => {
    const reply = await scene.ask('/v1/status');
    expect([reply.status, reply.text, reply.headers['content-length']]).toEqual([204, '', undefined]);
  });

  test('tells of the last run and the next', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startDescribed({}, service);
    const summary = { scanned: 5, updated: 1, failed: 2, restarted: 0, skipped: 1 };
    service.script.status = {
      lastRun: { atMs: Date.UTC(2026, 0, 1, 0, 0, 1, 250), summary },
      nextRunAtMs: Date.UTC(2026, 0, 2),
      running: true,
      repairing: false,
      updatesAvailable: 3,
    };
    expect((await ask('/v1/status')).json()).toEqual({
      summary,
      last_run: '2026-01-01T00:00:01.250Z',
      next_run: '2026-01-02T00:00:00.000Z',
      running: true,
      repairing: false,
      updates_available: 3,
      timestamp: expect.any(String),
      api_version: 'v1',
    });
    service.script.status = { ...service.script.status, nextRunAtMs: undefined };
    expect((await ask('/v1/status')).json()).not.toHaveProperty('next_run');
    await stop();
  });
});

describe('while an interrupted update is repaired', () => {
  test('the status and /readyz say so, also before the first run', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startDescribed({}, service);
    service.script.status = { ...service.script.status, repairing: true };
    const status = await ask('/v1/status');
    expect([status.status, status.json().repairing]).toEqual([200, true]);
    expect(status.json()).not.toHaveProperty('last_run');
    const ready = await ask('/readyz', { token: null });
    expect([ready.status, ready.json()]).toEqual([200, { status: 'ok', repairing: true }]);
    service.script.status = { ...service.script.status, repairing: false };
    expect((await ask('/readyz', { token: null })).json()).toEqual({ status: 'ok' });
    await stop();
  });
});

describe('while the engine is away and tells of no changes', () => {
  test.each(['/v1/containers', '/v1/containers/details', '/v1/images', '/v1/containers?name=web', '/v1/images?name=x'])(
    '%s answers 500 instead of what was true once',
    async (path) => {
      const service = createScriptedService();
      const { ask, stop } = await startDescribed({}, service);
      expect((await ask(path)).status).toBe(200);
      service.script.inventoryFailure = new ServiceError('engine-unreachable', 'Cannot reach "/run/engine.sock"');
      const reply = await ask(path);
      expectErrorBody(reply);
      expect([reply.status, reply.json().error]).toEqual([500, 'the container engine cannot be reached']);
      service.script.inventoryFailure = undefined;
      expect((await ask(path)).status).toBe(200);
      await stop();
    },
  );
});

describe('GET /v1/metrics', () => {
  test('is the text format of Prometheus', async () => {
    const reply = await scene.ask('/v1/metrics');
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(reply.text).toContain('up 1\n');
  });
});

describe('health', () => {
  test.each(['/livez', '/startupz', '/readyz'])('%s says that all is well', async (path) => {
    const reply = await scene.ask(path, { token: null });
    expect([reply.status, reply.json()]).toEqual([200, { status: 'ok' }]);
  });

  test('/readyz says why it is not, and the others do not mind', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startDescribed({}, service);
    service.script.readyFailure = new ServiceError('engine-unreachable', 'Cannot reach "/var/run/docker.sock"');
    const reply = await ask('/readyz', { token: null });
    expect([reply.status, reply.json().error]).toEqual([503, 'the container engine cannot be reached']);
    expectErrorBody(reply);
    for (const path of ['/livez', '/startupz']) expect((await ask(path)).status).toBe(200);
    service.script.readyFailure = undefined;
    expect((await ask('/readyz')).status).toBe(200);
    await stop();
  });

  test('/readyz gives up after its own limit', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startDescribed({ limits: { readinessTimeoutMs: 60 } }, service);
    service.script.checkEnds = new Promise(() => undefined);
    expect((await ask('/readyz')).status).toBe(503);
    await stop();
  });
});
