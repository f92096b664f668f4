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

  test('goes back to the version before, which then stays', { timeout: 60_000 }, async () => {
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
    expect(JSON.parse(back.stdout)).toMatchObject({ containers: [{ name: 'web', outcome: 'updated' }] });
    expect(await engine.inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(old)]),
      State: { Running: true },
      HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
      Mounts: [{ Name: 'kept', Destination: '/data' }],
    });
    const next = JSON.parse((await upkeep('update')).stdout) as object;
    expect(next).toMatchObject({ containers: [{ name: 'web', outcome: 'skipped' }] });
  });

  test('is refused for a container that nothing has updated, and without a name', { timeout: 60_000 }, async () => {
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
