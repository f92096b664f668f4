import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { idsOf } from './effects/scene.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

describeInLab('upkeep rollback on a real engine', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());
  const image = `${registry.host}/rollback/web:stable`;
  const upkeep = (command: string, ...args: string[]) =>
    runUpkeep([command, '--json', '--health-window', '500ms', ...args], { socket: engine.socket });

  test('goes back to the version before, which then stays', async () => {
    const old = await pushImage(registry, 'rollback/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, {
      StopTimeout: 1,
      HostConfig: { RestartPolicy: { Name: 'unless-stopped' }, Binds: ['kept:/data'] },
    });
    await pushImage(registry, 'rollback/web', 'stable', catalogue['plain-v2']);
    expect((await upkeep('update')).code).toBe(0);
    expect(idsOf(old)).not.toContain((await engine.inspect('web'))?.Image);

    const back = await upkeep('rollback', 'web');
    expect(back.code, back.stderr).toBe(0);
    expect(JSON.parse(back.stdout)).toMatchObject({
      summary: { updated: 0, failed: 0 },
      containers: [{ name: 'web', outcome: 'went_back', from: 'v2', to: 'v1' }],
    });
    expect(await engine.inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(old)]),
      State: { Running: true },
      HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
      Mounts: [{ Name: 'kept', Destination: '/data' }],
    });
    const next = JSON.parse((await upkeep('update')).stdout) as object;
    expect(next).toMatchObject({ containers: [{ name: 'web', outcome: 'skipped', verdict: 'held' }] });
  });

  test('asks before it goes forward again', async () => {
    const text = (...args: string[]) => runUpkeep([...args, '--health-window', '500ms'], { socket: engine.socket });
    await pushImage(registry, 'rollback/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 1 });
    const next = await pushImage(registry, 'rollback/web', 'stable', catalogue['plain-v2']);
    expect((await text('update')).code).toBe(0);
    const back = await text('rollback', 'web');
    expect([back.code, back.stdout]).toEqual([0, expect.stringMatching(/^web +went back to v1 +v2 → v1 /m)]);
    expect(back.stdout).toContain('web: went back (down for');
    expect(back.stdout).toContain('1 container: 1 went back in');

    const before = await engine.inspect('web');
    const again = await text('rollback', 'web');
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringMatching(
        /Cannot roll back "web": this would go forward again, from v1 to v2, to a version that you went back from on 2\S+[^]*--yes/,
      ),
    ]);
    expect((await engine.inspect('web'))?.Id).toBe(before?.Id);
    const [mark] = ((await engine.call('GET', '/images/json')).body as { RepoTags?: string[] }[])
      .flatMap(({ RepoTags }) => RepoTags ?? [])
      .filter((tag) => tag.includes('upkeep-quarantine'));
    expect(mark).toMatch(/-by-command$/);
    const check = await runUpkeep(['check', '--json'], { socket: engine.socket });
    expect(JSON.parse(check.stdout)).toMatchObject({
      containers: [
        {
          status: 'held',
          hold: 'went-back',
          reason: expect.stringContaining('a person on the command line went back from it on'),
        },
      ],
    });

    const forward = await text('rollback', 'web', '--yes');
    expect([forward.code, forward.stdout]).toEqual([0, expect.stringContaining('went back to v2')]);
    expect((await engine.inspect('web'))?.Image).toBeOneOf([...idsOf(next)]);
  });

  test('a failed version is not a wish: it says that it failed, and which version is back', async () => {
    await pushImage(registry, 'rollback/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 1 });
    await pushImage(registry, 'rollback/web', 'stable', catalogue.crash);
    const failed = await runUpkeep(['update'], { socket: engine.socket });
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringMatching(/^web +failed; back on v1 /m)]);
    const check = await runUpkeep(['check', '--json'], { socket: engine.socket });
    expect(JSON.parse(check.stdout)).toMatchObject({
      containers: [{ status: 'held', hold: 'failed', reason: expect.stringContaining('failed here on') }],
    });
  });

  test('is refused for a container that nothing has updated, and without a name', async () => {
    await pushImage(registry, 'rollback/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    const id = await engine.run('web', image, { StopTimeout: 1 });
    const refused = await runUpkeep(['rollback', 'web'], { socket: engine.socket });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('Cannot roll back "web": it has not been updated since it was created');
    const unnamed = await runUpkeep(['rollback'], { socket: engine.socket });
    expect(unnamed.code).toBe(2);
    expect(unnamed.stderr).toContain('Cannot run "upkeep rollback": no container is named');
    expect((await engine.inspect('web'))?.Id).toBe(id);
  });
});
