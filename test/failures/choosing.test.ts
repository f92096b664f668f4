import { describe, expect, test } from 'vitest';
import type { ServiceEvent } from '../../src/domain/run/event.ts';
import { dependsOn, everything, inNetworkOf, reportOf, setStage } from './rig/stage.ts';

/** Which containers are touched, and which are not. */

describe('choosing containers', () => {
  test('pitfall 8: a name with alternatives is a whole name: what only begins or ends so is left alone', async () => {
    const stage = await setStage({ nginx: {}, redis: {}, 'nginx-proxy': {}, 'my-redis': {} });
    const byFlag = await stage.update({ settings: { names: ['nginx|redis'] } });
    expect(byFlag.outcomes).toEqual({ nginx: 'updated', redis: 'updated' });
    const byRequest = await stage.update({ request: { containers: ['nginx|redis'] } });
    expect(byRequest.outcomes).toEqual({ nginx: 'fresh', redis: 'fresh' });
    const excluded = await stage.update({ settings: { disableContainers: ['nginx|my'] } });
    expect(excluded.outcomes).toEqual({ redis: 'fresh', 'nginx-proxy': 'updated', 'my-redis': 'updated' });
    expect(stage.harm()).toEqual([]);
  });

  test('pitfall 10: a container that is only monitored: nothing is pulled, and its tag stays where it is', async () => {
    const stage = await setStage({ web: {} });
    const { control } = stage.scene.sandbox;
    const before = control.snapshot();
    const { outcomes, of, connection } = await stage.update({ settings: { monitorOnly: true } });
    expect(outcomes).toEqual({ web: 'skipped' });
    expect(of('web').reason).toBe('A newer image of "web:1" is available; monitored only');
    expect(connection.calls).toEqual([]);
    const { tags, imageIds } = control.snapshot();
    expect({ tags, imageIds }).toEqual({ tags: before.tags, imageIds: before.imageIds });
  });

  test('pitfall 16: one container is asked for: those in its network are made again with it, others are not touched', async () => {
    const stage = await setStage({ vpn: {}, app: { body: inNetworkOf('vpn') }, web: {} });
    const { outcomes } = await stage.update({ request: { containers: ['vpn'] } });
    expect(outcomes).toEqual({ vpn: 'updated', app: 'restarted' });
    expect(stage.now('app').settings.HostConfig.NetworkMode).toBe(`container:${stage.now('vpn').id}`);
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 39: one by one, though containers depend on each other: it is not refused, and each waits for what it needs', async () => {
    const stage = await setStage({
      web: { body: dependsOn('api') },
      api: { body: dependsOn('db') },
      db: {},
      vpn: {},
      app: { body: inNetworkOf('vpn') },
    });
    const life = stage.live({ settings: { rollingRestart: true } });
    const first = reportOf(life, await life.application.update(everything));
    expect(new Set(Object.values(first.outcomes))).toEqual(new Set(['updated']));
    expect(maxAtOnce(first.events)).toBe(2);
    const order = first.events.flatMap((event) => (event.kind === 'update_completed' ? [event.outcome.name] : []));
    expect(order.filter((name) => ['db', 'api', 'web'].includes(name))).toEqual(['db', 'api', 'web']);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 39: a dependency appears later: the next run goes on as before', async () => {
    const stage = await setStage({ db: {}, web: {} });
    const { control } = stage.scene.sandbox;
    const life = stage.live({ settings: { rollingRestart: true } });
    await life.application.update(everything);
    control.runContainer('late', { Image: 'web:1', ...dependsOn('db') });
    stage.scene.registry.store.publish('db:1', { version: 'newer' });
    const second = reportOf(life, await life.application.update(everything));
    expect(second.outcomes).toEqual({ db: 'updated', web: 'fresh', late: 'fresh' });
    expect(stage.harm()).toEqual(['"late" is left over']);
  });
});

/** Containers of one group move together: a group of two counts as two. */
function maxAtOnce(events: readonly ServiceEvent[]): number {
  let now = 0;
  let most = 0;
  for (const { kind } of events) {
    if (kind === 'update_started') most = Math.max(most, (now += 1));
    if (kind === 'update_completed' || kind === 'update_failed') now -= 1;
  }
  return most;
}
