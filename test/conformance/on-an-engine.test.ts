import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { catalogue } from '../lab/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/push.ts';
import { dataOf, followEvents } from '../support/event-reader.ts';
import { apiToken, ask as askAt, eventsToken, type HttpScene } from '../support/http-scene.ts';
import { startUpkeep, type UpkeepProcess } from '../support/run-upkeep.ts';
import { describedAsk } from './described.ts';

/** The executable with its API on a real engine and a real registry: the core of what the other suites ask of the sandbox. */
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
      ...tokens,
    ];
    service = startUpkeep([...args, '--health-window', '1s', '--cleanup'], { socket: engine.socket });
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

  test('what others do to the engine shows within 100 ms', async () => {
    await runStale();
    await engine.call('POST', '/containers/web/rename?name=renamed');
    await sleep(100);
    expect((await listed()).map(({ name }) => name)).toEqual(['renamed']);
    await engine.call('DELETE', '/containers/renamed?force=1');
    await sleep(100);
    expect(await listed()).toEqual([]);
  });

  test('an update in the background goes on without its client', async () => {
    await runStale();
    const { run_id } = (await post('/v1/update?async=true')).json();
    expect((await post('/v1/update')).status).toBe(429);
    await until(async () => (await ask('/v1/history')).json().entries.at(-1)?.run_id === run_id);
    expect((await ask('/v1/status')).json()).toMatchObject({ running: false, summary: { updated: 1 } });
  });

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + 15_000;
    while (!(await isSo())) {
      if (performance.now() > deadlineMs) throw new Error('it never came to that');
      await sleep(20);
    }
  }
});
