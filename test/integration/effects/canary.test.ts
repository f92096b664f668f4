import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './scene.ts';

const names = Array.from({ length: 30 }, (_, index) => `web${String(index).padStart(2, '0')}`);

describeInLab('an update of many containers', (lab) => {
  const { engine } = lab;
  const { stale, push, image, inspect } = effectsScene(lab, 'many');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  test('thirty containers of one image: a bad release touches the labelled one only, a good one all', async () => {
    await push('web', catalogue['plain-v1']);
    await engine.pull(image('web'));
    const first = new Map<string, string>();
    for (const name of names) {
      const Labels = name === 'web17' ? { 'upkeep.canary': 'true' } : {};
      await engine.run(name, image('web'), { StopTimeout: 1, Labels });
      first.set(name, (await inspect(name)).State.StartedAt);
    }

    await push('web', catalogue.crash);
    const bad = await upkeep.update();
    expect(bad.run.code).toBe(1);
    const touched = [];
    for (const name of names) {
      const { State } = await inspect(name);
      expect(State.Status).toBe('running');
      if (State.StartedAt !== first.get(name)) touched.push(name);
    }
    expect(touched).toEqual(['web17']);
    expect(bad.outcomes['web17']?.outcome).toBe('rolled_back');
    for (const name of names.filter((each) => each !== 'web17'))
      expect(bad.outcomes[name]).toMatchObject({
        outcome: 'deferred',
        reason: 'The new version failed in "web17"',
      });

    const next = await push('web', catalogue['plain-v2']);
    const windowMs = 20_000;
    const good = await upkeep.update('--health-window', `${windowMs / 1000}s`);
    expect(Object.values(good.outcomes).map(({ outcome }) => outcome)).toEqual(names.map(() => 'updated'));
    const starts = [];
    for (const name of names) {
      const { Image, State } = await inspect(name);
      expect(Image).toBeOneOf([...idsOf(next)]);
      starts.push({ name, atMs: Date.parse(State.StartedAt) });
    }
    const [canary, second, ...others] = starts.toSorted((one, other) => one.atMs - other.atMs);
    expect(canary?.name).toBe('web17');
    expect((second?.atMs ?? 0) - (canary?.atMs ?? 0)).toBeGreaterThanOrEqual(windowMs);
    // In parallel: one after the other would take a window each.
    expect((others.at(-1)?.atMs ?? 0) - (second?.atMs ?? 0)).toBeLessThan(3 * windowMs);
  });

  test('--unproven lets the wait for health of one be the start of others, and 0 does not', async () => {
    for (const name of ['aa', 'bb', 'cc', 'dd']) await stale(name);
    const startsOf = async () => {
      const all = await Promise.all(['aa', 'bb', 'cc', 'dd'].map(inspect));
      const ms = all.map(({ State }) => Date.parse(State.StartedAt));
      return Math.max(...ms) - Math.min(...ms);
    };
    const args = ['--canary=false', '--update-concurrency', '2', '--health-window', '8s'];
    await upkeep.update(...args);
    expect(await startsOf()).toBeLessThan(8000);
    for (const name of ['aa', 'bb', 'cc', 'dd']) await push(name, catalogue['plain-v1']);
    await upkeep.update(...args, '--unproven', '0');
    expect(await startsOf()).toBeGreaterThanOrEqual(8000);
  });
});
