import { describe, expect, onTestFinished, test } from 'vitest';
import { behaviours, type Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { SandboxServiceSpec } from '../../../sandbox/swarm/swarm-world.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import { createFleetScene, type FleetScene, type FleetSceneOptions } from '../../../test/support/scene/fleet-scene.ts';

const all = { images: [], containers: [], trigger: 'http' } as const;
const three = ['near', 'far', 'third'];

type Scene = FleetScene & { readonly clock: FleetSceneOptions['clock'] };

/** Engines of one swarm, which are all managers of it; `alone` is in none. */
function openSwarm(options: Partial<FleetSceneOptions> = {}): Scene {
  const clock = createFakeClock({ auto: true });
  const scene = createFleetScene({ names: ['alone', ...three], swarm: three, clock, ...options });
  onTestFinished(() => scene.close());
  return { ...scene, clock };
}

async function deploy(scene: Scene, name = 'web', on = 'near'): Promise<string> {
  const { digest } = scene.registry.store.publish(`${name}:1`, { version: '1' });
  const spec: SandboxServiceSpec = {
    Name: name,
    Mode: { Replicated: { Replicas: 2 } },
    UpdateConfig: { Parallelism: 1, Monitor: 1e9, FailureAction: 'rollback', Order: 'stop-first' },
    TaskTemplate: { ContainerSpec: { Image: `${name}:1@${digest}` }, RestartPolicy: { Condition: 'any' } },
  };
  const id = scene.engines[on]?.sandbox.swarmControl.create(spec) ?? '';
  await scene.clock.sleep(10_000);
  return id;
}

function publish(scene: Scene, version = '2', behaviour: Behaviour = behaviours.good): string {
  return scene.registry.store.publish('web:1', { version, behaviour }).digest;
}

/** Through which engine services were changed, in order. */
function changes(scene: Scene): readonly string[] {
  return Object.entries(scene.engines).flatMap(([name, { sandbox }]) =>
    sandbox.calls.filter(({ kind }) => kind === 'changeService').map(() => name),
  );
}

const shown = (entries: readonly { readonly engine?: string; readonly name: string }[]) =>
  entries.map(({ engine, name }) => `${engine}/${name}`);

async function update(scene: Scene, request: object = {}) {
  const session = await scene.application.update({ ...all, ...request });
  return { session, outcomes: session.containers.map((one) => `${one.engine}/${one.name} ${one.outcome}`) };
}

describe('a swarm of which several engines are managers', () => {
  test('has its services listed once, under the first of them in configured order', async () => {
    const scene = openSwarm({ names: ['alone', 'third', 'near', 'far'], swarm: ['near', 'far'] });
    await deploy(scene);
    await scene.application.follow();
    const report = await scene.application.check(all);
    expect(shown(report.containers)).toEqual(['near/web']);
    const { containers } = scene.application.inventory();
    expect(containers).toMatchObject([{ engine: 'near', name: 'web', kind: 'service', staleness: 'fresh' }]);
    expect(scene.application.engines?.().map(({ name, containers: count }) => `${name} ${count}`)).toEqual([
      'alone 0',
      'third 0',
      'near 1',
      'far 0',
    ]);
  });

  test('has its services updated once, in a run and in events', async () => {
    const scene = openSwarm();
    await deploy(scene);
    const digest = publish(scene);
    const { session, outcomes } = await update(scene);
    expect(outcomes).toEqual(['near/web updated']);
    expect(session.containers).toMatchObject([{ kind: 'service', newDigest: digest }]);
    expect(session.engines?.map(({ name, result }) => `${name} ${result}`)).toEqual([
      'alone ran',
      'near ran',
      'far ran',
      'third ran',
    ]);
    expect(changes(scene)).toEqual(['near']);
    const told = scene.events.filter(({ kind }) => kind === 'update_started' || kind === 'update_completed');
    expect(told).toMatchObject([
      { kind: 'update_started', engine: 'near', container: 'web' },
      { kind: 'update_completed', engine: 'near', outcome: { engine: 'near', name: 'web' } },
    ]);
    expect(scene.events.filter(({ kind }) => kind.startsWith('scan_'))).toHaveLength(2);
  });

  test('is served by the next manager while the owner is away, and the listing stays the same', async () => {
    const scene = openSwarm();
    await deploy(scene);
    await scene.application.follow();
    await scene.application.check(all);
    const before = scene.application.inventory().containers;
    publish(scene);
    scene.engines['near']?.behave('refusing');
    const { session, outcomes } = await update(scene);
    expect(outcomes).toEqual(['near/web updated']);
    expect(changes(scene)).toEqual(['far']);
    expect(session.engines?.find(({ name }) => name === 'near')).toMatchObject({ result: 'unreachable' });
    expect(shown(scene.application.inventory().containers)).toEqual(shown(before));
    await scene.clock.sleep(5000);
    // News from another manager are shown, though the owner is away.
    expect(scene.application.inventory().containers).toMatchObject([{ staleness: 'fresh', updateAvailable: false }]);
    scene.engines['near']?.behave('well');
    await scene.clock.sleep(61_000);
    publish(scene, '3');
    expect((await update(scene)).outcomes).toEqual(['near/web updated']);
    expect(changes(scene)).toEqual(['near', 'far']);
  });

  test.each(['refusing', 'hanging'] as const)(
    'has an update brought to its end by the next manager when the owner is %s in the middle',
    async (how) => {
      const scene = openSwarm();
      await deploy(scene);
      publish(scene);
      scene.application.subscribe((event) => {
        if (event.kind === 'phase_entered' && event.container === 'web') scene.engines['near']?.behave(how);
      });
      const { outcomes } = await update(scene);
      expect(outcomes).toEqual(['near/web updated']);
      expect(changes(scene)).toEqual(['near']);
    },
  );

  test.each([
    ['was not sent', { kind: 'refuse', status: 503 }, ['near', 'far']],
    ['got no answer', { kind: 'lose-answer' }, ['near']],
  ] as const)('a change that %s is made once', async (_how, fault, tried) => {
    const scene = openSwarm();
    await deploy(scene);
    publish(scene);
    scene.engines['near']?.sandbox.plan({ at: 'changeService', fault });
    const { outcomes } = await update(scene);
    expect(outcomes).toEqual(['near/web updated']);
    expect(changes(scene)).toEqual(tried);
  });

  test('a bad version is taken back and remembered, whoever serves', async () => {
    const scene = openSwarm();
    await deploy(scene);
    publish(scene, '2', behaviours.crashesAtStart);
    scene.engines['near']?.behave('refusing');
    // Nobody has heard of the owner yet.
    expect((await update(scene)).outcomes).toEqual(['far/web rolled_back']);
    scene.engines['near']?.behave('well');
    await scene.application.check({ images: [], containers: [], engines: ['near'] });
    const report = await scene.application.check(all);
    expect(report.containers).toMatchObject([{ engine: 'near', name: 'web', status: 'held', hold: 'failed' }]);
  });

  test('a decision holds though the name of the owner changes', async () => {
    const scene = openSwarm();
    await deploy(scene);
    const digest = publish(scene);
    scene.engines['near']?.behave('refusing');
    await scene.application.follow();
    await scene.application.check(all);
    const skip = { kind: 'skip', container: 'web', digest, by: 'test' } as const;
    const taken = await scene.application.decisions.take({ ...skip, engine: 'far' });
    expect(taken).toMatchObject({ engine: 'far', container: 'web' });
    expect(shown(scene.application.inventory().containers)).toEqual(['far/web']);
    scene.engines['near']?.behave('well');
    await scene.clock.sleep(120_000);
    expect(shown(scene.application.inventory().containers)).toEqual(['near/web']);
    const report = await scene.application.check(all);
    expect(report.containers).toMatchObject([{ engine: 'near', name: 'web', status: 'held', hold: 'skipped' }]);
    expect(await scene.application.decisions.list()).toMatchObject([{ engine: 'near', container: 'web' }]);
  });

  test('without any manager its services stay listed, and are unknown', async () => {
    const scene = openSwarm();
    await deploy(scene);
    await scene.application.follow();
    publish(scene);
    for (const name of three) scene.engines[name]?.behave('refusing');
    const { session, outcomes } = await update(scene);
    expect(outcomes).toEqual(['near/web unknown']);
    expect(session.containers[0]?.reason).toContain('refused');
    const report = await scene.application.check(all);
    expect(report.containers).toMatchObject([{ engine: 'near', name: 'web', status: 'unknown' }]);
    expect(shown(scene.application.inventory().containers)).toEqual(['near/web']);
  });

  test('an update that nobody could watch any more is told of when a manager is back', async () => {
    const scene = openSwarm();
    await deploy(scene);
    await scene.application.follow();
    publish(scene, '2', behaviours.crashesAtStart);
    let isBroken = false;
    scene.application.subscribe(({ kind }) => {
      if (kind !== 'phase_entered' || isBroken) return;
      isBroken = true;
      for (const name of three) scene.engines[name]?.behave('refusing');
    });
    expect((await update(scene)).outcomes).toEqual(['near/web unknown']);
    scene.engines['third']?.behave('well');
    await scene.clock.sleep(120_000);
    const told = scene.events.filter(({ kind }) => kind === 'earlier_updates_settled');
    expect(told).toMatchObject([{ engine: 'near', transactions: [{ engine: 'near', containers: ['web'] }] }]);
  });

  test('a manager that has lost its leader, or is a worker now, leaves the services to the next', async () => {
    const scene = openSwarm();
    await deploy(scene);
    await scene.application.follow();
    publish(scene);
    scene.engines['near']?.sandbox.swarmControl.place('leaderless');
    await scene.clock.sleep(120_000);
    expect((await update(scene)).outcomes).toEqual(['near/web updated']);
    expect(changes(scene)).toEqual(['far']);
    scene.engines['near']?.sandbox.swarmControl.place('worker');
    await scene.clock.sleep(120_000);
    expect(shown((await scene.application.check(all)).containers)).toEqual(['far/web']);
    expect(shown(scene.application.inventory().containers)).toEqual(['far/web']);
  });

  test('is meant by --engine with its owner alone, and by the names of its services', async () => {
    const scene = openSwarm();
    await deploy(scene);
    publish(scene);
    expect((await update(scene, { engines: ['far'] })).outcomes).toEqual([]);
    expect((await update(scene, { containers: ['web'], refuseUnmatched: true })).outcomes).toEqual([
      'near/web updated',
    ]);
    const back = await scene.application.rollBack(['web']);
    expect(back.containers).toMatchObject([{ engine: 'near', name: 'web', outcome: 'went_back', kind: 'service' }]);
    expect(changes(scene)).toEqual(['near', 'near']);
  });

  test('containers of its managers are updated beside its services, each with its kind', async () => {
    const scene = openSwarm();
    await deploy(scene);
    scene.registry.store.publish('app:1', { version: '1' });
    for (const name of ['near', 'far']) await scene.run(name, 'app', 'app:1');
    publish(scene);
    scene.registry.store.publish('app:1', { version: '2' });
    const { outcomes } = await update(scene);
    expect(outcomes).toEqual(['near/app updated', 'near/web updated', 'far/app updated']);
    const report = await scene.application.check(all);
    expect(report.containers.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'app container',
      'web service',
      'app container',
    ]);
  });

  test('the service that we run in comes last of all, though its task is on another engine than the one that serves', async () => {
    const own: { id?: string | undefined } = {};
    const scene = openSwarm({ ownId: () => own.id });
    const serviceId = await deploy(scene, 'upkeep');
    await deploy(scene);
    for (const name of ['app', 'upkeep']) scene.registry.store.publish(`${name}:1`, { version: '1' });
    await scene.run('alone', 'app', 'app:1');
    await scene.engines['far']?.sandbox.engine.pullImage({ reference: 'upkeep:1' });
    const Labels = { 'com.docker.swarm.task.id': 'task', 'com.docker.swarm.service.id': serviceId };
    own.id = scene.engines['far']?.sandbox.control.runContainer('upkeep.1', { Image: 'upkeep:1', Labels });
    for (const name of ['web', 'upkeep']) scene.registry.store.publish(`${name}:1`, { version: '2' });
    // The container takes longer than the other service.
    const behaviour = { health: { kind: 'healthy', afterMs: 40_000 } } as const;
    scene.registry.store.publish('app:1', {
      version: '2',
      behaviour,
      config: { Healthcheck: { Test: ['CMD', 'ask'] } },
    });
    const { outcomes } = await update(scene);
    expect(outcomes).toEqual(['alone/app updated', 'near/upkeep deferred', 'near/web updated']);
    const turns = scene.events.flatMap((event) => {
      if (event.kind === 'update_started') return [`begin ${event.container}`];
      return event.kind === 'update_completed' ? [`end ${event.outcome.name}`] : [];
    });
    expect(turns.at(-1)).toBe('begin upkeep');
    expect(turns.slice(0, -1)).toEqual(expect.arrayContaining(['end app', 'end web']));
    // Its container is shown by its own engine alone.
    await scene.application.follow();
    const tasks = scene.application.unwatched().filter(({ name }) => name === 'upkeep.1');
    expect(tasks).toMatchObject([{ engine: 'far' }]);
  });

  test('the scope of our own container holds for services', async () => {
    const own: { id?: string | undefined } = {};
    const scene = openSwarm({ ownId: () => own.id });
    await deploy(scene);
    scene.registry.store.publish('upkeep:1', { version: '1' });
    await scene.engines['alone']?.sandbox.engine.pullImage({ reference: 'upkeep:1' });
    const Labels = { 'upkeep.scope': 'mine' };
    own.id = scene.engines['alone']?.sandbox.control.runContainer('upkeep', { Image: 'upkeep:1', Labels });
    const report = await scene.application.check(all);
    expect(report.containers.filter(({ kind }) => kind === 'service')).toEqual([]);
  });

  test('two swarms are two', async () => {
    const scene = openSwarm({ swarm: ['near', 'far'] });
    const { swarmControl } = scene.engines['third']?.sandbox ?? {};
    swarmControl?.form(1);
    await deploy(scene);
    await deploy(scene, 'web', 'third');
    publish(scene);
    expect((await update(scene)).outcomes).toEqual(['near/web updated', 'third/web updated']);
    await expect(scene.application.rollBack(['web'])).rejects.toThrow('several engines have it: near, third');
  });

  test('where no engine manages any, it is said once', async () => {
    const log = createTestLog();
    const scene = openSwarm({ log });
    for (const name of three) scene.engines[name]?.sandbox.swarmControl.place('worker');
    await scene.application.check(all);
    await scene.application.check(all);
    const told = log.lines.filter(({ message }) => message.includes('manages a swarm'));
    expect(told).toMatchObject([{ level: 'warn' }]);
  });
});
