import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './scene.ts';

describeInLab('a container with a mounted image', (lab) => {
  const { engine } = lab;
  const { stale, push, image, inspect, names } = effectsScene(lab, 'image-mounts');
  const upkeep = upkeepScene({ socket: engine.socket });
  beforeEach(async (context) => {
    const { body } = await engine.call('GET', '/version');
    if (Number.parseInt((body as { Version: string }).Version, 10) < 28)
      skipBecause(context, 'Docker 28 mounts images');
  });
  afterEach(() => engine.clear());

  test.each([{}, { ImageOptions: { Subpath: 'bin' } }])(
    'set-up mounted image: it is in the new container too (%j)',
    async (options) => {
      await push('model', catalogue['plain-v1']);
      await engine.pull(image('model'));
      const Mounts = [{ Type: 'image', Source: image('model'), Target: '/model', ...options }];
      const web = await stale('web', { config: { HostConfig: { Mounts } } });
      const { outcomes, run } = await upkeep.update();
      expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'updated' });
      const after = await inspect('web');
      expect(idsOf(web.next)).toContain(after.Image);
      expect(after.HostConfig['Mounts']).toEqual(web.HostConfig['Mounts']);
      expect(after.Mounts).toMatchObject([{ Type: 'image', Destination: '/model' }]);
      expect(await names()).toEqual(['web']);
    },
  );

  test('set-up mounted image: two of them, whose tag has moved too, and as the old ones after a failure', async () => {
    for (const name of ['model', 'assets']) {
      await push(name, catalogue['plain-v1']);
      await engine.pull(image(name));
    }
    const Mounts = [
      { Type: 'image', Source: image('model'), Target: '/model' },
      { Type: 'image', Source: image('assets'), Target: '/srv/assets', ImageOptions: { Subpath: 'etc' } },
    ];
    const web = await stale('web', { next: catalogue.crash, config: { HostConfig: { Mounts } } });
    await push('model', catalogue['plain-v2']);
    await engine.pull(image('model'));
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(await inspect('web')).toMatchObject({ Id: web.Id, State: { Running: true } });
    const third = await push('web', catalogue.v2);
    const { outcomes, run } = await upkeep.update();
    expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'updated' });
    const after = await inspect('web');
    expect(idsOf(third)).toContain(after.Image);
    expect(after.HostConfig['Mounts']).toEqual(web.HostConfig['Mounts']);
    expect(after.Mounts.map(({ Destination }) => String(Destination)).toSorted()).toEqual(['/model', '/srv/assets']);
  });

  test('set-up mounted image: what shares the network of such a container is updated with it', async () => {
    await push('model', catalogue['plain-v1']);
    await engine.pull(image('model'));
    const Mounts = [{ Type: 'image', Source: image('model'), Target: '/model' }];
    const vpn = await stale('vpn', { config: { HostConfig: { Mounts } } });
    const HostConfig = { NetworkMode: 'container:vpn', Mounts };
    await stale('app', { old: sleeper('v1'), next: sleeper('v2'), config: { HostConfig } });
    const { outcomes, run } = await upkeep.update();
    expect(outcomes, run.stderr).toMatchObject({ vpn: { outcome: 'updated' }, app: { outcome: 'updated' } });
    for (const name of ['vpn', 'app'])
      expect((await inspect(name)).HostConfig['Mounts']).toEqual(vpn.HostConfig['Mounts']);
  });
});

/** Listens nowhere, so that two of them can share a network. */
const sleeper = (version: string) =>
  webServer(version, { Cmd: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait $!"] });
