import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

describeInLab('an image of the same name by a stranger', (lab) => {
  const { engine, registry } = lab;
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());
  const at = (repository: string) => `${registry.host}/strangers/${repository}`;

  /** The image of `from` runs under the name of `to`. */
  async function retag(from: string, to: string, tag = 'stable'): Promise<void> {
    await pushImage(registry, `strangers/${from}`, tag, catalogue['plain-v1']);
    await engine.pull(`${at(from)}:${tag}`);
    const source = encodeURIComponent(`${at(from)}:${tag}`);
    await engine.call('POST', `/images/${source}/tag?repo=${encodeURIComponent(at(to))}&tag=${tag}`);
    await engine.run('web', `${at(to)}:${tag}`, { StopTimeout: 1 });
  }

  test.each(['stable', '1.27'])('set-up image by a stranger: a retagged image is not replaced (%s)', async (tag) => {
    await retag('private/app', 'app', tag);
    await pushImage(registry, 'strangers/app', tag, catalogue['plain-v2']);
    const before = (await engine.inspect('web'))!.Id;
    const reason = expect.stringContaining('strangers/private/app" and only tagged');
    expect((await upkeep.check())['web']).toMatchObject({ status: 'local', update_available: false, reason });
    await upkeep.update();
    expect((await engine.inspect('web'))!.Id).toBe(before);
  });

  test('set-up image by a stranger: one that the registry of its name knows is updated', async () => {
    await retag('mirror/app', 'known');
    await pushImage(registry, 'strangers/known', 'first', catalogue['plain-v1']);
    await pushImage(registry, 'strangers/known', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  test('set-up image by a stranger: one that was also pulled by its name is updated', async () => {
    await pushImage(registry, 'strangers/own', 'stable', catalogue['plain-v1']);
    await engine.pull(`${at('own')}:stable`);
    await engine.run('web', `${at('own')}:stable`, { StopTimeout: 1 });
    await engine.call('POST', `/images/${encodeURIComponent(`${at('own')}:stable`)}/tag?repo=backup&tag=1`);
    await pushImage(registry, 'strangers/own', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });
});
