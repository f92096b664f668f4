import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
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
});
