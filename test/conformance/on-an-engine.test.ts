import { symlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { dataOf, followEvents } from '../support/http/event-reader.ts';
import { apiToken, ask as askAt, eventsToken, type HttpScene, webhookSecret } from '../support/http/http-scene.ts';
import { startUpkeep, type UpkeepProcess } from '../support/scene/run-upkeep.ts';
import { describedAsk } from './described/described.ts';

/**
 * The executable with its API on a real engine and a real registry: the main cases of the suites that use the sandbox.
 */
describeInLab('the HTTP API on a real engine', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/http-api/web:stable`;
  let service: UpkeepProcess;
  let url: string;
  let ask: HttpScene['ask'];

  beforeAll(async () => {
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', eventsToken];
    const args = [
      'run',
      '--http-api-endpoints',
      'all',
      '--http-api-port',
      '0',
      '--http-api-rate-limit',
      '100000',
      '--http-api-webhook-secret',
      webhookSecret,
      '--http-api-webhook-update',
      ...tokens,
    ];
    const all = [...args, '--no-start-check', '--health-window', '1s', '--cleanup'];
    service = startUpkeep(all, { socket: engine.socket });
    await service.seen('"listening"');
    [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    ask = await describedAsk({ ask: (target, options) => askAt(url, target, options) });
  });
  afterEach(() => engine.clear());
  afterAll(async () => {
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });

  const post = (target: string) => ask(target, { method: 'POST' });
  const listed = async () => (await ask('/v1/containers')).json().containers as { name: string; image_id: string }[];
  async function runStale(): Promise<void> {
    await pushImage(registry, 'http-api/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 2 });
    await pushImage(registry, 'http-api/web', 'stable', catalogue['plain-v2']);
    await until(async () => (await listed()).length === 1);
  }

  test('is ready, and lists nothing where nothing runs', async () => {
    expect((await ask('/readyz', { token: null })).status).toBe(200);
    expect(await listed()).toEqual([]);
    expect((await ask('/v1/config')).json().options).toContainEqual({
      name: 'cleanup',
      value: 'true',
      source: '--cleanup',
      given: true,
      meaning: expect.any(String),
    });
    expect(service.output()).not.toContain(apiToken);
    expect(service.output()).toContain('No periodic updates, because the HTTP API is on');
  });

  test('a check finds what an update then replaces, and the events, the history and the lists agree', async () => {
    await runStale();
    const reader = await followEvents(url);
    const checked = (await post('/v1/check?container=web')).json().containers[0];
    expect(checked).toMatchObject({ update_available: true, status: 'stale', image });
    const { summary, run_id, containers } = (await post(`/v1/update?image=${registry.host}/http-api/web`)).json();
    expect(summary).toEqual({ scanned: 1, updated: 1, failed: 0, restarted: 0, skipped: 0 });
    expect(containers[0]).toMatchObject({
      outcome: 'updated',
      old_digest: checked.digest,
      new_digest: checked.latest_digest,
    });
    const kinds = (await reader.frames(7)).map((frame) => dataOf(frame).type);
    expect(kinds).toEqual([
      'scan_started',
      'scan_completed',
      'scan_started',
      'update_started',
      'update_completed',
      'image_cleanup',
      'scan_completed',
    ]);
    reader.end();
    expect((await ask('/v1/history')).json().entries.at(-1)).toMatchObject({ run_id, updated: 1 });
    await until(async () => (await listed())[0]?.image_id === containers[0].new_image_id);
  });

  test('with extra=true the stream tells the steps of the update between its events', async () => {
    await runStale();
    const reader = await followEvents(url, { extra: true });
    await post('/v1/update?container=web');
    await reader.until((text) => text.includes('"type":"scan_completed"'));
    const told = reader
      .text()
      .split('\n\n')
      .filter((frame) => frame.startsWith('event: ') || frame.startsWith('id: '))
      .map((frame) => dataOf(frame));
    reader.end();
    const kinds = told.map(({ type }) => type);
    expect(kinds.slice(0, 3)).toEqual(['scan_started', 'container_checked', 'update_started']);
    expect(kinds.filter((kind) => kind !== 'phase_entered' && kind !== 'pull_progress')).toEqual([
      'scan_started',
      'container_checked',
      'update_started',
      'update_completed',
      'image_cleanup',
      'scan_completed',
    ]);
    expect(told[1].data).toMatchObject({ container: 'web', image, verdict: 'stale', run_id: told[0].data.run_id });
    expect(told.filter(({ type }) => type === 'phase_entered').map(({ data }) => [data.container, data.phase])).toEqual(
      ['pulling', 'preparing', 'stopping', 'starting', 'checking health', 'committing'].map((phase) => ['web', phase]),
    );
    for (const { data } of told.filter(({ type }) => type === 'pull_progress'))
      expect(data).toMatchObject({ container: 'web', total_bytes: expect.any(Number) });
  });

  test('the details, the images and the metrics tell of it too', async () => {
    await runStale();
    expect((await ask('/v1/containers/details?name=web')).json().containers).toMatchObject([
      { running: true, status: 'running', self: false, enabled: true, stale: false, labels_in_effect: {} },
    ]);
    await post('/v1/check');
    const [web] = (await ask('/v1/containers/details')).json().containers;
    expect(web).toMatchObject({ stale: true, update_available: true, checked_at: expect.any(String) });
    expect((await ask(`/v1/images?name=${registry.host}/http-api/web`)).json()).toMatchObject({
      count: 1,
      images: [{ name: image, image_id: web.image_id, digest: web.digest, containers: 1 }],
    });
    expect((await ask('/v1/images?name=nginx')).json()).toMatchObject({ count: 0, images: [] });
    expect(await metric('upkeep_updates_available')).toBe(1);

    const scansBefore = await metric('watchtower_scans_total');
    await post('/v1/update');
    expect(await metric('watchtower_scans_total')).toBe(scansBefore + 1);
    expect(await metric('watchtower_containers_updated')).toBe(1);
    await until(async () => (await ask('/v1/images')).json().images[0]?.digest === web.latest_digest);
    const after = (await ask('/v1/containers/details')).json().containers[0];
    expect(after).toMatchObject({ name: 'web', stale: false, digest: web.latest_digest });
    expect(after.id).not.toBe(web.id);
  });

  test('a webhook of a registry is followed by a check, and by an update where it is told so', async () => {
    await runStale();
    const [before] = await listed();
    const reader = await followEvents(url);
    const push = { action: 'push', target: { repository: 'http-api/web', tag: 'stable' } };
    const events = [{ ...push, request: { host: 'a-name-behind-a-proxy:5000' } }];
    const hook = `/v1/hooks/registry?token=${webhookSecret}`;
    const reply = await ask(hook, { method: 'POST', token: null, body: JSON.stringify({ events }) });
    expect([reply.status, reply.json()]).toMatchObject([202, { matched: ['web'], status: 'accepted' }]);
    await reader.until((text) => text.includes('event: update_completed'));
    reader.end();
    await until(async () => (await listed())[0]?.image_id !== before?.image_id);
    expect(service.output()).not.toContain(webhookSecret);
  });

  test('a release that does not start is taken back, and told as failed', async () => {
    await runStale();
    await pushImage(registry, 'http-api/web', 'stable', catalogue.unstartable);
    const reader = await followEvents(url);
    const { summary, containers } = (await post('/v1/update')).json();
    expect(summary).toMatchObject({ scanned: 1, updated: 0, failed: 1 });
    expect(containers).toMatchObject([{ outcome: 'rolled_back', reason: expect.stringMatching(/\S/) }]);
    const failed = (await reader.frames(3)).map(dataOf).find(({ type }) => type === 'update_failed');
    expect(failed.data).toMatchObject({ container: 'web', rolled_back: true });
    reader.end();
    expect((await engine.inspect('web'))?.State.Running).toBe(true);
    expect((await ask('/v1/history?limit=1')).json().entries).toMatchObject([{ failed: 1, rolled_back: 1 }]);
  });

  test('what others do to the engine shows at once', async () => {
    await runStale();
    const lagsMs: number[] = [];
    const names = () => listed().then((containers) => containers.map(({ name }) => name).join());
    const seen = async (expected: string) => {
      const doneMs = performance.now();
      await until(async () => (await names()) === expected, 1);
      lagsMs.push(performance.now() - doneMs);
    };
    for (let round = 0; round < 10; round += 1) {
      const name = round % 2 === 0 ? 'renamed' : 'web';
      await engine.call('POST', `/containers/${await names()}/rename?name=${name}`);
      await seen(name);
      await engine.run('passing', image);
      await until(async () => (await listed()).length === 2, 1);
      await engine.call('DELETE', '/containers/passing?force=1');
      await seen(name);
    }
    const [median, most] = [Math.floor(lagsMs.length / 2), lagsMs.length - 1].map((at) =>
      lagsMs.toSorted((a, b) => a - b)[at]?.toFixed(0),
    );
    console.log(`\nRESULT renames and removals by others shown after ${median} ms at the median, ${most} ms at most`);
  });

  test('an update in the background goes on without its client', async () => {
    await runStale();
    const { run_id } = (await post('/v1/update?async=true')).json();
    expect((await post('/v1/update')).status).toBe(429);
    await until(async () => (await ask('/v1/history')).json().entries.at(-1)?.run_id === run_id);
    expect((await ask('/v1/status')).json()).toMatchObject({ running: false, summary: { updated: 1 } });
  });

  test('an engine that comes late is found, and what runs there is listed', async () => {
    await runStale();
    const socket = `${lab.dir}/late.sock`;
    const late = startUpkeep(['run', '--http-api-endpoints', 'health,containers', '--http-api-port', '0'], {
      socket,
      env: { UPKEEP_HTTP_API_TOKEN: apiToken },
    });
    await late.seen('Waiting for the container engine');
    const [, address = ''] = /"address":"([^"]+)"/.exec(late.output()) ?? [];
    expect((await askAt(address, '/readyz')).status).toBe(503);
    symlinkSync(engine.socket, socket);
    await late.seen('No periodic updates, because the HTTP API is on');
    expect((await askAt(address, '/readyz')).status).toBe(200);
    await until(async () => (await askAt(address, '/v1/containers')).json().count === 1);
    late.child.kill('SIGTERM');
    expect((await late.ended).code).toBe(0);
  });

  test('without endpoints nothing listens; with them, port 8080 of every interface does', async () => {
    const plain = startUpkeep(['run'], { socket: engine.socket });
    await plain.seen('Updates every 1d');
    await expect(askAt('http://127.0.0.1:8080', '/livez')).rejects.toThrow(/ECONNREFUSED/);
    plain.child.kill('SIGTERM');
    expect((await plain.ended).code).toBe(0);

    const served = startUpkeep(['run', '--http-api-endpoints', 'health'], { socket: engine.socket });
    await served.seen('"listening"');
    for (const host of ['127.0.0.1', '127.0.0.2', '[::1]'])
      expect([host, (await askAt(`http://${host}:8080`, '/livez')).status]).toEqual([host, 200]);
    served.child.kill('SIGTERM');
    expect((await served.ended).code).toBe(0);
  });

  test('the schedule counts besides the API where it is told so', async () => {
    const args = ['--http-api-endpoints', 'history', '--http-api-port', '0', '--interval', '1s'];
    const polling = startUpkeep(['run', ...args, '--http-api-periodic-polls'], {
      socket: engine.socket,
      env: { UPKEEP_HTTP_API_TOKEN: apiToken },
    });
    await polling.seen('Updates every 1s, and on request over the API');
    const [, address = ''] = /"address":"([^"]+)"/.exec(polling.output()) ?? [];
    await until(async () => (await askAt(address, '/v1/history')).json().entries[0]?.trigger === 'schedule');
    polling.child.kill('SIGTERM');
    expect((await polling.ended).code).toBe(0);
  });

  async function metric(name: string): Promise<number> {
    const { text } = await ask('/v1/metrics');
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    );
  }

  async function until(isSo: () => Promise<boolean>, pauseMs = 20): Promise<void> {
    const deadlineMs = performance.now() + 15_000;
    while (!(await isSo())) {
      if (performance.now() > deadlineMs) throw new Error('it never came to that');
      await sleep(pauseMs);
    }
  }
});
