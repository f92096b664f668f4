import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import { createFleetScene, type FleetScene, type FleetSceneOptions } from '../../../test/support/scene/fleet-scene.ts';

const all = { images: [], containers: [] } as const;
const five = ['one', 'two', 'three', 'four', 'five'];

function openFleet(options: Partial<FleetSceneOptions> = {}): FleetScene {
  const scene = createFleetScene({ names: ['near', 'far'], clock: createFakeClock({ auto: true }), ...options });
  onTestFinished(() => scene.close());
  return scene;
}

async function runOn(scene: FleetScene, engines: readonly string[], ...references: readonly string[]): Promise<void> {
  for (const reference of references) {
    scene.registry.store.publish(reference, { version: '1' });
    for (const engine of engines) await scene.run(engine, reference.replace(/:.*$/, ''), reference);
  }
}

const outcomesOf = (
  containers: readonly { readonly engine?: string; readonly name: string; readonly outcome: string }[],
) => containers.map(({ engine, name, outcome }) => `${engine}/${name} ${outcome}`);

describe('a fleet', () => {
  test('asks the registries as often for five engines as for one', async () => {
    const references = Array.from({ length: 10 }, (_, index) => `app-${index}:1`);
    const counts = await Promise.all(
      [['one'], five].map(async (names) => {
        const scene = openFleet({ names });
        await runOn(scene, names, ...references);
        for (const reference of references) scene.registry.store.publish(reference, { version: '2' });
        const report = await scene.application.check(all);
        expect(report.containers).toHaveLength(names.length * 10);
        expect(report.containers.every(({ status }) => status === 'stale')).toBe(true);
        return scene.asked.length;
      }),
    );
    expect(counts[1]).toBe(counts[0]);
    expect(counts[0]).toBeGreaterThanOrEqual(20);
  });

  test('lists the tags of a repository once for all engines, also if these run different tags', async () => {
    const scene = openFleet({ names: five, enginesAtOnce: 1 });
    const labels = { 'upkeep.policy': 'major' };
    for (const [index, engine] of five.entries()) {
      scene.registry.store.publish(`app:${index}.0`, { version: `${index}.0` });
      await scene.run(engine, 'app', `app:${index}.0`, labels);
    }
    const report = await scene.application.check(all);
    expect(report.containers.filter(({ updateAvailable }) => updateAvailable)).toHaveLength(4);
    expect(scene.registry.store.listings()).toBe(1);
  });

  test('gives all engines the same digest though the tag moves during the run, and asks anew in the next', async () => {
    const scene = openFleet({ names: five, enginesAtOnce: 1 });
    await runOn(scene, five, 'app:1');
    const second = scene.registry.store.publish('app:1', { version: '2' }).digest;
    let third = '';
    scene.application.subscribe((event) => {
      if (event.kind === 'update_started' && third === '')
        third = scene.registry.store.publish('app:1', { version: '3' }).digest;
    });
    const session = await scene.application.update({ ...all, trigger: 'http' });
    expect(third).not.toBe('');
    expect(session.containers.map(({ newDigest }) => newDigest)).toEqual(five.map(() => second));
    const next = await scene.application.update({ ...all, trigger: 'http' });
    expect(next.containers.map(({ newDigest }) => newDigest)).toEqual(five.map(() => third));
  });

  test('is one run: one begin, one end, and every other event with its engine', async () => {
    const scene = openFleet();
    await runOn(scene, ['near', 'far'], 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    const session = await scene.application.update({ ...all, trigger: 'http' });
    const ofRun = scene.events.filter((event) => 'runId' in event && event.runId === session.runId);
    const kinds = ofRun.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind.startsWith('scan_'))).toEqual(['scan_started', 'scan_completed']);
    expect(kinds[0]).toBe('scan_started');
    expect(kinds.at(-1)).toBe('scan_completed');
    const between = ofRun.slice(1, -1);
    expect(between.filter(({ engine }) => engine === undefined)).toEqual([]);
    expect(between.filter(({ kind }) => kind === 'update_completed').map(({ engine }) => engine)).toEqual(
      expect.arrayContaining(['far', 'near']),
    );
    expect(scene.application.history()).toMatchObject([{ runId: session.runId, updated: 2 }]);
  });

  test.each(['refusing', 'hanging'] as const)('one engine that is %s keeps nothing from the others', async (how) => {
    const scene = openFleet({ names: five });
    await runOn(scene, five, 'app:1');
    await scene.application.follow();
    scene.registry.store.publish('app:1', { version: '2' });
    scene.engines['three']?.behave(how);
    const session = await scene.application.update({ ...all, trigger: 'http' });
    expect(outcomesOf(session.containers)).toEqual([
      'one/app updated',
      'two/app updated',
      'three/app unknown',
      'four/app updated',
      'five/app updated',
    ]);
    expect(session.engines).toMatchObject([
      { name: 'one', result: 'ran' },
      { name: 'two', result: 'ran' },
      { name: 'three', result: 'unreachable' },
      { name: 'four', result: 'ran' },
      { name: 'five', result: 'ran' },
    ]);
    expect(JSON.stringify(session.engines)).not.toContain('me@');
    const report = await scene.application.check(all);
    expect(report.containers.find(({ engine }) => engine === 'three')).toMatchObject({
      status: 'unknown',
      updateAvailable: false,
    });
    expect(scene.application.inventory().containers).toHaveLength(5);
    expect(scene.application.inventoryFailure()).toBeUndefined();
    await scene.application.ready();
  });

  test('an engine that comes back says so, is recovered by itself, and takes part again', async () => {
    const clock = createFakeClock({ auto: true });
    const scene = openFleet({ clock });
    await runOn(scene, ['near', 'far'], 'app:1');
    await scene.application.follow();
    scene.engines['far']?.behave('refusing');
    await clock.sleep(1000);
    expect(scene.application.engines?.()).toMatchObject([
      { name: 'near', reachable: true, kind: 'docker', error: undefined },
      { name: 'far', reachable: false, error: expect.stringContaining('connection refused') },
    ]);
    scene.engines['far']?.behave('well');
    await clock.sleep(61_000);
    const told = scene.events.filter(({ kind }) => kind.startsWith('engine_'));
    expect(told).toMatchObject([
      { kind: 'engine_unreachable', engine: 'far' },
      { kind: 'engine_reachable', engine: 'far' },
    ]);
    scene.registry.store.publish('app:1', { version: '2' });
    const session = await scene.application.update({ ...all, trigger: 'http' });
    expect(outcomesOf(session.containers)).toEqual(['near/app updated', 'far/app updated']);
  });

  test.each(['well', 'telling no events'] as const)(
    'an engine that cannot be reached is listed no more until its events are reached: then it is %s',
    async (how) => {
      const clock = createFakeClock({ auto: true });
      const scene = openFleet({ clock });
      await runOn(scene, ['near', 'far'], 'app:1');
      await scene.application.follow();
      scene.engines['far']?.behave('refusing');
      await clock.sleep(500_000);
      expect(scene.engines['far']?.attempts()).toBeLessThan(5);
      scene.engines['far']?.behave(how);
      await clock.sleep(61_000);
      expect(scene.application.engines?.()).toMatchObject([{ name: 'near' }, { name: 'far', reachable: true }]);
    },
  );

  test('interrupted updates are looked for on the named engines only', async () => {
    const scene = openFleet();
    const report = await scene.application.recover(undefined, { engines: ['far'] });
    expect(report.engines).toMatchObject([{ name: 'far', result: 'ran' }]);
    await expect(scene.application.recover(undefined, { engines: ['fat'] })).rejects.toThrow(
      'Cannot work on "fat": no engine has this name',
    );
  });

  test('a full update begins on every free engine, and is refused only when none is free', async () => {
    const scene = openFleet();
    await runOn(scene, ['near', 'far'], 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    const began = new Promise<void>((resolve) => {
      scene.application.subscribe(({ kind, engine }) => {
        if (kind === 'update_started' && engine === 'near') resolve();
      });
    });
    const first = scene.application.update({ ...all, engines: ['near'], trigger: 'http' });
    await began;
    const second = await scene.application.update({ ...all, trigger: 'http' });
    expect(second.engines).toMatchObject([
      { name: 'near', result: 'busy', error: 'Cannot update: another update is already running' },
      { name: 'far', result: 'ran' },
    ]);
    await first;
    const third = scene.application.update({ ...all, trigger: 'http' });
    await expect(scene.application.update({ ...all, trigger: 'http' })).rejects.toMatchObject({ code: 'busy' });
    await third;
  });

  test('a full update that finds one engine busy and the other unreachable is busy, and names both', async () => {
    const scene = openFleet();
    await runOn(scene, ['near'], 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    const began = new Promise<void>((resolve) => {
      scene.application.subscribe(({ kind }) => {
        if (kind === 'update_started') resolve();
      });
    });
    const first = scene.application.update({ ...all, engines: ['near'], trigger: 'http' });
    await began;
    scene.engines['far']?.behave('refusing');
    await expect(scene.application.update({ ...all, trigger: 'http' })).rejects.toMatchObject({
      code: 'busy',
      message: expect.stringMatching(/near: .*another update is already running; far: .*refused$/),
    });
    await first;
  });

  test('a targeted update is about the engines that have the container, and no other', async () => {
    const scene = openFleet();
    await runOn(scene, ['far'], 'app:1');
    await runOn(scene, ['near'], 'db:1');
    const session = await scene.application.update({
      images: [],
      containers: ['app'],
      trigger: 'command',
      refuseUnmatched: true,
    });
    expect(outcomesOf(session.containers)).toEqual(['far/app fresh']);
    expect(session.engines).toMatchObject([{ name: 'far', result: 'ran' }]);
    const strange = { images: [], containers: ['app', 'bp'], trigger: 'command', refuseUnmatched: true } as const;
    await expect(scene.application.update(strange)).rejects.toMatchObject({ code: 'not-found' });
    await expect(scene.application.update({ ...all, engines: ['fat'], trigger: 'http' })).rejects.toThrow(
      'Cannot work on "fat": no engine has this name',
    );
  });

  test('no more engines than allowed are at work at once', async () => {
    const scene = openFleet({ names: five, enginesAtOnce: 2 });
    await runOn(scene, five, 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    const open = new Set<string>();
    let most = 0;
    scene.application.subscribe(({ kind, engine = '' }) => {
      if (kind === 'update_started') open.add(engine);
      most = Math.max(most, open.size);
      if (kind === 'update_completed') open.delete(engine);
    });
    await scene.application.update({ ...all, trigger: 'http' });
    expect(most).toBe(2);
  });

  test('two names that lead to one engine, or to clones, are told of once, and both are worked on', async () => {
    const clock = createFakeClock({ auto: true });
    const log = createTestLog();
    const scene = openFleet({ names: ['near', 'far', 'twin'], seeds: { twin: 'near' }, clock, log });
    await runOn(scene, ['near', 'far', 'twin'], 'app:1');
    await scene.application.follow();
    const told = () => log.lines.filter(({ message }) => message.startsWith('Two engines'));
    await clock.sleep(1000);
    expect(told()).toMatchObject([{ level: 'warn', fields: { engine: 'twin', others: ['near'] } }]);
    scene.engines['twin']?.behave('refusing');
    await clock.sleep(61_000);
    scene.engines['twin']?.behave('well');
    await clock.sleep(61_000);
    expect(scene.events.filter(({ kind }) => kind === 'engine_reachable')).toHaveLength(1);
    expect(told()).toHaveLength(1);
    const { containers } = await scene.application.check(all);
    expect(containers.map(({ engine, status }) => `${engine} ${status}`)).toEqual([
      'near fresh',
      'far fresh',
      'twin fresh',
    ]);
  });

  test('with no engine to reach a run fails, and says why for each', async () => {
    const scene = openFleet();
    for (const { behave } of Object.values(scene.engines)) behave('refusing');
    await expect(scene.application.update({ ...all, trigger: 'http' })).rejects.toThrow(
      /^Cannot update: no engine could be worked on: near: .*refused; far: .*refused$/,
    );
    await expect(scene.application.check(all)).rejects.toMatchObject({ code: 'engine-unreachable' });
    await expect(scene.application.ready()).rejects.toMatchObject({ code: 'engine-unreachable' });
  });

  test('a health check in a process of its own asks the first engine, and the others only if that one does not answer', async () => {
    const scene = openFleet({ names: five });
    for (const name of five.slice(1)) scene.engines[name]?.behave('hanging');
    await scene.application.ready();
    expect(five.map((name) => scene.engines[name]?.attempts())).toEqual([0, 0, 0, 0, 0]);
    scene.engines['one']?.behave('refusing');
    scene.engines['five']?.behave('well');
    await scene.application.ready();
    expect(five.map((name) => scene.engines[name]?.attempts())).toEqual([1, 1, 1, 1, 0]);
  });
});
