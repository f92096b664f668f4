import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../../../lab/registry/catalogue.ts';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { upkeepScene } from '../../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from '../scene.ts';

const ms = 1_000_000;
const endsSoon = webServer('v2', { Cmd: ['sh', '-c', 'sleep 1; exit 4'] });
/** Never healthy, and not unhealthy within a minute. */
const undecided = webServer('v2', {
  Healthcheck: { Test: ['CMD', 'false'], Interval: 200 * ms, StartPeriod: 60_000 * ms },
});

describeInLab('the times for stopping and health', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'health-times');
  const upkeep = upkeepScene({ socket: engine.socket });
  const idOf = async (name: string) => (await inspect(name)).Id;
  afterEach(() => engine.clear());

  test('--health-window is how long a new container must run, and the label overrides it', async () => {
    const Labels = { 'upkeep.health-window': '3s' };
    const [brief, longer] = await Promise.all([
      stale('brief', { next: endsSoon }),
      stale('longer', { next: endsSoon, config: { Labels } }),
    ]);
    const { outcomes } = await upkeep.update('--health-window', '0s');
    expect(outcomes).toMatchObject({ brief: { outcome: 'updated' }, longer: { outcome: 'rolled_back' } });
    expect(idsOf(brief.next)).toContain((await inspect('brief')).Image);
    expect(await inspect('longer')).toMatchObject({ Id: longer.Id, State: { Running: true } });
  });

  test('--health-timeout is how long it may take to become healthy', async () => {
    const { Id } = await stale('web', { next: undecided });
    const { outcomes } = await upkeep.update('--health-timeout', '1s', '--health-window', '0s');
    expect(outcomes['web']).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringContaining('did not become healthy within 1 s'),
    });
    expect(await idOf('web')).toBe(Id);
  });

  test('--stop-timeout decides when a container is killed that has no time of its own', async () => {
    await stale('deaf', { old: catalogue.deaf, config: { StopTimeout: undefined } });
    const beganMs = performance.now();
    const { outcomes } = await upkeep.update('--stop-timeout', '0s', '--health-window', '0s');
    expect(outcomes['deaf']?.outcome).toBe('updated');
    expect(performance.now() - beganMs).toBeLessThan(25_000);
  });
});
