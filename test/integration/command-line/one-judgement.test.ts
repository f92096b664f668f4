import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('check, plan, update, lists and the API', (lab) => {
  const { engine } = lab;
  const { run, stale, push, image } = effectsScene(lab, 'one-judgement');
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'one-judgement-'))));
  afterEach(async () => {
    await engine.clear();
    rmSync(folder, { recursive: true });
  });

  const env = () => ({ UPKEEP_STATE_DIR: folder, DOCKER_HOST: `unix://${engine.socket}`, UPKEEP_HEALTH_WINDOW: '1s' });
  const upkeep = (...args: readonly string[]) => runUpkeep(args, { env: env() });

  /** The word of each container in a table. */
  function words(table: string): Readonly<Record<string, string>> {
    const rows = table.split('\n').map((line) => /^(\w+) {2,}(\S+(?: \S+)*) {2,}/.exec(line));
    return Object.fromEntries(rows.flatMap((row) => (row ? [[row[1] ?? '', row[2] ?? '']] : [])).slice(1));
  }

  test('use one word for what no update changes, and promise nothing that it refuses', async () => {
    await stale('removes', { config: { HostConfig: { AutoRemove: true } } });
    const paused = await stale('paused');
    await stale('borrows', {
      config: { Cmd: ['sleep', '1000000'], HostConfig: { NetworkMode: `container:${paused.Id}` } },
    });
    await engine.call('POST', `/containers/${paused.Id}/pause`);
    await stale('watched', { config: { Labels: { 'upkeep.monitor-only': 'true' } } });
    await stale('asks', { config: { Labels: { 'upkeep.approve': 'always' } } });
    await stale('bad', { next: catalogue.crash });
    const { digest } = await push('pinned', catalogue['plain-v1']);
    const pinned = `${image('pinned').replace(/:stable$/, '')}@${digest}`;
    await engine.pull(pinned);
    await engine.run('pinned', pinned);
    await run('fine');
    expect(await upkeep('update', 'bad')).toMatchObject({ code: 1 });

    const wanted = {
      removes: 'not replaced by an update',
      paused: 'not replaced by an update',
      borrows: 'not replaced by an update',
      watched: 'monitored only',
      asks: 'waits for your approval',
      bad: 'failed; back on v1',
      pinned: 'pinned to a digest',
      fine: 'up to date',
    };
    const check = await upkeep('check');
    expect(words(check.stdout)).toEqual(wanted);
    expect(check.stdout).toMatch(/^removes .*\(--rm\)/m);
    expect(check.stdout).toMatch(/^paused .*is paused/m);
    const plan = await upkeep('update', '--dry-run');
    expect(plan.stdout).toContain('Nothing would be updated');
    expect(plan.stdout).toMatch(/These are held back\n(?: {2}.*\n)*? {2}removes: .*--rm/);
    expect(plan.stdout).not.toContain('leave alone');
    const update = await upkeep('update');
    expect([update.code, words(update.stdout)]).toEqual([0, wanted]);
    expect(update.stdout).toContain('6 held back, 1 pinned to a digest, 1 up to date');

    const api = { UPKEEP_HTTP_API_ENDPOINTS: 'check,containers,metrics', UPKEEP_HTTP_API_TOKEN: 'secret' };
    const args = ['run', '--http-api-host', '127.0.0.1', '--http-api-port', '18796'];
    const service = startUpkeep(args, { env: { ...env(), ...api } });
    onTestFinished(async () => {
      service.child.kill('SIGTERM');
      await service.ended;
    });
    await service.seen('"listening"');
    const ask = async (method: string, path: string) => {
      const headers = { Authorization: 'Bearer secret' };
      const answer = await fetch(`http://127.0.0.1:18796/v1/${path}`, { method, headers });
      return (await answer.json()) as { containers: Record<string, unknown>[] };
    };
    await ask('POST', 'check');
    const { containers } = await ask('GET', 'containers/details');
    expect(
      Object.fromEntries(containers.map(({ name, verdict, stale: isStale }) => [name, [verdict, isStale]])),
    ).toEqual({
      ...Object.fromEntries(Object.keys(wanted).map((name) => [name, ['held', false]])),
      pinned: ['pinned', false],
      fine: ['fresh', false],
    });
    expect(containers.find(({ name }) => name === 'removes')).toMatchObject({ hold: 'not-replaceable' });
    expect(words((await upkeep('containers')).stdout)).toEqual(wanted);
  });

  test('--exit-code counts no version that no update applies', async () => {
    await stale('removes', { config: { HostConfig: { AutoRemove: true } } });
    expect((await upkeep('check', '--exit-code')).code).toBe(0);
    expect((await upkeep('check', '--exit-code', '--update-auto-remove')).code).toBe(10);
    await stale('web');
    expect((await upkeep('check', '--exit-code')).code).toBe(10);
  });
});
