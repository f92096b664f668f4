import { describe, expect, test } from 'vitest';
import { create, eventually, inspect, run, statusOf, untilStatus, type GetFixture } from './fixture.ts';

export function changingRows(fixture: GetFixture): void {
  describe('renameContainer()', () => {
    test('renames a running container, which keeps running', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'service');
      const { startedAt } = (await inspect(fixture(), id)).state;
      expect(await engine.renameContainer(id, 'one.upkeep-old-u')).toEqual({ kind: 'done' });
      expect(await engine.inspectContainer('one')).toBeUndefined();
      expect(await inspect(fixture(), 'one.upkeep-old-u')).toMatchObject({
        id,
        state: { status: 'running', startedAt },
      });
    });

    test('makes the old name free at once', async () => {
      const id = await run(fixture(), 'one', 'service');
      await fixture().engine.renameContainer(id, 'two');
      await create(fixture(), 'one', 'service');
    });

    test('refuses a name that is taken with 409, and both keep theirs', async () => {
      const one = await create(fixture(), 'one', 'service');
      const two = await create(fixture(), 'two', 'service');
      expect(statusOf(await fixture().engine.renameContainer(one, 'two'))).toBe('refused 409');
      expect([(await inspect(fixture(), one)).name, (await inspect(fixture(), two)).name]).toEqual(['one', 'two']);
    });

    test('lets exactly one of two win a name', async () => {
      const { engine } = fixture();
      const ids = [await create(fixture(), 'one', 'service'), await create(fixture(), 'two', 'service')];
      const outcomes = await Promise.all(ids.map((id) => engine.renameContainer(id, 'three')));
      expect(outcomes.map(statusOf).toSorted()).toEqual(['done', 'refused 409']);
    });

    test('refuses its own name, a malformed one, and to rename nobody', async () => {
      const { engine } = fixture();
      const id = await create(fixture(), 'one', 'service');
      expect(statusOf(await engine.renameContainer(id, 'one'))).toBe('refused 400');
      expect(statusOf(await engine.renameContainer(id, 'x'))).toBe('refused 400');
      expect(statusOf(await engine.renameContainer('nobody', 'two'))).toBe('refused 404');
    });

    test('of one that crashes over and over is done, or refused with 404 between two tries; once stopped it is done', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'crash', { HostConfig: { RestartPolicy: { Name: 'always' } } });
      await untilStatus(fixture(), id, 'restarting');
      const outcome = statusOf(await engine.renameContainer(id, 'two'));
      expect(['done', 'refused 404']).toContain(outcome);
      expect((await inspect(fixture(), id)).name).toBe(outcome === 'done' ? 'two' : 'one');
      expect((await engine.stopContainer(id, { timeoutSeconds: 5 })).kind).not.toBe('refused');
      const { state } = await inspect(fixture(), id);
      expect(state.status).toBe('exited');
      expect(await engine.renameContainer(id, 'three')).toEqual({ kind: 'done' });
      await fixture().clock.sleep(1000);
      expect((await inspect(fixture(), id)).state).toEqual(state);
    });

    test('takes a name of 200 characters', async () => {
      const id = await create(fixture(), 'one', 'service');
      const name = 'n'.repeat(200);
      expect(await fixture().engine.renameContainer(id, name)).toEqual({ kind: 'done' });
      expect((await inspect(fixture(), name)).id).toBe(id);
    });
  });

  describe('updateRestartPolicy()', () => {
    test.each([
      { Name: 'no', MaximumRetryCount: 0 },
      { Name: 'always', MaximumRetryCount: 0 },
      { Name: 'unless-stopped', MaximumRetryCount: 0 },
      { Name: 'on-failure', MaximumRetryCount: 5 },
    ])('sets %j on a running and on a stopped container', async (policy) => {
      for (const id of [await run(fixture(), 'running', 'service'), await create(fixture(), 'stopped', 'service')]) {
        expect(await fixture().engine.updateRestartPolicy(id, policy)).toEqual({ kind: 'done' });
        expect((await inspect(fixture(), id)).settings.HostConfig.RestartPolicy).toEqual(policy);
      }
    });

    test('changes nothing else', async () => {
      const id = await run(fixture(), 'one', 'service', {
        HostConfig: { Memory: 64_000_000, RestartPolicy: { Name: 'no' } },
      });
      const before = await inspect(fixture(), id);
      await fixture().engine.updateRestartPolicy(id, { Name: 'always', MaximumRetryCount: 0 });
      const { HostConfig, ...after } = (await inspect(fixture(), id)).settings;
      expect(after).toEqual({
        Config: before.settings.Config,
        Mounts: before.settings.Mounts,
        Networks: before.settings.Networks,
      });
      expect({ ...HostConfig, RestartPolicy: undefined }).toEqual({
        ...before.settings.HostConfig,
        RestartPolicy: undefined,
      });
    });

    test('with an empty name changes nothing', async () => {
      const id = await create(fixture(), 'one', 'service', { HostConfig: { RestartPolicy: { Name: 'always' } } });
      expect(statusOf(await fixture().engine.updateRestartPolicy(id, { Name: '', MaximumRetryCount: 0 }))).toBe('done');
      expect((await inspect(fixture(), id)).settings.HostConfig.RestartPolicy?.Name).toBe('always');
    });

    test('refuses an unknown policy, a count that does not belong, and to update nobody', async () => {
      const { engine } = fixture();
      const id = await create(fixture(), 'one', 'service');
      expect(statusOf(await engine.updateRestartPolicy(id, { Name: 'maybe', MaximumRetryCount: 0 }))).toBe(
        'refused 400',
      );
      expect(statusOf(await engine.updateRestartPolicy(id, { Name: 'no', MaximumRetryCount: 3 }))).toBe('refused 400');
      expect(statusOf(await engine.updateRestartPolicy('nobody', { Name: 'no', MaximumRetryCount: 0 }))).toBe(
        'refused 404',
      );
    });

    test('refuses a policy for a container that removes itself: 409', async () => {
      const id = await create(fixture(), 'one', 'service', { HostConfig: { AutoRemove: true } });
      expect(statusOf(await fixture().engine.updateRestartPolicy(id, { Name: 'always', MaximumRetryCount: 0 }))).toBe(
        'refused 409',
      );
      expect(statusOf(await fixture().engine.updateRestartPolicy(id, { Name: 'no', MaximumRetryCount: 0 }))).toBe(
        'done',
      );
    });
  });

  describe('restart policies', () => {
    test('on-failure starts it again, so many times', async () => {
      const HostConfig = { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 2 } };
      const id = await run(fixture(), 'one', 'crash', { HostConfig });
      const ended = await eventually(fixture(), async () => {
        const container = await inspect(fixture(), id);
        return container.state.status === 'exited' && container.restartCount === 2 && container;
      });
      expect(ended.state.exitCode).toBe(3);
    });

    test('on-failure leaves a good end alone', async () => {
      const id = await run(fixture(), 'one', 'short', { HostConfig: { RestartPolicy: { Name: 'on-failure' } } });
      expect(await untilStatus(fixture(), id, 'exited')).toMatchObject({ restartCount: 0, state: { exitCode: 0 } });
    });

    test('always starts it again after any end; between two tries a start is a noop and a stop ends it', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'crash', { HostConfig: { RestartPolicy: { Name: 'always' } } });
      const restartsThrice = async () => {
        const { state, restartCount } = await inspect(fixture(), id);
        return state.status === 'restarting' && restartCount >= 3;
      };
      await eventually(fixture(), restartsThrice, 60_000);
      expect(await engine.startContainer(id)).toEqual({ kind: 'noop' });
      expect(await engine.stopContainer(id, { timeoutSeconds: 1 })).toEqual({ kind: 'done' });
      expect((await inspect(fixture(), id)).state).toMatchObject({ status: 'exited', exitCode: 3 });
    });

    test.each(['always', 'unless-stopped'])('%s leaves a container down that was stopped', async (Name) => {
      const id = await run(fixture(), 'one', 'deaf', { HostConfig: { RestartPolicy: { Name } } });
      await fixture().engine.stopContainer(id, { timeoutSeconds: 0 });
      await fixture().clock.sleep(500);
      expect(await inspect(fixture(), id)).toMatchObject({
        state: { status: 'exited', exitCode: 137 },
        restartCount: 0,
      });
    });
  });

  describe('createVolume()', () => {
    test('makes one that listVolumes() finds by a label, by its value, and without a label', async () => {
      const { engine } = fixture();
      const labels = { 'test.of': 'one', 'test.size': '7' };
      expect(await engine.createVolume('labelled', labels)).toEqual({ kind: 'done' });
      expect(await engine.createVolume('bare', {})).toEqual({ kind: 'done' });
      expect(['done', 'noop']).toContain(statusOf(await engine.createVolume('labelled', labels)));
      expect(statusOf(await engine.createVolume('bare', labels))).toBe('refused 409');
      const names = async (label?: string) => (await engine.listVolumes(label)).map(({ name }) => name).toSorted();
      expect(await names('test.of')).toEqual(['labelled']);
      expect(await names('test.of=one')).toEqual(['labelled']);
      expect(await names('test.of=two')).toEqual([]);
      expect(await names()).toEqual(['bare', 'labelled']);
      const found = new Map((await engine.listVolumes(undefined)).map((volume) => [volume.name, volume.labels]));
      expect([found.get('bare'), found.get('labelled')]).toEqual([{}, labels]);
    });
  });

  describe('removeVolume()', () => {
    test('removes what nobody uses; what a container uses stays, also when that is stopped', async () => {
      const { engine, volumes } = fixture();
      const running = await run(fixture(), 'one', 'service', { HostConfig: { Binds: ['used:/data'] } });
      const stopped = await create(fixture(), 'two', 'service', { HostConfig: { Binds: ['kept:/data'] } });
      for (const name of ['used', 'kept']) expect(statusOf(await engine.removeVolume(name))).toBe('refused 409');
      for (const id of [running, stopped]) await engine.removeContainer(id);
      expect(await engine.removeVolume('used')).toEqual({ kind: 'done' });
      expect(await volumes()).toEqual(['kept']);
      expect(await engine.removeVolume('used')).toEqual({ kind: 'noop' });
    });
  });

  describe('removeContainer()', () => {
    test('kills what runs, frees the name, and keeps every volume', async () => {
      const { engine, volumes } = fixture();
      const id = await run(fixture(), 'one', 'storing', { HostConfig: { Binds: ['named:/named'] } });
      const before = await volumes();
      expect(before).toHaveLength(2);
      expect(await engine.removeContainer(id)).toEqual({ kind: 'done' });
      expect(await engine.inspectContainer(id)).toBeUndefined();
      expect((await volumes()).toSorted()).toEqual(before.toSorted());
      await create(fixture(), 'one', 'service');
    });

    test('is a noop when there is none', async () => {
      const id = await create(fixture(), 'one', 'service');
      await fixture().engine.removeContainer(id);
      expect(await fixture().engine.removeContainer(id)).toEqual({ kind: 'noop' });
      expect(await fixture().engine.removeContainer('nobody')).toEqual({ kind: 'noop' });
    });

    test('leaves the other of two containers of one image alone', async () => {
      const [one, two] = [await run(fixture(), 'one', 'service'), await run(fixture(), 'two', 'service')];
      await fixture().engine.removeContainer(one);
      expect((await inspect(fixture(), two)).state.status).toBe('running');
    });
  });
}
