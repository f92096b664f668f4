import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './effects/scene.ts';

describeInLab('a container that is kept after its update', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'keep-old');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  /** Podman before 5 can keep only containers without a restart policy. */
  const restartPolicy = (Name: string) => (isPodman ? {} : { RestartPolicy: { Name, MaximumRetryCount: 0 } });
  const run = (...args: string[]) => runUpkeep(args, { socket: engine.socket });
  const keptName = async () => (await scene.names()).filter((name) => name.startsWith('web.upkeep-kept-'));

  /** Content that only the container's writable layer has. */
  async function read(path: string): Promise<string> {
    const { body } = await engine.call('POST', '/containers/web/exec', {
      Cmd: ['cat', path],
      AttachStdout: true,
      Tty: true,
    });
    const { Id } = body as { Id: string };
    return String((await engine.call('POST', `/exec/${Id}/start`, { Tty: true })).body).trim();
  }

  test('is stopped, has no policy, and is nothing that anyone watches', async () => {
    const { Id, next } = await scene.stale('web', { config: { HostConfig: restartPolicy('always') } });
    expect((await upkeep.update('--keep-old', '2h')).outcomes['web']).toMatchObject({ outcome: 'updated' });
    const [kept = ''] = await keptName();
    expect(await scene.names()).toEqual(['web', kept]);
    expect(await scene.inspect(kept)).toMatchObject({
      Id,
      State: { Running: false },
      HostConfig: { RestartPolicy: { Name: expect.toBeOneOf(['', 'no']) } },
    });
    expect(await scene.inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(next)]),
      State: { Running: true },
      HostConfig: restartPolicy('always'),
    });
    expect((await run('containers', '--include-stopped')).stdout).not.toContain('upkeep-kept');
    expect(Object.keys(await upkeep.check('--include-stopped'))).toEqual(['web']);
    const { outcomes, run: again } = await upkeep.update('--include-stopped', '--cleanup');
    expect(Object.keys(outcomes), again.stderr).toEqual(['web']);
    expect(await keptName()).toEqual([kept]);
  });

  test('comes back as it was, with what it had written outside of volumes', async () => {
    const Cmd = [
      'sh',
      '-c',
      "trap 'exit 0' TERM; test -e /tmp/mark || hostname > /tmp/mark; while :; do sleep 0.1; done",
    ];
    const { Id, Config } = await scene.stale('web', { config: { Cmd, HostConfig: restartPolicy('unless-stopped') } });
    const mark = String(Config['Hostname']);
    await upkeep.update('--keep-old', '2h');
    expect((await scene.inspect('web')).Id).not.toBe(Id);
    const { code, stdout, stderr } = await run('rollback', 'web', '--health-window', '1s');
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toContain('back to the kept container');
    expect(await scene.inspect('web')).toMatchObject({
      Id,
      State: { Running: true },
      HostConfig: restartPolicy('unless-stopped'),
    });
    expect(await read('/tmp/mark')).toBe(mark);
    expect(await scene.names()).toEqual(['web']);
    expect((await upkeep.update()).outcomes['web']?.outcome).toBe('skipped');
  });

  test.skipIf(isPodman)('comes back with the restart policy that a person has set meanwhile', async () => {
    const { Id } = await scene.stale('web', { config: { HostConfig: restartPolicy('unless-stopped') } });
    await upkeep.update('--keep-old', '2h');
    await engine.call('POST', '/containers/web/update', restartPolicy('on-failure'));
    expect((await run('rollback', 'web', '--health-window', '1s')).code).toBe(0);
    expect(await scene.inspect('web')).toMatchObject({
      Id,
      State: { Running: true },
      HostConfig: restartPolicy('on-failure'),
    });
  });

  test('would not be kept with a restart policy that the engine cannot take from it', async () => {
    const HostConfig = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } };
    await scene.stale('web', { config: { HostConfig } });
    const { outcomes, run: updated } = await upkeep.update('--keep-old', '2h');
    expect(outcomes['web'], updated.stderr).toMatchObject({ outcome: 'updated' });
    expect(await keptName()).toHaveLength(isPodman ? 0 : 1);
    if (isPodman) expect(updated.stderr).toContain('a restart policy that this engine cannot remove');
  });

  test('goes when its time is over, by whichever run comes next', async () => {
    await scene.stale('web', { config: { Labels: { 'upkeep.keep-old': '1s' } } });
    await upkeep.update();
    expect(await keptName()).toHaveLength(1);
    // The age counts by the engine's clock, which this test cannot set.
    await expect.poll(async () => (await upkeep.update(), await keptName()), { timeout: 30_000 }).toEqual([]);
    expect(await scene.names()).toEqual(['web']);
  });
});
