import { describe, expect, test } from 'vitest';
import { create, eventually, inspect, run, statusOf, untilItListens, untilStatus, type GetFixture } from './fixture.ts';

export function runningRows(fixture: GetFixture): void {
  describe('startContainer()', () => {
    test('is done, then a noop', async () => {
      const id = await create(fixture(), 'one', 'service');
      expect(await fixture().engine.startContainer(id)).toEqual({ kind: 'done' });
      expect(await fixture().engine.startContainer(id)).toEqual({ kind: 'noop' });
    });

    test('is refused with 404 when there is none', async () => {
      expect(statusOf(await fixture().engine.startContainer('nobody'))).toBe('refused 404');
    });

    test('is done for a process that ends at once', async () => {
      const id = await create(fixture(), 'one', 'crash');
      expect(await fixture().engine.startContainer(id)).toEqual({ kind: 'done' });
      expect((await untilStatus(fixture(), id, 'exited')).state.exitCode).toBe(3);
    });

    test('is refused when the command does not exist, and the container says why', async () => {
      const id = await create(fixture(), 'one', 'missing');
      const outcome = await fixture().engine.startContainer(id);
      expect(statusOf(outcome)).toBe('refused 400');
      const { state } = await inspect(fixture(), id);
      expect(state).toMatchObject({ status: 'created', exitCode: 127, startedAt: '' });
      expect(outcome).toMatchObject({ message: state.error });
    });

    test('is refused while another holds the host port, and works once it is free', async () => {
      const { engine } = fixture();
      const body = {
        ExposedPorts: { '80/tcp': {} },
        HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '18081' }] } },
      };
      const holder = await run(fixture(), 'holder', 'service', body);
      const id = await create(fixture(), 'one', 'service', {
        ...body,
        HostConfig: { ...body.HostConfig, RestartPolicy: { Name: 'always' } },
      });
      const outcome = await engine.startContainer(id);
      expect(statusOf(outcome)).toBe('refused 500');
      expect(outcome).toMatchObject({ message: expect.stringContaining('port is already allocated') });
      expect((await inspect(fixture(), id)).state).toMatchObject({
        status: 'created',
        exitCode: 128,
        error: expect.stringContaining('18081'),
      });
      await fixture().clock.sleep(300);
      expect((await inspect(fixture(), id)).state.status).toBe('created');
      await engine.stopContainer(holder, { timeoutSeconds: 1 });
      expect(await engine.startContainer(id)).toEqual({ kind: 'done' });
      expect((await inspect(fixture(), id)).state).toMatchObject({ status: 'running', exitCode: 0, error: '' });
    });

    test('of a container that removes itself leaves nothing when it is refused', async () => {
      const PortBindings = { '80/tcp': [{ HostPort: '18082' }] };
      const body = { ExposedPorts: { '80/tcp': {} }, HostConfig: { PortBindings } };
      await run(fixture(), 'holder', 'service', body);
      const id = await create(fixture(), 'one', 'service', { ...body, HostConfig: { PortBindings, AutoRemove: true } });
      expect(statusOf(await fixture().engine.startContainer(id))).toBe('refused 500');
      await eventually(fixture(), async () => (await fixture().engine.inspectContainer(id)) === undefined);
    });

    test('does not publish a port that is not exposed', async () => {
      const HostConfig = { PortBindings: { '81/tcp': [{ HostPort: '18083' }] } };
      const exposing = await run(fixture(), 'one', 'service', { ExposedPorts: { '80/tcp': {} }, HostConfig });
      const other = await run(fixture(), 'two', 'service', { ExposedPorts: { '80/tcp': {} }, HostConfig });
      for (const id of [exposing, other]) expect((await inspect(fixture(), id)).state.status).toBe('running');
    });

    test("joins another container's network only while that runs", async () => {
      const { engine } = fixture();
      const target = await create(fixture(), 'target', 'service');
      const id = await create(fixture(), 'one', 'service', { HostConfig: { NetworkMode: 'container:target' } });
      const outcome = await engine.startContainer(id);
      expect(statusOf(outcome)).toBe('refused 409');
      expect(outcome).toMatchObject({
        message: expect.stringMatching(/cannot join network (namespace )?of a non running container/),
      });
      await engine.startContainer(target);
      expect(await engine.startContainer(id)).toEqual({ kind: 'done' });
    });

    test('never finds the network again of a container that was replaced', async () => {
      const { engine } = fixture();
      const target = await run(fixture(), 'target', 'service');
      const id = await run(fixture(), 'one', 'service', { HostConfig: { NetworkMode: 'container:target' } });
      await engine.removeContainer(target);
      expect((await inspect(fixture(), id)).state.status).toBe('running');
      await run(fixture(), 'target', 'service');
      await engine.stopContainer(id, { timeoutSeconds: 1 });
      expect(statusOf(await engine.startContainer(id))).toMatch(/^refused/);
    });
  });

  describe('stopContainer()', () => {
    test('is done, then a noop', async () => {
      const id = await run(fixture(), 'one', 'lingering');
      await untilItListens(fixture(), id);
      expect(await fixture().engine.stopContainer(id, { timeoutSeconds: 5 })).toEqual({ kind: 'done' });
      expect((await inspect(fixture(), id)).state).toMatchObject({ status: 'exited', exitCode: 0 });
      expect(await fixture().engine.stopContainer(id, { timeoutSeconds: 5 })).toEqual({ kind: 'noop' });
    });

    test('is a noop for one that was never started, refused with 404 for none', async () => {
      const id = await create(fixture(), 'one', 'service');
      expect(await fixture().engine.stopContainer(id, {})).toEqual({ kind: 'noop' });
      expect(statusOf(await fixture().engine.stopContainer('nobody', {}))).toBe('refused 404');
    });

    test('kills what does not listen, after the time that was given', async () => {
      const id = await run(fixture(), 'one', 'deaf');
      const startMs = fixture().clock.monotonicMs();
      expect(await fixture().engine.stopContainer(id, { timeoutSeconds: 1 })).toEqual({ kind: 'done' });
      expect(fixture().clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(900);
      expect((await inspect(fixture(), id)).state).toMatchObject({ status: 'exited', exitCode: 137 });
    });

    test("waits the container's own time when none was given", async () => {
      const id = await run(fixture(), 'one', 'deaf', { StopTimeout: 1 });
      const startMs = fixture().clock.monotonicMs();
      await fixture().engine.stopContainer(id, {});
      const tookMs = fixture().clock.monotonicMs() - startMs;
      expect(tookMs).toBeGreaterThanOrEqual(900);
      expect(tookMs).toBeLessThan(5000);
    });

    test('goes on when the caller is gone', async () => {
      const { engine, connect } = fixture();
      const id = await run(fixture(), 'one', 'lingering');
      await untilItListens(fixture(), id);
      const caller = await connect();
      const abandoned = caller.stopContainer(id, { timeoutSeconds: 10 });
      await eventually(fixture(), async () => {
        await fixture().clock.sleep(100);
        return true;
      });
      await caller.close();
      expect((await inspect(fixture(), id)).state.status).toBe('running');
      expect(await engine.startContainer(id)).toEqual({ kind: 'noop' });
      expect(await engine.waitUntilStopped(id, 5000)).toBe(true);
      expect((await inspect(fixture(), id)).state).toMatchObject({ status: 'exited', exitCode: 0 });
      expect((await abandoned).kind).toBe('unknown');
    });

    test('lets rename and update through while it lasts', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'lingering');
      await untilItListens(fixture(), id);
      const stopping = engine.stopContainer(id, { timeoutSeconds: 10 });
      await fixture().clock.sleep(100);
      expect(await engine.renameContainer(id, 'two')).toEqual({ kind: 'done' });
      expect(await engine.updateRestartPolicy(id, { Name: 'always', MaximumRetryCount: 0 })).toEqual({ kind: 'done' });
      expect((await inspect(fixture(), id)).state.status).toBe('running');
      expect(await stopping).toEqual({ kind: 'done' });
      await fixture().clock.sleep(300);
      expect((await inspect(fixture(), 'two')).state.status).toBe('exited');
    });

    test('is shortened by a second one', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'deaf');
      const startMs = fixture().clock.monotonicMs();
      const first = engine.stopContainer(id, { timeoutSeconds: 30 });
      await fixture().clock.sleep(100);
      expect(await engine.stopContainer(id, { timeoutSeconds: 1 })).toEqual({ kind: 'done' });
      expect(await first).toEqual({ kind: 'done' });
      expect(fixture().clock.monotonicMs() - startMs).toBeLessThan(10_000);
    });
  });

  describe('restartContainer()', () => {
    test('ends the process and starts another; nothing else changes', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'service', { HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } });
      const before = await inspect(fixture(), id);
      expect(await engine.restartContainer(id, { timeoutSeconds: 5 })).toEqual({ kind: 'done' });
      const { state, ...after } = await inspect(fixture(), id);
      expect(state.status).toBe('running');
      expect(state.startedAt).not.toBe(before.state.startedAt);
      expect(after).toMatchObject({ id, name: 'one', restartCount: 0 });
      expect(after.settings.HostConfig).toEqual(before.settings.HostConfig);
    });

    test('kills what does not listen, starts what is stopped, and is refused with 404 for none', async () => {
      const { engine } = fixture();
      const deaf = await run(fixture(), 'deaf', 'deaf');
      expect(await engine.restartContainer(deaf, { timeoutSeconds: 1 })).toEqual({ kind: 'done' });
      const stopped = await create(fixture(), 'stopped', 'service');
      expect(await engine.restartContainer(stopped, { timeoutSeconds: 1 })).toEqual({ kind: 'done' });
      for (const id of [deaf, stopped]) expect((await inspect(fixture(), id)).state.status).toBe('running');
      expect(statusOf(await engine.restartContainer('nobody', {}))).toBe('refused 404');
    });

    test('is finished by the engine when the caller is gone', async () => {
      const { engine, connect } = fixture();
      const id = await run(fixture(), 'one', 'lingering');
      await untilItListens(fixture(), id);
      const { startedAt } = (await inspect(fixture(), id)).state;
      const caller = await connect();
      const abandoned = caller.restartContainer(id, { timeoutSeconds: 10 });
      await fixture().clock.sleep(100);
      await caller.close();
      expect((await abandoned).kind).toBe('unknown');
      await eventually(fixture(), async () => {
        const { state } = (await engine.inspectContainer(id))!;
        return state.status === 'running' && state.startedAt !== startedAt;
      });
    });
  });

  describe('containers that remove themselves', () => {
    test('go with their anonymous volumes when they are stopped; named ones stay', async () => {
      const { engine, volumes } = fixture();
      const id = await run(fixture(), 'one', 'storing', { HostConfig: { AutoRemove: true, Binds: ['named:/named'] } });
      expect(await engine.stopContainer(id, { timeoutSeconds: 5 })).toEqual({ kind: 'done' });
      await eventually(fixture(), async () => (await engine.inspectContainer(id)) === undefined);
      await eventually(fixture(), async () => (await volumes()).length === 1);
      expect(await volumes()).toEqual(['named']);
    });

    test('go when they end by themselves, and nobody can wait for them any more', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'short', { HostConfig: { AutoRemove: true } });
      expect(await engine.waitUntilStopped(id, 5000)).toBe(true);
      await eventually(fixture(), async () => (await engine.inspectContainer(id)) === undefined);
      expect(await engine.waitUntilStopped(id, 5000)).toBe(true);
      expect(statusOf(await engine.startContainer(id))).toBe('refused 404');
    });

    test('free name, address and host port with their stop, whatever they were called by then', async () => {
      const { engine } = fixture();
      const PortBindings = { '80/tcp': [{ HostPort: '18084' }] };
      const body = { ExposedPorts: { '80/tcp': {} }, HostConfig: { PortBindings } };
      const HostConfig = { PortBindings, AutoRemove: true };
      const id = await run(fixture(), 'one', 'service', { ...body, HostConfig });
      expect(await engine.renameContainer(id, 'two')).toEqual({ kind: 'done' });
      const heir = await create(fixture(), 'one', 'service', body);
      expect(await engine.stopContainer(id, { timeoutSeconds: 5 })).toEqual({ kind: 'done' });
      expect(await engine.startContainer(heir)).toEqual({ kind: 'done' });
      await eventually(fixture(), async () => (await engine.inspectContainer('two')) === undefined);
    });

    test('leave an anonymous volume to whoever else has it by name', async () => {
      const { engine, volumes } = fixture();
      const id = await run(fixture(), 'one', 'storing', { HostConfig: { AutoRemove: true } });
      const [mount] = (await inspect(fixture(), id)).settings.Mounts;
      const Mounts = [{ Type: 'volume', Source: mount?.Name, Target: '/data' }];
      await create(fixture(), 'heir', 'storing', { HostConfig: { Mounts } });
      await engine.stopContainer(id, { timeoutSeconds: 5 });
      await eventually(fixture(), async () => (await engine.inspectContainer(id)) === undefined);
      await fixture().clock.sleep(100);
      expect(await volumes()).toEqual([mount?.Name]);
    });
  });

  describe('waitUntilStopped()', () => {
    test('resolves to true when the container ends, whoever ended it', async () => {
      const { engine } = fixture();
      const id = await run(fixture(), 'one', 'short');
      expect(await engine.waitUntilStopped(id, 5000)).toBe(true);
      expect((await inspect(fixture(), id)).state.status).toBe('exited');
    });

    test('resolves to false when the time has passed first', async () => {
      const id = await run(fixture(), 'one', 'service');
      const startMs = fixture().clock.monotonicMs();
      expect(await fixture().engine.waitUntilStopped(id, 300)).toBe(false);
      expect(fixture().clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(290);
    });

    test('resolves to true at once when nothing runs, or there is none', async () => {
      const { engine } = fixture();
      const id = await create(fixture(), 'one', 'service');
      expect(await engine.waitUntilStopped(id, 5000)).toBe(true);
      expect(await engine.waitUntilStopped('nobody', 5000)).toBe(true);
    });

    test('rejects when the caller gives up', async () => {
      const id = await run(fixture(), 'one', 'service');
      const abort = new AbortController();
      const wait = fixture().engine.waitUntilStopped(id, 5000, abort.signal);
      abort.abort(new Error('enough'));
      await expect(wait).rejects.toThrow('enough');
    });
  });

  describe('containerLogs()', () => {
    test('shows both streams, line by line', async () => {
      const id = await run(fixture(), 'one', 'talkative');
      await untilStatus(fixture(), id, 'exited');
      expect(await fixture().engine.containerLogs(id, { tail: 10 })).toBe('one\ntwo\nthree\n');
    });

    test('shows only the last lines', async () => {
      const id = await run(fixture(), 'one', 'talkative');
      await untilStatus(fixture(), id, 'exited');
      expect(await fixture().engine.containerLogs(id, { tail: 2 })).toBe('two\nthree\n');
    });

    test('shows what a terminal shows', async () => {
      const id = await run(fixture(), 'one', 'talkative', { Tty: true });
      await untilStatus(fixture(), id, 'exited');
      expect(await fixture().engine.containerLogs(id, { tail: 10 })).toBe('one\r\ntwo\r\nthree\r\n');
    });

    test('goes on over a restart', async () => {
      const id = await run(fixture(), 'one', 'talkative');
      await untilStatus(fixture(), id, 'exited');
      await fixture().engine.startContainer(id);
      await untilStatus(fixture(), id, 'exited');
      expect(await fixture().engine.containerLogs(id, { tail: 4 })).toBe('three\none\ntwo\nthree\n');
    });

    test('is empty for a container that was never started', async () => {
      const id = await create(fixture(), 'one', 'service');
      expect(await fixture().engine.containerLogs(id, { tail: 10 })).toBe('');
    });

    test('throws when there is none', async () => {
      await expect(fixture().engine.containerLogs('nobody', { tail: 10 })).rejects.toMatchObject({
        code: 'engine-refused',
      });
    });
  });
}
