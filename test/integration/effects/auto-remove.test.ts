import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './scene.ts';

describeInLab('a container with --rm', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names } = effectsScene(lab, 'auto-remove');
  const upkeep = upkeepScene({ socket: engine.socket, args: ['--health-window', '200ms'] });
  afterEach(() => engine.clear());

  test('is updated with --update-auto-remove or its label only, and is one with --rm again', async () => {
    const HostConfig = { AutoRemove: true };
    const Labels = { 'upkeep.update-auto-remove': 'true' };
    const [asked, silent] = await Promise.all([
      stale('asked', { config: { HostConfig, Labels } }),
      stale('silent', { config: { HostConfig } }),
    ]);
    const byLabel = await upkeep.update();
    expect(byLabel.outcomes, byLabel.run.stderr).toMatchObject({
      asked: { outcome: 'updated' },
      silent: { reason: expect.stringContaining('only where update-auto-remove is on') },
    });
    expect(await inspect('silent')).toMatchObject({ Id: silent.Id, State: { Running: true } });
    const byOption = await upkeep.update('--update-auto-remove');
    expect(byOption.outcomes['silent']?.outcome, byOption.run.stderr).toBe('updated');
    for (const { Name, next } of [asked, silent])
      expect(await inspect(Name.slice(1))).toMatchObject({
        Image: expect.toBeOneOf([...idsOf(next)]),
        State: { Running: true },
        HostConfig,
      });
    expect(await names()).toEqual(['asked', 'silent']);
  });
});
