import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene, idsOf } from './scene.ts';

describeInLab('start-first on a real engine', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'start-first');
  afterEach(() => engine.clear());

  const update = (...args: string[]) =>
    runUpkeep(['update', '--health-window', '1s', ...args], { socket: engine.socket });

  /** Starts and exits of containers, as `old die`. */
  async function lives(oldId: string, since: number): Promise<readonly string[]> {
    const filters = encodeURIComponent('{"type":["container"],"event":["start","die"]}');
    const until = Date.now() / 1000 + 1;
    const { body } = await engine.call('GET', `/events?since=${since}&until=${until}&filters=${filters}`);
    const lines = typeof body === 'string' ? body.trim().split('\n') : [JSON.stringify(body)];
    return lines
      .map((line) => JSON.parse(line) as { Action: string; Actor: { ID: string } })
      .map(({ Action, Actor }) => `${Actor.ID === oldId ? 'old' : 'new'} ${Action}`);
  }

  test('the old one ends after the new one has started', async () => {
    await engine.call('POST', '/networks/create', { Name: 'front' });
    const HostConfig = { NetworkMode: 'front', RestartPolicy: { Name: 'always' } };
    const before = await scene.stale('web', { config: { HostConfig } });
    const since = Date.now() / 1000;
    const { code, stdout, stderr } = await update('--start-first');
    expect(code, stdout + stderr).toBe(0);
    const after = await scene.inspect('web');
    expect(idsOf(before.next)).toContain(after.Image);
    expect(after.HostConfig['RestartPolicy']).toMatchObject({ Name: 'always' });
    expect(await lives(before.Id, since)).toEqual(['new start', 'old die']);
    expect(await scene.names()).toEqual(['web']);
  });

  test('a version that fails has never interrupted the old one', async () => {
    const before = await scene.stale('web', { next: catalogue.crash });
    const since = Date.now() / 1000;
    expect((await update('--start-first')).code).toBe(1);
    const after = await scene.inspect('web');
    expect([after.Id, after.State.StartedAt]).toEqual([before.Id, before.State.StartedAt]);
    expect(await lives(before.Id, since)).toEqual(['new start', 'new die']);
    expect(await scene.names()).toEqual(['web']);
  });

  test('with the label also where both write to the same volume, and with false never', async () => {
    const Labels = { 'upkeep.start-first': 'true' };
    const before = await scene.stale('web', { config: { Labels, HostConfig: { Binds: ['shared:/data'] } } });
    const unwilling = await scene.stale('unwilling', { config: { Labels: { 'upkeep.start-first': 'false' } } });
    const since = Date.now() / 1000;
    expect((await update('web')).code).toBe(0);
    expect(await lives(before.Id, since)).toEqual(['new start', 'old die']);
    const sinceThen = Date.now() / 1000;
    expect((await update('--start-first', 'unwilling')).code).toBe(0);
    expect(await lives(unwilling.Id, sinceThen)).toEqual(['old die', 'new start']);
  });

  test('in a second network two never have the same hardware address, which Docker 28 would repeat', async () => {
    await engine.call('POST', '/networks/create', { Name: 'front' });
    await engine.call('POST', '/networks/create', { Name: 'back' });
    const { Id } = await scene.stale('web', { config: { HostConfig: { NetworkMode: 'front' } } });
    await engine.call('POST', '/networks/back/connect', { Container: Id });
    const { back } = (await scene.inspect('web')).NetworkSettings.Networks;
    const isGenerated = !String(back?.['MacAddress']).startsWith('02:42:');
    const since = Date.now() / 1000;
    expect((await update('--start-first')).code).toBe(0);
    expect(await lives(Id, since)).toEqual(isGenerated ? ['old die', 'new start'] : ['new start', 'old die']);
  });

  test('a fixed port is published by one at a time', async () => {
    const HostConfig = { PortBindings: { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '18097' }] } };
    const before = await scene.stale('web', { config: { HostConfig } });
    const since = Date.now() / 1000;
    expect((await update('--start-first')).code).toBe(0);
    expect(await lives(before.Id, since)).toEqual(['old die', 'new start']);
  });
});
