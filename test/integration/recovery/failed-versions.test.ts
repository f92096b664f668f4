import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { idsOf } from '../effects/scene.ts';

type Outcome = { readonly name: string; readonly outcome: string; readonly reason: string };

describeInLab('a version that failed on a real engine', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  const image = `${registry.host}/failed/web:stable`;
  const push = (spec: ImageSpec) => pushImage(registry, 'failed/web', 'stable', spec);
  const update = async (...args: string[]) => {
    const flags = ['update', '--json', '--health-window', '1s', '--health-timeout', '3s', ...args];
    const { code, stdout, stderr } = await runUpkeep(flags, { socket: engine.socket });
    const { containers } = JSON.parse(stdout) as { containers: Outcome[] };
    return { code, stderr, web: containers.find(({ name }) => name === 'web') };
  };
  const marks = async () => {
    const { body } = await engine.call('GET', '/images/json');
    const tags = (body as { RepoTags: string[] | null }[]).flatMap(({ RepoTags }) => RepoTags ?? []);
    return tags.filter((tag) => tag.includes('upkeep-quarantine:'));
  };

  test.each([
    ['ends', catalogue.crash],
    ['cannot be started', catalogue.unstartable],
    ['is unhealthy', catalogue.sick],
  ])('(it %s) is held back until a person or a newer version says otherwise', async (_, bad) => {
    await push(catalogue['plain-v1']);
    await engine.pull(image);
    const id = await engine.run('web', image, { StopTimeout: 1, HostConfig: { RestartPolicy: { Name: 'always' } } });
    await push(bad);
    expect((await update()).web?.outcome).toBe('rolled_back');
    expect(await marks()).toHaveLength(1);

    const held = await update();
    expect(held).toMatchObject({ code: 0, web: { outcome: 'skipped' } });
    expect(held.web?.reason).toMatch(/failed here on \d{4}-\d\d-\d\dT\d\d:\d\dZ and was rolled back/);
    expect((await engine.inspect('web'))?.Id).toBe(id);
    const check = await runUpkeep(['check', '--json'], { socket: engine.socket });
    expect(JSON.parse(check.stdout)).toMatchObject({ containers: [{ name: 'web', status: 'held' }] });

    expect((await update('--retry-failed', 'web')).web?.outcome).toBe('rolled_back');
    expect((await update()).web?.outcome).toBe('skipped');

    const good = await push(catalogue['plain-v2']);
    const updated = await update('--cleanup');
    expect(updated, updated.stderr).toMatchObject({ code: 0, web: { outcome: 'updated' } });
    expect(idsOf(good)).toContain((await engine.inspect('web'))?.Image);
    expect(await marks()).toEqual([]);
  });

  test('is tried again when the engine refused its start for a reason of the host', async () => {
    await push(catalogue['plain-v1']);
    await engine.pull(image);
    const PortBindings = { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '18099' }] };
    const id = await engine.create('web', image, { StopTimeout: 1, HostConfig: { PortBindings } });
    const holder = await engine.run('holder', image, { StopTimeout: 1, HostConfig: { PortBindings } });
    await push(catalogue['plain-v2']);
    const revive = ['--include-stopped', '--revive-stopped', 'web'];
    const refused = await update(...revive);
    expect(refused.web?.outcome, refused.stderr).not.toBe('updated');
    expect(await marks()).toEqual([]);
    expect((await engine.inspect('web'))?.Id).toBe(id);
    await engine.call('DELETE', `/containers/${holder}?force=1`);
    expect((await update(...revive)).web?.outcome).toBe('updated');
  });
});
