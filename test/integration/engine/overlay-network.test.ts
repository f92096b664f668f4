import { expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

describeInLab('a container in an overlay network', (lab) => {
  test.skipIf(isPodman)('is not touched, because its engine could not rename it while it runs', async () => {
    const engine = await lab.startEngine({ name: 'overlay' });
    try {
      const addresses = { ListenAddr: '127.0.0.1:2399', AdvertiseAddr: '127.0.0.1' };
      expect((await engine.call('POST', '/swarm/init', addresses)).status).toBe(200);
      await engine.call('POST', '/networks/create', { Name: 'over', Driver: 'overlay', Attachable: true });
      const image = `${lab.registry.host}/overlay/web:stable`;
      await pushImage(lab.registry, 'overlay/web', 'stable', catalogue['plain-v1']);
      await engine.pull(image);
      const id = await engine.run('web', image, { HostConfig: { NetworkMode: 'over' } });
      await pushImage(lab.registry, 'overlay/web', 'stable', catalogue['plain-v2']);
      const before = await engine.inspect(id);
      const { outcomes, run } = await upkeepScene({ socket: engine.socket }).update();
      expect(outcomes['web']?.outcome, run.stderr).toBe('failed');
      expect(outcomes['web']?.reason).toContain('it runs in the overlay network "over"');
      expect((await engine.inspect(id))?.NetworkSettings).toEqual(before?.NetworkSettings);
    } finally {
      await engine.remove();
    }
  });
});
