import { afterEach, expect, test } from 'vitest';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene } from './scene.ts';

describeInLab('the limits of a new container', (lab) => {
  const { engine } = lab;
  const { push, image, inspect } = effectsScene(lab, 'resources');
  const upkeep = upkeepScene({ socket: engine.socket, args: ['--include-stopped'] });
  afterEach(() => engine.clear());

  test('are those of the old one, but for what --cpu-copy-mode and --disable-memory-swappiness leave out', async (context) => {
    await push('web', webServer('v1'));
    await engine.pull(image('web'));
    const limits = { NanoCpus: 500_000_000, CpuShares: 512, Memory: 67_108_864, MemorySwappiness: 0 };
    await engine.create('web', image('web'), { HostConfig: limits });
    if ((await inspect('web')).HostConfig['MemorySwappiness'] !== 0)
      skipBecause(context, 'this engine keeps no swappiness: with cgroup v2 there is none');
    await push('web', webServer('v2'));
    expect((await upkeep.update('--cpu-copy-mode', 'full')).outcomes['web']?.outcome).toBe('updated');
    expect((await inspect('web')).HostConfig).toMatchObject(limits);
    await push('web', webServer('v3'));
    const { outcomes } = await upkeep.update('--cpu-copy-mode', 'none', '--disable-memory-swappiness');
    expect(outcomes['web']?.outcome).toBe('updated');
    expect((await inspect('web')).HostConfig).toMatchObject({
      NanoCpus: 0,
      CpuShares: 0,
      Memory: limits.Memory,
      MemorySwappiness: null,
    });
  });
});
