import { existsSync } from 'node:fs';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { startBroker } from '../../notify/broker.ts';
import { type EntityView, openHomeAssistantModel } from '../../support/notify/home-assistant-model.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

/** A button is pressed at a real broker, and a container on a real engine is updated. */
describeInLab('Home Assistant', (lab) => {
  const { engine } = lab;
  const { stale, run, inspect, image } = effectsScene(lab, 'home');
  afterEach(() => engine.clear());

  async function begin(options: readonly string[], version: '2024.3' | '2026.11' = '2026.11') {
    const broker = await startBroker();
    onTestFinished(() => broker[Symbol.asyncDispose]());
    const home = await openHomeAssistantModel(broker.port, version);
    const url = `homeassistant+mqtt://127.0.0.1:${broker.port}?node=h1&install=yes`;
    const args = ['run', '--interval', '1h', '--health-window', '1s', '--notification-url', url, ...options];
    const start = () => {
      const service = startUpkeep(args, { socket: engine.socket });
      onTestFinished(() => void service.child.kill('SIGKILL'));
      return service;
    };
    const service = start();
    const until = (name: string, passes: (entity: EntityView) => boolean) =>
      home.until((all) => {
        const entity = all.get(`upkeep_h1_${name}`);
        return entity !== undefined && passes(entity);
      });
    const view = (name: string) => home.entities().get(`upkeep_h1_${name}`);
    const press = (name: string) => home.press(`upkeep_h1_${name}`);
    const check = async () => {
      await until('check', ({ state }) => state !== 'unavailable');
      await press('check');
    };
    return { home, service, start, until, view, press, check };
  }

  test.skipIf(!existsSync('/usr/sbin/mosquitto'))(
    'updates by a press what waits for a person, and says why where it does nothing',
    async () => {
      const web = await stale('web');
      await stale('db', { config: { Labels: { 'upkeep.monitor-only': 'false', 'upkeep.approve': 'true' } } });
      await stale('young', { config: { Labels: { 'upkeep.monitor-only': 'false', 'upkeep.cooldown-delay': '7d' } } });
      const noon = new Date(Date.now() + 12 * 3_600_000);
      const closed = `${String(noon.getUTCHours()).padStart(2, '0')}:00-${String(noon.getUTCHours()).padStart(2, '0')}:30`;
      await stale('shut', { config: { Labels: { 'upkeep.monitor-only': 'false', 'upkeep.window': closed } } });
      await stale('bad', { next: catalogue.crash });
      await stale('job', { config: { HostConfig: { AutoRemove: true } } });
      const { RepoDigests = [] } = (await engine.call('GET', `/images/${image('web')}/json`)).body as {
        RepoDigests?: string[];
      };
      await engine.run('still', RepoDigests[0] ?? '', { StopTimeout: 1 });
      const { home, until, press, view, check, service } = await begin(['--monitor-only', '--label-take-precedence']);
      await check();
      for (const name of ['web', 'db', 'young', 'shut', 'bad', 'job']) await until(name, ({ state }) => state === 'on');
      expect(view('db')?.attributes['release_summary']).toMatch(/approval/);
      expect(view('shut')?.attributes['release_summary']).toMatch(/window/);
      await until('job', ({ hasButton }) => !hasButton);
      await until('still', ({ hasButton, state }) => !hasButton && state === 'off');
      expect(home.entities().get('upkeep_h1_updates')?.state).toBe('6');

      for (const name of ['web', 'db', 'young', 'shut']) {
        await press(name);
        await until(name, ({ attributes }) => attributes['in_progress'] === true);
        await until(name, ({ state, attributes }) => state === 'off' && attributes['in_progress'] === false);
      }
      expect((await inspect('web')).Id).not.toBe(web.Id);
      await until('event', ({ state, attributes }) => state === 'updated' && attributes['container'] === 'shut');

      const before = await inspect('bad');
      await press('bad');
      await until('bad', ({ attributes }) => attributes['in_progress'] === true);
      await until('bad', ({ attributes }) => attributes['in_progress'] === false);
      await until('event', ({ state, attributes }) => state === 'failed' && attributes['container'] === 'bad');
      expect(view('bad')).toMatchObject({ state: 'on', states: expect.not.arrayContaining(['off']) });
      expect(view('bad')?.attributes['release_summary']).toMatch(/^Failed/);
      expect((await inspect('bad')).Id).toBe(before.Id);

      await engine.call('POST', '/containers/bad/pause');
      await until('bad', ({ attributes }) => attributes['state'] === 'paused');
      expect(home.removed).toEqual([]);
      expect(home.complaints).toEqual([]);
      service.child.kill('SIGTERM');
      await until('web', ({ state }) => state === 'unavailable');
      expect((await service.ended).code).toBe(0);
    },
  );

  for (const version of ['2024.3', '2026.11'] as const)
    test.skipIf(!existsSync('/usr/sbin/mosquitto'))(
      `keeps the entity of a container over updates, stops, pauses and restarts (${version})`,
      async () => {
        await stale('web');
        await run('calm');
        const { home, until, view, press, check, service, start } = await begin([], version);
        await check();
        await until('web', ({ state }) => state === 'on');
        await until('calm', ({ state }) => state === 'off');
        home.rename('upkeep_h1_web', 'Shop');
        await press('web');
        await until('web', ({ state }) => state === 'off');
        expect(view('web')?.states.filter((state) => state !== 'unknown' && state !== 'unavailable')).toEqual([
          'on',
          'off',
        ]);

        await engine.call('POST', '/containers/calm/stop?t=1');
        await until('calm', ({ attributes }) => attributes['state'] === 'stopped');
        await engine.call('POST', '/containers/calm/start');
        await until('calm', ({ attributes }) => attributes['state'] === 'running');
        await engine.call('POST', '/containers/calm/pause');
        await until('calm', ({ attributes }) => attributes['state'] === 'paused');
        await engine.call('POST', '/containers/calm/unpause');
        await until('calm', ({ attributes }) => attributes['state'] === 'running');
        await engine.call('DELETE', '/containers/calm?force=1');
        await engine.run('calm', image('calm'), { StopTimeout: 1 });
        await engine.call('POST', '/containers/calm/stop?t=1');
        await until('calm', ({ attributes }) => attributes['state'] === 'stopped');

        service.child.kill('SIGTERM');
        await until('web', ({ state }) => state === 'unavailable');
        start();
        await until('web', ({ state }) => state === 'off');
        await until('calm', ({ state }) => state === 'off');
        expect([view('web')?.name, home.removed, home.complaints]).toEqual(['Shop', [], []]);
      },
    );
});
