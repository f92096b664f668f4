import { afterEach, expect, test } from 'vitest';
import { type RealUpdate, setRealStage } from '../../failures/rig/real-stage.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { prune } from '../../lab/engine/prune.ts';

const front = { Aliases: ['shop'], IPAMConfig: { IPv4Address: '10.97.0.10' } };

/** `docker network prune` and `docker system prune` after the stop of a container that nobody else shares networks with. */
describeInLab('networks that are pruned while their container is down', (lab) => {
  const { engine } = lab;
  afterEach(() => engine.clear());

  async function setStage() {
    const stage = await setRealStage(lab, { web: {} });
    await createNetworks();
    await engine.call('POST', '/networks/front/connect', { Container: 'web', EndpointConfig: front });
    await engine.call('POST', '/networks/back/connect', { Container: 'web', EndpointConfig: { Aliases: ['stock'] } });
    return stage;
  }

  async function createNetworks() {
    await engine.call('POST', '/networks/create', { Name: 'front', IPAM: { Config: [{ Subnet: '10.97.0.0/24' }] } });
    await engine.call('POST', '/networks/create', { Name: 'back', Labels: { kept: 'yes' } });
  }

  const atTheStart =
    (act: () => Promise<unknown>): NonNullable<RealUpdate['arm']> =>
    (proxy) =>
      proxy.arm({
        at: ({ path, change }) => change !== undefined && path.endsWith('/start'),
        fault: { kind: 'meanwhile', when: 'before', act },
      });

  async function expectWebInItsNetworks() {
    const { State, NetworkSettings } = (await engine.inspect('web'))!;
    expect(State.Status).toBe('running');
    expect(Object.keys(NetworkSettings.Networks).toSorted()).toEqual(['back', 'bridge', 'front']);
    expect(NetworkSettings.Networks).toMatchObject({
      front: { IPAMConfig: front.IPAMConfig, IPAddress: '10.97.0.10', Aliases: expect.arrayContaining(['shop']) },
      back: { Aliases: expect.arrayContaining(['stock']) },
    });
  }

  test.skipIf(isPodman)('are created again for the new container', async () => {
    const stage = await setStage();
    const { outcomes } = await stage.update({ arm: atTheStart(() => prune(engine, 'networks')) });
    expect(outcomes).toEqual({ web: 'updated' });
    await expectWebInItsNetworks();
    const { body } = await engine.call('GET', '/networks/back');
    expect(body).toMatchObject({ Labels: { kept: 'yes' } });
  });

  test.skipIf(isPodman)(
    'are created again for the old container, if containers and images are pruned too',
    async () => {
      const stage = await setStage();
      const { outcomes } = await stage.update({
        arm: atTheStart(() => prune(engine, 'containers', 'networks', 'images')),
      });
      expect(outcomes).toEqual({ web: 'rolled_back' });
      await expectWebInItsNetworks();
      expect((await engine.inspect('web'))?.Image).toBe(stage.before.get('web')?.Image);
    },
  );

  test.skipIf(isPodman)('are used again after the death of Upkeep, once someone has created them', async () => {
    const stage = await setStage();
    const { code } = await stage.update({
      arm: (proxy, child) =>
        atTheStart(async () => {
          await prune(engine, 'networks');
          child.kill('SIGKILL');
        })(proxy, child),
    });
    expect(code).not.toBe(0);
    await createNetworks();
    await stage.startAgain();
    await expectWebInItsNetworks();
  });
});
