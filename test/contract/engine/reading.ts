import { describe, expect, test } from 'vitest';
import { create, eventually, inspect, run, untilStatus, type GetFixture } from './fixture.ts';

export function readingRows(fixture: GetFixture): void {
  describe('ping()', () => {
    test('resolves when the engine answers', async () => {
      await expect(fixture().engine.ping()).resolves.toBeUndefined();
    });
  });

  describe('info()', () => {
    test('tells product, versions, platform and clock', async () => {
      const { engine, clock } = fixture();
      const info = await engine.info();
      expect(info).toMatchObject({ platform: { os: 'linux' }, liveRestore: false });
      expect(info.version).toMatch(/^\d+\.\d+/);
      expect(info.apiVersion).toMatch(/^1\.\d+$/);
      expect(info.name).not.toBe('');
      expect(Math.abs(info.nowMs - clock.nowMs())).toBeLessThan(5000);
      expect(['docker', 'podman']).toContain(info.kind);
      if (info.kind === 'docker') expect(info.insecureRegistries).toContain('127.0.0.0/8');
    });
  });

  describe('forbiddenCalls()', () => {
    test('is empty without a proxy, and changes nothing', async () => {
      const { engine } = fixture();
      await run(fixture(), 'running', 'service');
      const everything = async () => {
        const lists = await Promise.all([engine.listContainers(), engine.listImages(), engine.listNetworks()]);
        return lists.map((list) => list.map((one) => JSON.stringify(one)).toSorted());
      };
      const before = await everything();
      expect(await engine.forbiddenCalls()).toEqual([]);
      expect(await everything()).toEqual(before);
    });
  });

  describe('listContainers()', () => {
    test('shows stopped containers too, newest first', async () => {
      await create(fixture(), 'created', 'service');
      await run(fixture(), 'running', 'service');
      const id = await run(fixture(), 'ended', 'crash');
      await untilStatus(fixture(), id, 'exited');
      const list = await fixture().engine.listContainers();
      expect(list.map(({ name, status }) => [name, status])).toEqual([
        ['ended', 'exited'],
        ['running', 'running'],
        ['created', 'created'],
      ]);
    });

    test('is empty when there is none', async () => {
      expect(await fixture().engine.listContainers()).toEqual([]);
    });

    test('tells what selection and staleness need', async () => {
      const { engine, image } = fixture();
      const id = await create(fixture(), 'one', 'defaults', { Labels: { own: 'label' } });
      const [summary] = await engine.listContainers();
      expect(summary).toMatchObject({
        id,
        name: 'one',
        image: image('defaults'),
        imageId: (await engine.inspectImage(image('defaults')))?.id,
        health: 'none',
        labels: { own: 'label', from: 'image' },
      });
      expect(['default', 'bridge']).toContain(summary?.networkMode);
      expect(summary?.createdAtMs).toBe(Math.floor((await inspect(fixture(), id)).createdAtMs / 1000) * 1000);
    });

    test('takes a name prefix literally', async () => {
      for (const name of ['web.upkeep-new', 'webXupkeep-new', 'my-web.upkeep-new', 'web'])
        await create(fixture(), name, 'service');
      const names = await fixture().engine.listContainers({ namePrefix: 'web.' });
      expect(names.map(({ name }) => name)).toEqual(['web.upkeep-new']);
    });

    test('finds containers that carry a label, whatever its value', async () => {
      await create(fixture(), 'with-value', 'service', { Labels: { mark: 'x' } });
      await create(fixture(), 'without-value', 'service', { Labels: { mark: '' } });
      await create(fixture(), 'without-label', 'service', { Labels: { marked: 'x' } });
      const found = await fixture().engine.listContainers({ label: 'mark' });
      expect(found.map(({ name }) => name).toSorted()).toEqual(['with-value', 'without-value']);
    });

    test('finds containers by their ids, newest first, and leaves out those that are gone', async () => {
      const { engine } = fixture();
      const ids = [];
      for (const name of ['one', 'two', 'three']) ids.push(await create(fixture(), name, 'service'));
      const [one = '', two = '', three = ''] = ids;
      await engine.removeContainer(two);
      const names = async (wanted: readonly string[]) =>
        (await engine.listContainers({ ids: wanted })).map(({ name }) => name);
      expect(await names([one, two, three])).toEqual(['three', 'one']);
      expect(await names([two])).toEqual([]);
      expect(await names([])).toEqual([]);
      expect(await names([one.slice(0, 12)])).toEqual([]);
    });

    test('takes both filters together', async () => {
      await create(fixture(), 'aa-1', 'service', { Labels: { mark: '' } });
      await create(fixture(), 'aa-2', 'service');
      await create(fixture(), 'bb-1', 'service', { Labels: { mark: '' } });
      const found = await fixture().engine.listContainers({ namePrefix: 'aa-', label: 'mark' });
      expect(found.map(({ name }) => name)).toEqual(['aa-1']);
    });

    test('shows health while it runs, and none when it has ended', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'well', 'healthy');
      await engine.probeHealth(id);
      const health = async () => (await engine.listContainers())[0]?.health;
      await eventually(fixture(), async () => (await health()) === 'healthy');
      await engine.stopContainer(id, { timeoutSeconds: 1 });
      await eventually(fixture(), async () => (await health()) === 'none');
    });

    test('shows a bare id for an image whose tag has moved on', async () => {
      const { engine, publish } = fixture();
      const { reference } = await publish('moving', { version: '1' });
      await engine.pullImage({ reference });
      const before = await engine.inspectImage(reference);
      await engine.createContainer('old', { body: { Image: reference }, laterEndpoints: [] });
      await publish('moving', { version: '2' });
      await engine.pullImage({ reference });
      expect((await engine.listContainers())[0]).toMatchObject({ image: before?.id, imageId: before?.id });
      expect((await inspect(fixture(), 'old')).settings.Config.Image).toBe(reference);
    });
  });

  describe('inspectContainer()', () => {
    test('finds a container by id, short id and name', async () => {
      const id = await create(fixture(), 'one', 'service');
      for (const key of [id, id.slice(0, 12), 'one']) expect((await inspect(fixture(), key)).id).toBe(id);
      expect(id).toMatch(/^[0-9a-f]{64}$/);
    });

    test('is undefined when there is none', async () => {
      expect(await fixture().engine.inspectContainer('nobody')).toBeUndefined();
      expect(await fixture().engine.inspectContainer('0'.repeat(64))).toBeUndefined();
    });

    test('shows a container that was never started', async () => {
      await create(fixture(), 'new', 'service');
      expect(await inspect(fixture(), 'new')).toMatchObject({
        name: 'new',
        restartCount: 0,
        state: {
          status: 'created',
          exitCode: 0,
          error: '',
          startedAt: '',
          finishedAt: '',
          health: 'none',
          oomKilled: false,
        },
      });
    });

    test('shows one that runs, with another timestamp after every start', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'service');
      const first = (await inspect(fixture(), id)).state;
      expect(first).toMatchObject({ status: 'running', exitCode: 0, finishedAt: '' });
      await engine.stopContainer(id, { timeoutSeconds: 1 });
      expect((await inspect(fixture(), id)).state.startedAt).toBe(first.startedAt);
      await engine.startContainer(id);
      const second = (await inspect(fixture(), id)).state;
      expect(second.startedAt).not.toBe(first.startedAt);
      expect(second.finishedAt).not.toBe('');
    });

    test('shows one that has ended, with its code', async () => {
      const id = await run(fixture(), 'one', 'crash');
      const { state } = await untilStatus(fixture(), id, 'exited');
      expect(state).toMatchObject({ exitCode: 3, error: '', health: 'none' });
      expect(Date.parse(state.finishedAt)).toBeGreaterThan(0);
    });

    test('follows a health check to healthy', async () => {
      const id = await create(fixture(), 'well', 'healthy');
      expect((await inspect(fixture(), id)).state.health).toBe('starting');
      await fixture().engine.startContainer(id);
      expect((await inspect(fixture(), id)).state.health).toBe('starting');
      await eventually(fixture(), async () => {
        await fixture().engine.probeHealth(id);
        return (await inspect(fixture(), id)).state.health === 'healthy';
      });
    });

    test('follows a health check to unhealthy, with what the probe said', async () => {
      const id = await run(fixture(), 'ill', 'sick');
      const state = await eventually(fixture(), async () => {
        await fixture().engine.probeHealth(id);
        const { state } = await inspect(fixture(), id);
        return state.health === 'unhealthy' && state;
      });
      expect(state.healthOutput).toContain('sick');
      expect(state.status).toBe('running');
    });

    test('has no health where the check is switched off', async () => {
      const id = await run(fixture(), 'unasked', 'sick', { Healthcheck: { Test: ['NONE'] } });
      expect((await inspect(fixture(), id)).state.health).toBe('none');
    });

    test('keeps labels and variables in any script, and large ones', async () => {
      const labels = { größe: '大きい 🚢', 'a.b/c': '"quoted" \\ \u0001', large: 'x'.repeat(1_000_000) };
      await create(fixture(), 'one', 'service', { Labels: labels, Env: ['NAME=Ünïcödé 🚢', 'EMPTY=', 'BARE'] });
      const { Labels, Env } = (await inspect(fixture(), 'one')).settings.Config;
      expect(Labels).toEqual(labels);
      expect(Env).toEqual(['NAME=Ünïcödé 🚢', 'EMPTY=', 'BARE', 'PATH=/bin']);
    });
  });

  describe('listNetworks()', () => {
    test("shows the engine's own and a person's", async () => {
      const id = await fixture().addNetwork('blue');
      const networks = await fixture().engine.listNetworks();
      expect(networks).toContainEqual(expect.objectContaining({ id, name: 'blue', driver: 'bridge' }));
      expect(networks.map(({ name }) => name)).toEqual(expect.arrayContaining(['bridge', 'host', 'none']));
    });
  });
}
