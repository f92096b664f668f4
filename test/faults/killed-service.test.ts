import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { effectsScene } from '../integration/effects/scene.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';

const rounds = 50;
const decided = ['web', 'db'] as const;
/** Each decision ends in its own minute, which identifies it. */
const firstEndMs = Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000;

describeInLab('a service that is killed again and again while people decide', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'killed-service');
  const folder = mkdtempSync(join(tmpdir(), 'killed-service-'));
  afterAll(async () => {
    await engine.clear();
    rmSync(folder, { recursive: true });
  });

  async function serve() {
    const args = ['run', '--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0'];
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', `${apiToken}-events`];
    const when = ['--update-on-start', '--approve', 'true', '--health-window', '200ms'];
    const service = startUpkeep(
      [...args, ...tokens, ...when, '--http-api-rate-limit', '100000', '--state-dir', folder],
      {
        socket: engine.socket,
      },
    );
    await service.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    return { service, url };
  }

  const idsNow = async () => await Promise.all(['web', 'db', 'tv'].map(async (name) => (await inspect(name)).Id));

  /** Number of the decision, by container. */
  async function decisionsAt(url: string): Promise<ReadonlyMap<string, number>> {
    const { decisions } = (await ask(url, '/v1/decisions')).json();
    return new Map(
      (decisions as { container: string; until: string }[]).map(({ container, until }) => [
        container,
        (Date.parse(until) - firstEndMs) / 60_000,
      ]),
    );
  }

  test(`${rounds} kills lose no decision that was acknowledged, and let no update begin that was not approved`, async () => {
    const before = await Promise.all(['web', 'db', 'tv'].map(async (name) => (await stale(name)).Id));
    const acknowledged = new Map<string, number>();
    let n = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { service, url } = await serve();
      const known = await decisionsAt(url);
      for (const [name, number] of acknowledged)
        expect(known.get(name) ?? -1, `round ${round}, ${name}`).toBeGreaterThanOrEqual(number);
      await ask(url, '/v1/check', { method: 'POST' });
      const { containers } = (await ask(url, '/v1/containers/details')).json();
      const digests = new Map(
        (containers as { name: string; latest_digest: string }[]).map((one) => [one.name, one.latest_digest]),
      );
      const enough = Math.floor(Math.random() * 12);
      for (let count = 0; ; count += 1) {
        if (count === enough) setTimeout(() => service.child.kill('SIGKILL'), Math.random() * 8);
        n += 1;
        const container = decided[n % decided.length] ?? 'web';
        const until = new Date(firstEndMs + n * 60_000).toISOString();
        const body = JSON.stringify({ container, decision: 'snooze', digest: digests.get(container), until });
        const reply = await ask(url, '/v1/decisions', { method: 'POST', body }).catch(() => undefined);
        if (reply === undefined) break;
        expect(reply.status, reply.text).toBe(201);
        expect(reply.json().kept).toBe(true);
        acknowledged.set(container, n);
      }
      await service.ended;
      expect(await idsNow()).toEqual(before);
    }
    const { service, url } = await serve();
    await ask(url, '/v1/check', { method: 'POST' });
    const [tv] = (await ask(url, '/v1/containers/details?name=tv')).json().containers;
    const body = JSON.stringify({ container: 'tv', decision: 'approve', digest: tv.latest_digest });
    expect((await ask(url, '/v1/decisions', { method: 'POST', body })).status).toBe(201);
    await ask(url, '/v1/update', { method: 'POST' });
    const after = await idsNow();
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(after[2]).not.toBe(before[2]);
    service.child.kill('SIGTERM');
    await service.ended;
  });
});
