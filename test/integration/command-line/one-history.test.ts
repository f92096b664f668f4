import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';

describeInLab('the command line beside a service with the same folder', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/one-history/web:stable`;
  let folder = '';
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'one-history-'));
    await pushImage(registry, 'one-history/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image);
  });
  afterEach(async () => {
    await engine.clear();
    rmSync(folder, { recursive: true });
  });

  /** As in the container of the service: its variables, and no options. */
  const env = () => ({ UPKEEP_STATE_DIR: folder, DOCKER_HOST: `unix://${engine.socket}`, UPKEEP_HEALTH_WINDOW: '1s' });
  const upkeep = (...args: readonly string[]) => runUpkeep(args, { env: env() });

  async function service(port: number): Promise<ReturnType<typeof startUpkeep>> {
    const api = { UPKEEP_HTTP_API_ENDPOINTS: 'history,containers,metrics', UPKEEP_HTTP_API_TOKEN: 'secret' };
    const args = ['run', '--http-api-host', '127.0.0.1', '--http-api-port', String(port)];
    const started = startUpkeep(args, { env: { ...env(), ...api } });
    onTestFinished(async () => {
      started.child.kill('SIGTERM');
      await started.ended;
    });
    await started.seen('"listening"');
    return started;
  }

  async function read(port: number, path: string): Promise<Record<string, unknown>> {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/${path}`, { headers: { Authorization: 'Bearer secret' } });
    return (await answer.json()) as Record<string, unknown>;
  }

  test('an update of the command line is in its history at once', async () => {
    await service(18_791);
    const events = startUpkeep(['events', '--json'], { env: env() });
    onTestFinished(() => void events.child.kill('SIGTERM'));
    await upkeep('check');
    await pushImage(registry, 'one-history/web', 'stable', catalogue['plain-v2']);
    expect(await upkeep('update')).toMatchObject({ code: 0 });
    expect(await read(18_791, 'history')).toMatchObject({
      count: 1,
      entries: [{ trigger: 'command', updated: 1, containers: [{ name: 'web', outcome: 'updated', from: 'v1' }] }],
    });
    await events.seen('"scan_completed"');
    expect(await read(18_791, 'status')).toMatchObject({ summary: { updated: 1 } });
    expect(await read(18_791, 'containers/details')).toMatchObject({
      containers: [{ name: 'web', verdict: 'fresh', last: { outcome: 'updated' } }],
    });
    const listed = await upkeep('containers');
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/^web +up to date +v2 /m)]);
    const past = await upkeep('history');
    expect([past.code, past.stderr, past.stdout]).toEqual([
      0,
      '',
      expect.stringMatching(/command line +web updated \(v1 → v2\)/),
    ]);
  });

  test('no service is needed for the history, and events name the missing one', async () => {
    expect((await upkeep('history')).stdout).toBe('No updates yet\n');
    await pushImage(registry, 'one-history/web', 'stable', catalogue.crash);
    expect(await upkeep('update')).toMatchObject({ code: 1 });
    const document = JSON.parse((await upkeep('history', '--json')).stdout) as unknown;
    expect(document).toMatchObject({
      entries: [{ containers: [{ name: 'web', outcome: 'rolled_back', log: 'boom' }] }],
      api_version: 'v1',
    });
    const events = await upkeep('events');
    expect([events.code, events.stderr]).toEqual([1, expect.stringContaining('Cannot follow events: no service')]);
    expect((await upkeep('containers')).stdout).toContain('web');
  });

  test('the socket is for the owner only, replaces one of a killed service, and never a file', async () => {
    const path = join(folder, 'upkeep.sock');
    const killed = await service(18_792);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    killed.child.kill('SIGKILL');
    await killed.ended;
    await service(18_793);
    expect((await upkeep('containers', '--json')).stdout).toContain('"started_at"');
    const other = await service(18_794);
    expect(other.output()).toContain('another service with this folder is running');
    rmSync(path);
    writeFileSync(path, 'mine');
    const third = await service(18_795);
    expect(third.output()).toContain('a file with the name of the socket');
  });
});
