import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { startBroker } from '../../notify/broker.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

/** A button is pressed at a real broker, and a container on a real engine is updated. */
describeInLab('Home Assistant', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'home');
  afterEach(() => engine.clear());

  test.skipIf(!existsSync('/usr/sbin/mosquitto'))(
    'sees what is watched, has it updated, and hears when nobody is there',
    { timeout: 120_000 },
    async () => {
      const broker = await startBroker();
      onTestFinished(() => broker[Symbol.asyncDispose]());
      const web = await stale('web');
      await stale('db', { config: { Labels: { 'upkeep.monitor-only': 'true' } } });
      const watcher = await broker.watch();
      const url = `homeassistant+mqtt://127.0.0.1:${broker.port}?node=h1&install=yes`;
      const args = ['run', '--interval', '1h', '--health-window', '1s', '--notification-url', url];
      const service = startUpkeep(args, { socket: engine.socket });
      onTestFinished(() => void service.child.kill('SIGKILL'));
      const publish = (topic: string, payload: string) =>
        spawnSync('mosquitto_pub', ['-h', '127.0.0.1', '-p', String(broker.port), '-t', topic, '-m', payload]);

      await watcher.line((line) => line.startsWith('homeassistant/update/upkeep_h1/web/config'));
      await watcher.line((line) => line.startsWith('upkeep/h1/web/update'));
      publish('upkeep/h1/web/install', 'install');
      await watcher.line((line) => line.startsWith('upkeep/h1/web/update') && line.includes('"in_progress":true'));
      const after = await watcher.line(
        (line) => line.startsWith('upkeep/h1/web/update') && line.includes('"in_progress":false'),
      );
      const { installed_version: installed, latest_version: latest } = JSON.parse(after.slice(after.indexOf('{')));
      expect(installed).toBe(latest);
      expect((await inspect('web')).Id).not.toBe(web.Id);

      publish('upkeep/h1/db/install', 'install');
      service.child.kill('SIGTERM');
      await watcher.line((line) => line.startsWith('upkeep/h1/status') && line.endsWith('offline'));
      expect((await service.ended).code).toBe(0);
    },
  );
});
