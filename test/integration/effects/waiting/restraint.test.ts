import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../../lab/registry/catalogue.ts';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { upkeepScene } from '../../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from '../scene.ts';

describeInLab('what must not be touched', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names, image } = effectsScene(lab, 'restraint');
  const upkeep = upkeepScene({ socket: engine.socket });
  const monitorOnly = (value: string) => ({ config: { Labels: { 'upkeep.monitor-only': value } } });
  const noPull = (value: string) => ({ config: { Labels: { 'upkeep.no-pull': value } } });
  afterEach(() => engine.clear());

  test('--monitor-only adds to the label, which overrides it with --label-take-precedence; nothing is pulled', async () => {
    const yes = await stale('yes', monitorOnly('true'));
    const no = await stale('no', monitorOnly('false'));
    const silent = await stale('silent');
    const said = (outcomes: Readonly<Record<string, { readonly outcome: string }>>) =>
      ['yes', 'no', 'silent'].map((name) => outcomes[name]?.outcome);
    expect(said((await upkeep.update('--monitor-only')).outcomes)).toEqual(['skipped', 'skipped', 'skipped']);
    for (const { Id, Name, next } of [yes, no, silent]) {
      expect((await inspect(Name.slice(1))).Id).toBe(Id);
      for (const id of idsOf(next)) expect((await engine.call('GET', `/images/${id}/json`)).status).toBe(404);
    }
    const { outcomes } = await upkeep.update('--monitor-only', '--label-take-precedence');
    expect(said(outcomes)).toEqual(['skipped', 'updated', 'skipped']);
    expect(said((await upkeep.update()).outcomes)).toEqual(['skipped', 'fresh', 'updated']);
    expect((await inspect('yes')).Id).toBe(yes.Id);
  });

  test('set-up opt-outs: an opt-out holds in any spelling, and so does a label that was meant as one and cannot be read', async () => {
    const label = (name: string, value: string) => ({ config: { Labels: { [`upkeep.${name}`]: value } } });
    const optOuts = {
      quoted: label('enable', '"false"'),
      no: label('enable', 'no'),
      off: label('enable', "'off'"),
      odd: label('enable', 'disabled'),
      watched: label('monitor-only', '"true"'),
      yes: label('monitor-only', 'yes'),
      policy: label('policy', 'ptach'),
      exclude: label('tag-exclude', '('),
      cooldown: label('cooldown-delay', '3 dayz'),
    };
    const before = await Promise.all(Object.entries(optOuts).map(async ([name, more]) => stale(name, more)));
    await stale('plain', label('enable', '"true"'));
    const { outcomes } = await upkeep.update();
    expect(outcomes['plain']?.outcome).toBe('updated');
    for (const { Id, Name } of before) expect((await inspect(Name.slice(1))).Id, Name).toBe(Id);
    for (const name of ['quoted', 'no', 'off', 'odd']) expect(outcomes[name]).toBeUndefined();
    for (const name of ['watched', 'yes']) expect(outcomes[name]?.outcome).toBe('skipped');
    for (const name of ['policy', 'exclude', 'cooldown']) {
      expect(outcomes[name]?.outcome).toBe('unknown');
      expect(outcomes[name]?.reason).toContain('Cannot read the label');
    }
  });

  test('--no-pull adds to the label, which overrides it with --label-take-precedence; what the engine holds is taken', async () => {
    await stale('yes', noPull('true'));
    await stale('no', noPull('false'));
    const { next } = await stale('silent');
    const kept = await upkeep.update('--no-pull');
    expect(Object.values(kept.outcomes).map(({ outcome }) => outcome)).toEqual(['fresh', 'fresh', 'fresh']);
    const both = await upkeep.update('--no-pull', '--label-take-precedence');
    expect(both.outcomes).toMatchObject({
      yes: { outcome: 'fresh' },
      no: { outcome: 'updated' },
      silent: { outcome: 'fresh' },
    });
    await engine.pull(image('silent'));
    const held = await upkeep.update('--no-pull');
    expect(held.outcomes).toMatchObject({ yes: { outcome: 'fresh' }, silent: { outcome: 'updated' } });
    expect(idsOf(next)).toContain((await inspect('silent')).Image);
  });

  test('--cooldown-delay leaves an image that is too young for later', async () => {
    const next = { ...catalogue['plain-v2'], created: new Date().toISOString() };
    const { Id, State } = await stale('web', { next });
    expect((await upkeep.update('--cooldown-delay', '1h')).outcomes['web']?.outcome).toBe('deferred');
    expect(await inspect('web')).toMatchObject({ Id, State: { StartedAt: State.StartedAt } });
  });

  test('instances of several scopes work side by side, each on its own containers', async () => {
    const scoped = (scope: string) => ({ config: { Labels: { 'upkeep.scope': scope } } });
    const containers = await Promise.all([
      stale('blue', scoped('blue')),
      stale('green', { config: { Labels: { 'com.centurylinklabs.watchtower.scope': 'green' } } }),
      stale('none'),
      stale('other', scoped('other')),
    ]);
    const runs = await Promise.all([
      upkeep.update('--scope', 'blue'),
      upkeep.update('--scope', 'green'),
      upkeep.update(),
    ]);
    expect(runs.map(({ outcomes }) => Object.keys(outcomes))).toEqual([['blue'], ['green'], ['none']]);
    for (const { outcomes } of runs) for (const { outcome } of Object.values(outcomes)) expect(outcome).toBe('updated');
    expect((await inspect('other')).Id).toBe(containers[3]?.Id);
    expect(await names()).toEqual(['blue', 'green', 'none', 'other']);
  });

  test('no container is stopped or removed because a label says that it is an updater', async () => {
    const Labels = { 'com.centurylinklabs.watchtower': 'true' };
    const updaters = await Promise.all(['one', 'two'].map((name) => stale(name, { config: { Labels } })));
    await engine.create('watchtower-old-1234', image('one'), { Labels });
    const untouched = async () => {
      for (const { Id, Name, State } of updaters) {
        expect(await inspect(Name.slice(1))).toMatchObject({ Id, State: { StartedAt: State.StartedAt } });
      }
    };
    await upkeep.update('web-that-is-not-there').catch(() => undefined);
    await untouched();
    await stale('web');
    expect((await upkeep.update('web')).outcomes['web']?.outcome).toBe('updated');
    await untouched();
    const { outcomes } = await upkeep.update();
    expect(outcomes).toMatchObject({ one: { outcome: 'updated' }, two: { outcome: 'updated' } });
    expect(await names()).toEqual(['one', 'two', 'watchtower-old-1234', 'web']);
  });
});
