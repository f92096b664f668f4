import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { startFront, type FrontCall } from '../../lab/registry/registry-front.ts';
import { createRequestLimit } from '../../lab/registry/request-limit.ts';
import { apiToken } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

type Entry = {
  readonly name: string;
  readonly started_at?: string;
  readonly notes?: unknown;
  readonly checked_at?: string;
  readonly reason?: string;
};

describeInLab('the check at the start', (lab) => {
  const { engine } = lab;
  const { stale, run, inspect } = effectsScene(lab, 'start-check');
  afterEach(() => engine.clear());

  async function serve(groups: string, ...more: readonly string[]) {
    const args = ['run', '--http-api-endpoints', groups, '--http-api-host', '127.0.0.1', '--http-api-port', '0'];
    const service = startUpkeep([...args, '--http-api-token', apiToken, '--log-format', 'json', ...more], {
      socket: engine.socket,
    });
    onTestFinished(() => void service.child.kill('SIGKILL'));
    await service.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    const entries = async () => {
      const headers = { Authorization: `Bearer ${apiToken}` };
      const answer = await fetch(`${url}/v1/containers/details`, { headers });
      const { containers } = (await answer.json()) as { containers: readonly Entry[] };
      return new Map(containers.map((entry) => [entry.name, entry]));
    };
    const checked = (count: number) =>
      vi.waitFor(
        async () => {
          const now = await entries();
          expect([...now.values()].filter(({ checked_at: at }) => at !== undefined)).toHaveLength(count);
          return now;
        },
        { timeout: 30_000, interval: 200 },
      );
    const end = async () => {
      service.child.kill('SIGTERM');
      await service.ended;
    };
    return { service, entries, checked, end };
  }

  test('a service checks what it shows when it starts, once, and updates nothing', async () => {
    const folder = mkdtempSync(join(lab.dir, 'start-check-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const web = await stale('web');
    await stale('watched', { config: { Labels: { 'upkeep.monitor-only': 'true' } } });
    await run('calm');
    const first = await serve('containers', '--state-dir', folder);
    const states = await first.checked(3);
    expect(states.get('web')).toMatchObject({ stale: true });
    expect(states.get('watched')?.reason).toMatch(/monitored only/);
    expect(states.get('calm')).toMatchObject({ stale: false });
    expect((await inspect('web')).Id).toBe(web.Id);
    await first.end();
    expect(readFileSync(join(folder, 'checks.jsonl'), 'utf8')).toContain('monitored only');

    // The next process shows the same at once, with its age, and does not ask again so soon.
    const second = await serve('containers', '--state-dir', folder);
    const again = await second.entries();
    // The start of a container's process is read a moment later, and so are release notes.
    for (const [name, { started_at: _, notes: _notes, ...entry }] of states)
      expect(again.get(name)).toMatchObject(entry);
    await run('late');
    await second.service.seen('No periodic updates, because the HTTP API is on');
    await second.end();
    expect(second.service.output()).not.toContain('failed');

    // A container that nobody has checked is, and only that one.
    const third = await serve('containers', '--state-dir', folder);
    const now = await third.checked(4);
    for (const [name, entry] of states) expect(now.get(name)?.checked_at).toBe(entry.checked_at);
    await third.end();
  });

  test.each([
    ['announces none left, and refuses for an hour', 4, 5],
    ['has used up its allowance before', 0, 1],
    ['announces more than is needed', 100, 40],
  ])('a registry that %s is asked within its limit, and not again by a restart', async (_, allowed, most) => {
    const folder = mkdtempSync(join(lab.dir, 'start-check-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const counts = ({ path }: FrontCall) => path.includes('/manifests/');
    const limit = createRequestLimit({ limit: allowed, windowMs: 3_600_000, counts });
    let isLimited = false;
    const says = (call: FrontCall) => (isLimited ? limit.says(call) : {});
    const front = await startFront({ upstreams: {}, otherwise: lab.registry.url, says });
    onTestFinished(() => front.close());
    const names = Array.from({ length: 14 }, (_one, i) => `web-${i}`);
    for (const name of names) {
      await pushImage(lab.registry, `start-check/${name}`, 'stable', webServer(`${name} old`));
      const image = `127.0.0.1:${front.port}/start-check/${name}:stable`;
      await engine.pull(image);
      await engine.create(name, image);
      await pushImage(lab.registry, `start-check/${name}`, 'stable', webServer(`${name} new`));
    }
    isLimited = true;
    const first = await serve('containers', '--state-dir', folder, '--include-stopped');
    await first.checked(names.length);
    await first.end();
    const { asked = 0 } = limit.windows[0] ?? {};
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(most);

    const again = await serve('containers', '--state-dir', folder, '--include-stopped', '--log-level', 'debug');
    await again.checked(names.length);
    // Longer than the largest delay before the check.
    await new Promise((resolve) => setTimeout(resolve, 4000));
    await again.end();
    expect(limit.windows.map((window) => window.asked)).toEqual([asked]);
  });

  test.each([
    ['with --no-start-check', 'containers', ['--no-start-check']],
    ['with --start-check=false', 'containers', ['--start-check=false']],
    ['of groups that show no containers', 'health,update', []],
  ])('a service %s does not check', async (_, groups, more) => {
    await stale('web');
    const { service, entries, end } = await serve(groups, ...more, '--log-level', 'debug');
    await service.seen('No periodic updates, because the HTTP API is on');
    // Longer than the largest delay before the check.
    await new Promise((resolve) => setTimeout(resolve, 4000));
    if (groups === 'containers') expect((await entries()).get('web')?.checked_at).toBeUndefined();
    expect(service.output()).not.toContain('"trigger":"start"');
    await end();
  });
});
