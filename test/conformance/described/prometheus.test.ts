import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { apiToken } from '../../support/http/http-scene.ts';
import { startWholeService, type WholeService } from '../../support/http/whole-service.ts';

const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;

describe.skipIf(!isThere('promtool') || !isThere('prometheus'))('Prometheus', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-prometheus-'));
  let scene: WholeService;
  beforeAll(async () => {
    scene = await startWholeService({ service: { healthWindowMs: 50 } });
    scene.publish('ghcr.io/acme/api:2', '1');
    await scene.run('api', 'ghcr.io/acme/api:2');
    await scene.ask('/v1/update', { method: 'POST' });
  });
  afterAll(async () => {
    await scene.stop();
    rmSync(folder, { recursive: true });
  });

  test('promtool has nothing to say about the metrics', async () => {
    const { text } = await scene.ask('/v1/metrics');
    const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([0, '', '']);
  });

  test('itself scrapes them with the token, and learns of an update', async () => {
    const prometheus = await startPrometheus();
    await vi.waitUntil(async () => (await prometheus.valueOf('up{job="upkeep"}')) === 1, inTime);
    expect(await prometheus.valueOf('upkeep_containers_scanned')).toBe(1);
    const scansBefore = await prometheus.valueOf('watchtower_scans_total');
    expect(scansBefore).toBeGreaterThanOrEqual(1);
    await scene.ask('/v1/update', { method: 'POST' });
    await vi.waitUntil(
      async () => (await prometheus.valueOf('watchtower_scans_total')) === (scansBefore ?? 0) + 1,
      inTime,
    );
    expect(await prometheus.valueOf('histogram_quantile(0.5, upkeep_run_duration_seconds_bucket)')).toBeGreaterThan(0);
    await prometheus.stop();
  });

  async function startPrometheus() {
    const config = join(folder, 'prometheus.yml');
    writeFileSync(
      config,
      [
        'global: { scrape_interval: 1s, scrape_timeout: 1s }',
        'scrape_configs:',
        '  - job_name: upkeep',
        '    metrics_path: /v1/metrics',
        `    authorization: { credentials: ${apiToken} }`,
        `    static_configs: [{ targets: ["127.0.0.1:${scene.port}"] }]`,
      ].join('\n'),
    );
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`, '--log.level=error'];
    const child = spawn('prometheus', [...args, `--web.listen-address=${address}`], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('close', resolve));
    return {
      /** Undefined if there is no sample or no answer. */
      valueOf: async (query: string): Promise<number | undefined> => {
        const url = `http://${address}/api/v1/query?query=${encodeURIComponent(query)}`;
        const reply = (await fetch(url)
          .then((response) => response.json())
          .catch(() => undefined)) as Answer | undefined;
        const value = reply?.data?.result?.[0]?.value[1];
        return value === undefined ? undefined : Number(value);
      },
      stop: async () => {
        child.kill();
        await ended;
      },
    };
  }
});

type Answer = {
  readonly data?: { readonly result?: readonly { readonly value: readonly [number, string] }[] };
};

const inTime = { timeout: 20_000, interval: 100 };

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      // A server on a TCP port has an address of this kind while it listens.
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
