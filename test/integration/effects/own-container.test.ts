import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { effectsScene } from './scene.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Node and the build are mounted, so that the image need not contain them. */
const parts = ['/usr:/usr:ro', '/usr/lib:/lib:ro', '/usr/lib64:/lib64:ro', `${root}:/app:ro`];
const upkeepImage = (version: string): ImageSpec => ({
  config: { Entrypoint: ['/usr/bin/node', '/app/dist/main.js'], Env: ['PATH=/usr/bin:/bin', `APP_VERSION=${version}`] },
});

describeInLab('the container that Upkeep runs in', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names } = effectsScene(lab, 'own-container');
  afterEach(() => engine.clear());

  test('is left as it is with --no-self-update', async () => {
    const { Id } = await stale('upkeep', {
      old: upkeepImage('v1'),
      next: upkeepImage('v2'),
      config: {
        Cmd: ['run', '--update-on-start', '--no-self-update'],
        // The registry of the lab is on a loopback address.
        HostConfig: { NetworkMode: 'host', Binds: [...parts, `${engine.socket}:/var/run/docker.sock`] },
      },
    });
    const log = async () => String((await engine.call('GET', '/containers/upkeep/logs?stdout=1&stderr=1')).body);
    await expect.poll(log, { timeout: 20_000 }).toContain('scan_completed');
    expect(await log()).toContain('upkeep: held back: It is Upkeep itself, and self-update is off');
    expect(await inspect('upkeep')).toMatchObject({ Id, State: { Running: true } });
    expect(await names()).toEqual(['upkeep']);
  });
});
