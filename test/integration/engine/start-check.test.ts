import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { apiToken } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

type Entry = {
  readonly name: string;
  readonly started_at?: string;
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

  test('a service checks what it shows when it starts, once, and updates nothing', { timeout: 120_000 }, async () => {
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
    // The start of a container's process is read a moment later.
    for (const [name, { started_at: _, ...entry }] of states) expect(again.get(name)).toMatchObject(entry);
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
    ['with --no-start-check', 'containers', ['--no-start-check']],
    ['with --start-check=false', 'containers', ['--start-check=false']],
    ['of groups that show no containers', 'health,update', []],
  ])('a service %s does not check', { timeout: 60_000 }, async (_, groups, more) => {
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
