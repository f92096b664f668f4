import { execFile, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiToken, eventsToken } from '../../support/http/http-scene.ts';
import { startWholeService, type WholeService } from '../../support/http/whole-service.ts';

/** Existing clients: their requests, and their reading of the answers. */
let scene: WholeService;
beforeAll(async () => {
  scene = await startWholeService({ service: { healthWindowMs: 50 } });
  scene.publish('ghcr.io/acme/api:2', '1');
  await scene.run('api', 'ghcr.io/acme/api:2');
  await scene.ask('/v1/update', { method: 'POST' });
});
afterAll(() => scene.stop());

const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;

test('Homepage reads three numbers from lines that begin with "watchtower"', async () => {
  const { status, text } = await scene.ask('/v1/metrics', { headers: { 'accept-encoding': 'gzip, deflate' } });
  expect(status).toBe(200);
  const metrics: Record<string, string> = {};
  for (const line of text.split('\n').filter((each) => each.startsWith('watchtower'))) {
    const [name = '', value = ''] = line.split(' ');
    metrics[name] = value;
  }
  expect(metrics).toMatchObject({
    watchtower_containers_scanned: '1',
    watchtower_containers_updated: '0',
    watchtower_containers_failed: '0',
  });
});

test('Netdata splits every line that is no comment at its one space', async () => {
  const { text } = await scene.ask('/v1/metrics');
  const metrics = new Map<string, number>();
  for (const line of text.trimEnd().split('\n')) {
    if (line.startsWith('#')) continue;
    const parts = line.split(' ');
    expect(parts, line).toHaveLength(2);
    metrics.set(parts[0] ?? '', Number(parts[1]));
  }
  for (const name of [
    'containers_failed',
    'containers_scanned',
    'containers_updated',
    'scans_skipped',
    'scans_total',
  ]) {
    expect(metrics.get(`watchtower_${name}`)).toBeGreaterThanOrEqual(0);
  }
});

test('Home Assistant finds a number behind the name of a metric', async () => {
  const { text } = await scene.ask('/v1/metrics');
  expect(/watchtower_containers_updated\s+(\d+)/.exec(text)?.[1]).toBe('0');
});

test('Uptime Kuma asks without a token, and reads a keyword or a field', async () => {
  for (const path of ['/livez', '/readyz']) {
    const reply = await scene.ask(path, { token: null });
    expect([reply.status, reply.text.includes('ok'), reply.json().status]).toEqual([200, true, 'ok']);
  }
});

describe.skipIf(!isThere('curl'))('a CI job with curl', () => {
  const curl = (...args: readonly string[]) => run('curl', ['-s', ...args]);
  const bearer = ['-H', `Authorization: Bearer ${apiToken}`] as const;

  test.each([
    ['plainly', ['-f', '-X', 'POST'], '/v1/update'],
    ['for one image', ['-fsS', '-X', 'POST'], '/v1/update?image=ghcr.io/acme/api'],
    ['with a form of nothing', ['-f', '-d', ''], '/v1/update'],
    ['with JSON of nothing', ['-f', '-X', 'POST', '-H', 'Content-Type: application/json', '-d', '{}'], '/v1/update'],
    [
      'with what a registry sends',
      ['-f', '-H', 'Content-Type: application/vnd.docker.distribution.events.v1+json', '-d', '{"events":[]}'],
      '/v1/update/',
    ],
    ['with retries', ['-f', '--retry', '3', '--retry-all-errors', '-X', 'POST'], '/v1/update?async=true'],
  ])('updates %s', async (_, args, target) => {
    await rested();
    const { code, out } = await curl(...args, ...bearer, scene.url + target);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ api_version: 'v1' })]);
  });

  test('learns of a wrong token by its exit code', async () => {
    const { code } = await curl('-f', '-X', 'POST', '-H', 'Authorization: Bearer wrong', `${scene.url}/v1/update`);
    expect(code).toBe(22);
  });

  test('that forgets POST is told what is allowed', async () => {
    const { out } = await curl('-i', ...bearer, `${scene.url}/v1/update`);
    expect(out).toMatch(/^HTTP\/1\.1 405 /);
    expect(out).toMatch(/^allow: POST\r$/im);
  });

  test('that forgets POST is served with the switch for it', async () => {
    const compatible = await startWholeService({ settings: { watchtowerCompat: true } });
    const { code, out } = await curl('-f', ...bearer, `${compatible.url}/v1/update`);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ summary: expect.anything() })]);
    await compatible.stop();
  });

  test('that misspells "image" does not update everything', async () => {
    const { code } = await curl('-f', '-X', 'POST', ...bearer, `${scene.url}/v1/update?images=ghcr.io/acme/api`);
    expect(code).toBe(22);
  });

  test('curl -N shows events as they happen', async () => {
    await rested();
    const child = spawn('curl', ['-sN', '-H', `Authorization: Bearer ${eventsToken}`, `${scene.url}/v1/events`]);
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    while (!out.includes('retry: 5000')) await sleep(5);
    await scene.ask('/v1/check', { method: 'POST' });
    while (!out.includes('event: scan_completed')) await sleep(5);
    expect(child.exitCode).toBeNull();
    child.kill();
  });
});

test('a client that probes the token on /v1/metrics can tell right from wrong', async () => {
  expect((await scene.ask('/v1/metrics')).status).toBe(200);
  expect((await scene.ask('/v1/metrics', { token: 'wrong' })).status).toBe(401);
  expect((await scene.ask('/v1/update', { method: 'POST', token: 'wrong' })).status).toBe(401);
});

test('a button that gives up after a moment has still started the update', async () => {
  await rested();
  scene.registry.store.misbehave('ghcr.io', { kind: 'slow', ms: 300 });
  const before = scene.application.history().length;
  const moment = new AbortController();
  const impatient = scene.ask('/v1/update', { method: 'POST', signal: moment.signal });
  impatient.catch(() => undefined);
  while (!scene.application.status().running) await sleep(5);
  moment.abort();
  await expect(impatient).rejects.toThrow();
  await rested();
  expect(scene.application.history()).toHaveLength(before + 1);
  expect(scene.application.history().at(-1)).toMatchObject({ scanned: 1, failed: 0 });
  scene.registry.store.behaveAgain('ghcr.io');
});

async function rested(): Promise<void> {
  await sleep(20);
  while (scene.application.status().running) await sleep(5);
}

function run(program: string, args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    execFile(program, args, (error, out) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out }));
  });
}
