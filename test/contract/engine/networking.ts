import { describe, expect, test } from 'vitest';
import { create, inspect, run, statusOf, type GetFixture } from './fixture.ts';

export function networkingRows(fixture: GetFixture): void {
  async function endpoint(name: string, network: string) {
    return (await inspect(fixture(), name)).settings.Networks[network];
  }

  describe('endpoints', () => {
    test('show what was asked for, and an address only while the container runs', async () => {
      const { engine, addNetwork } = fixture();
      const networkId = await addNetwork('blue', '10.77.0.0/24');
      const asked = { Aliases: ['web'], IPAMConfig: { IPv4Address: '10.77.0.10' } };
      const id = await create(fixture(), 'one', 'service', {
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { blue: asked } },
      });
      expect(await endpoint('one', 'blue')).toMatchObject({
        IPAMConfig: asked.IPAMConfig,
        IPAddress: '',
        NetworkID: '',
      });
      await engine.startContainer(id);
      expect(await endpoint('one', 'blue')).toMatchObject({
        IPAMConfig: asked.IPAMConfig,
        IPAddress: '10.77.0.10',
        MacAddress: expect.stringMatching(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/),
        NetworkID: networkId,
      });
      await engine.stopContainer(id, { timeoutSeconds: 5 });
      expect(await endpoint('one', 'blue')).toMatchObject({
        IPAMConfig: asked.IPAMConfig,
        IPAddress: '',
        NetworkID: networkId,
      });
    });

    test('have the short id as a further alias, below API 1.44', async () => {
      await fixture().addNetwork('blue');
      const id = await run(fixture(), 'one', 'service', {
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { blue: { Aliases: ['web'] } } },
      });
      const { apiVersion } = await fixture().engine.info();
      const older = Number(apiVersion.split('.')[1]) < 44;
      expect((await endpoint('one', 'blue'))?.Aliases).toEqual(older ? ['web', id.slice(0, 12)] : ['web']);
    });

    test('keep the hardware address that was asked for', async () => {
      await fixture().addNetwork('blue', '10.77.0.0/24');
      await run(fixture(), 'one', 'service', { MacAddress: '02:42:ac:11:22:33', HostConfig: { NetworkMode: 'blue' } });
      expect((await endpoint('one', 'blue'))?.MacAddress).toBe('02:42:ac:11:22:33');
      expect((await inspect(fixture(), 'one')).settings.Config.MacAddress).toBe('02:42:ac:11:22:33');
    });

    test('are those that were asked for where they are not of the network mode', async () => {
      for (const name of ['blue', 'green']) await fixture().addNetwork(name);
      await create(fixture(), 'one', 'service', {
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { green: {} } },
      });
      expect(Object.keys((await inspect(fixture(), 'one')).settings.Networks)).toContain('green');
    });

    test('are refused a static address that another has, until that one stops', async () => {
      const { engine, addNetwork } = fixture();
      await addNetwork('blue', '10.77.0.0/24');
      const body = {
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { blue: { IPAMConfig: { IPv4Address: '10.77.0.10' } } } },
      };
      const holder = await run(fixture(), 'holder', 'service', body);
      const id = await create(fixture(), 'one', 'service', body);
      expect(statusOf(await engine.startContainer(id))).toBe('refused 403');
      expect((await inspect(fixture(), id)).state).toMatchObject({
        status: 'created',
        exitCode: 128,
        error: expect.stringContaining('Address already in use'),
      });
      await engine.stopContainer(holder, { timeoutSeconds: 5 });
      expect(await engine.startContainer(id)).toEqual({ kind: 'done' });
    });

    test('on the default bridge may not have aliases', async () => {
      const { engine, image } = fixture();
      const body = { Image: image('service'), NetworkingConfig: { EndpointsConfig: { bridge: { Aliases: ['web'] } } } };
      const created = await engine.createContainer('one', { body, laterEndpoints: [] });
      const outcome = created.kind === 'done' ? await engine.startContainer(created.id) : created;
      expect(statusOf(outcome)).toBe('refused 400');
    });

    test('of a network that is gone are refused at the start', async () => {
      const id = await create(fixture(), 'one', 'service', { HostConfig: { NetworkMode: 'nowhere' } });
      expect(statusOf(await fixture().engine.startContainer(id))).toBe('refused 404');
      expect((await inspect(fixture(), id)).state).toMatchObject({ status: 'created', exitCode: 128 });
    });

    test("are none for the host's network but its name", async () => {
      await run(fixture(), 'one', 'service', { HostConfig: { NetworkMode: 'host' } });
      expect(await endpoint('one', 'host')).toMatchObject({ IPAddress: '' });
    });
  });

  describe('createNetwork()', () => {
    async function networkCalled(wanted: string) {
      return (await fixture().engine.listNetworks()).find(({ name }) => name === wanted);
    }

    test('makes a removed network again, with another id; a name that is taken is a noop', async () => {
      const { engine, addNetwork, pruneNetworks } = fixture();
      await addNetwork('blue', '10.77.0.0/24');
      await addNetwork('green');
      for (const name of ['blue', 'green']) {
        const before = (await networkCalled(name))!;
        expect(await engine.createNetwork(before)).toEqual({ kind: 'noop' });
        await pruneNetworks();
        expect(await networkCalled(name)).toBeUndefined();
        expect(await engine.createNetwork(before)).toEqual({ kind: 'done' });
        const { id, ...after } = (await networkCalled(name))!;
        expect({ id: before.id, ...after }).toEqual(before);
        expect(id).not.toBe(before.id);
        await addNetwork('green');
      }
    });

    test('and connectNetwork() let a container start whose network was removed', async () => {
      const { engine, addNetwork, pruneNetworks } = fixture();
      await addNetwork('blue', '10.77.0.0/24');
      const asked = { Aliases: ['web'], IPAMConfig: { IPv4Address: '10.77.0.10' } };
      const containerId = await run(fixture(), 'one', 'service', {
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { blue: asked } },
      });
      const network = (await networkCalled('blue'))!;
      await engine.stopContainer(containerId, { timeoutSeconds: 5 });
      await pruneNetworks();
      expect(statusOf(await engine.startContainer(containerId))).toBe('refused 404');
      await engine.createNetwork(network);
      expect(statusOf(await engine.startContainer(containerId))).toBe('refused 404');
      expect(await engine.connectNetwork({ containerId, networkId: 'blue', endpoint: asked })).toEqual({
        kind: 'done',
      });
      expect(await engine.startContainer(containerId)).toEqual({ kind: 'done' });
      expect(await endpoint('one', 'blue')).toMatchObject({
        IPAMConfig: asked.IPAMConfig,
        IPAddress: '10.77.0.10',
        NetworkID: (await networkCalled('blue'))?.id,
      });
      expect((await endpoint('one', 'blue'))?.Aliases).toContain('web');
    });
  });

  describe('connectNetwork()', () => {
    test('gives a created container a further endpoint, which it joins at its start', async () => {
      const { engine, addNetwork } = fixture();
      const networkId = await addNetwork('blue', '10.77.0.0/24');
      const containerId = await create(fixture(), 'one', 'service');
      const asked = { Aliases: ['web'], IPAMConfig: { IPv4Address: '10.77.0.20' } };
      expect(await engine.connectNetwork({ containerId, networkId, endpoint: asked })).toEqual({ kind: 'done' });
      expect(await endpoint('one', 'blue')).toMatchObject({ IPAMConfig: asked.IPAMConfig, IPAddress: '' });
      await engine.startContainer(containerId);
      expect(await endpoint('one', 'blue')).toMatchObject({ IPAddress: '10.77.0.20' });
      expect((await endpoint('one', 'blue'))?.Aliases).toContain('web');
      expect((await endpoint('one', 'bridge'))?.IPAddress).not.toBe('');
    });

    test('joins at once while the container runs, and is a noop the second time', async () => {
      const { engine, addNetwork } = fixture();
      const networkId = await addNetwork('blue');
      const containerId = await run(fixture(), 'one', 'service');
      expect(await engine.connectNetwork({ containerId, networkId, endpoint: {} })).toEqual({ kind: 'done' });
      expect((await endpoint('one', 'blue'))?.IPAddress).not.toBe('');
      expect(await engine.connectNetwork({ containerId, networkId, endpoint: {} })).toEqual({ kind: 'noop' });
    });

    test('done twice on a created container, changes nothing the second time', async () => {
      const { engine, addNetwork } = fixture();
      const networkId = await addNetwork('blue');
      const containerId = await create(fixture(), 'one', 'service');
      await engine.connectNetwork({ containerId, networkId, endpoint: { Aliases: ['first'] } });
      const before = await endpoint('one', 'blue');
      expect(['done', 'noop']).toContain(
        (await engine.connectNetwork({ containerId, networkId, endpoint: { Aliases: ['second'] } })).kind,
      );
      expect(await endpoint('one', 'blue')).toEqual(before);
    });

    test('of a created container takes the text for the name of a network that is still to be created', async () => {
      const { engine, addNetwork } = fixture();
      const containerId = await create(fixture(), 'one', 'service');
      expect(await engine.connectNetwork({ containerId, networkId: 'later', endpoint: {} })).toEqual({ kind: 'done' });
      expect(statusOf(await engine.startContainer(containerId))).toBe('refused 404');
      await addNetwork('later');
      expect(await engine.startContainer(containerId)).toEqual({ kind: 'done' });
      expect((await endpoint('one', 'later'))?.IPAddress).not.toBe('');
    });

    test("is refused for networks and containers that do not exist, and for the host's network", async () => {
      const { engine, addNetwork } = fixture();
      const networkId = await addNetwork('blue');
      const containerId = await run(fixture(), 'one', 'service');
      expect(statusOf(await engine.connectNetwork({ containerId, networkId: 'nowhere', endpoint: {} }))).toBe(
        'refused 404',
      );
      expect(statusOf(await engine.connectNetwork({ containerId: 'nobody', networkId, endpoint: {} }))).toBe(
        'refused 404',
      );
      expect(statusOf(await engine.connectNetwork({ containerId, networkId: 'host', endpoint: {} }))).toMatch(
        /^refused 40[03]/,
      );
    });
  });
}
