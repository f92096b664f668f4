import { afterEach, expect, test } from 'vitest';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './scene.ts';

const labelled = (label: string, value: string) => ({ config: { Labels: { [label]: value } } });

describeInLab('which containers an update touches', (lab) => {
  const { engine, registry } = lab;
  const { stale, push, inspect, image } = effectsScene(lab, 'choosing');
  const upkeep = upkeepScene({ socket: engine.socket, args: ['--health-window', '200ms'] });
  afterEach(() => engine.clear());

  test('what the label enable forbids is never touched, and with --label-enable only what it allows', async () => {
    const [off, silent] = await Promise.all([
      stale('off', labelled('upkeep.enable', 'false')),
      stale('silent'),
      stale('own', labelled('upkeep.enable', 'true')),
      stale('drop-in', labelled('com.centurylinklabs.watchtower.enable', 'true')),
    ]);
    const onlyAllowed = await upkeep.update('--label-enable');
    expect(onlyAllowed.outcomes).toEqual({
      own: expect.objectContaining({ outcome: 'updated' }),
      'drop-in': expect.objectContaining({ outcome: 'updated' }),
    });
    expect((await inspect('silent')).Id).toBe(silent.Id);
    const { outcomes } = await upkeep.update();
    expect(outcomes).toMatchObject({ own: { outcome: 'fresh' }, silent: { outcome: 'updated' } });
    expect(outcomes['off']).toBeUndefined();
    expect((await inspect('off')).Id).toBe(off.Id);
  });

  test('with --image only containers of that image, whatever its tag', async () => {
    const [{ Id }] = await Promise.all([stale('other'), stale('web')]);
    const { outcomes } = await upkeep.update('--image', `${registry.host}/choosing/web`);
    expect(outcomes).toEqual({ web: expect.objectContaining({ outcome: 'updated' }) });
    expect((await inspect('other')).Id).toBe(Id);
  });

  test('a task of a Swarm service is left to Swarm', async () => {
    const { Id } = await stale('task', labelled('com.docker.swarm.task.id', 'x'));
    expect((await upkeep.update()).outcomes['task']?.outcome ?? 'none').not.toBe('updated');
    expect(await inspect('task')).toMatchObject({ Id, State: { Running: true } });
  });

  test('a container is updated to the image that Zodiac noted on it, instead of its own', async () => {
    const next = await push('noted', webServer('noted'));
    await stale('web', labelled('com.centurylinklabs.zodiac.original-image', image('noted')));
    const { outcomes, run } = await upkeep.update();
    expect(outcomes['web']?.outcome, run.stderr).toBe('updated');
    const { Image, Config } = await inspect('web');
    expect(idsOf(next)).toContain(Image);
    expect(Config.Image).toBe(image('noted'));
  });
});
