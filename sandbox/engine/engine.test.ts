import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../test/support/clock/fake-clock.ts';
import { behaviours, type Behaviour } from '../base/behaviour.ts';
import { createSandboxEngine, realisticLatencyMs, type SandboxEngineOptions } from './engine.ts';

/** Behaviour outside of the contract, which a real engine does not show or shows too slowly. */

function setUp(options: Partial<SandboxEngineOptions> = {}) {
  const clock = createFakeClock();
  const sandbox = createSandboxEngine({ clock, ...options });
  const run = (name: string, behaviour: Behaviour, body: object = {}) => {
    sandbox.control.addImage(`shop/${name}:1`, { version: name, behaviour });
    return sandbox.control.runContainer(name, { Image: `shop/${name}:1`, ...body });
  };
  return { clock, run, ...sandbox };
}

describe('createSandboxEngine()', () => {
  test('makes the same ids in every run, and others from another seed', async () => {
    const ids = async (seed?: string) => {
      const { run, engine } = setUp(seed === undefined ? {} : { seed });
      for (const name of ['one', 'two']) run(name, {}, { Volumes: { '/data': {} } });
      return JSON.stringify(await Promise.all([engine.listContainers(), engine.inspectContainer('one')]));
    };
    expect(await ids()).toBe(await ids());
    expect(await ids('other')).not.toBe(await ids());
  });

  test('takes no time unless told', async () => {
    const { engine, run, clock } = setUp();
    const id = run('web', {});
    await engine.stopContainer(id, {});
    await engine.startContainer(id);
    expect(clock.monotonicMs()).toBe(0);
  });

  test('takes the time of a real engine where asked', async () => {
    const { engine, run, clock } = setUp({ latencyMs: realisticLatencyMs });
    const id = run('web', {});
    await clock.run(() => engine.stopContainer(id, {}));
    expect(clock.monotonicMs()).toBe(realisticLatencyMs.stopContainer);
  });

  test('has a clock of its own', async () => {
    const { engine, clock } = setUp({ clockSkewMs: -3_600_000 });
    expect((await engine.info()).nowMs).toBe(clock.nowMs() - 3_600_000);
  });

  test('leaves nothing asleep when it is closed', async () => {
    const { run, control, clock } = setUp();
    run('web', { exitsAfterMs: 5000 });
    control.close();
    await clock.advance(0);
    expect(clock.sleepers()).toBe(0);
    expect(control.snapshot().containers['web']?.running).toBe(true);
  });
});

describe('behaviours', () => {
  test('exit later, with their code', async () => {
    const { run, clock, control } = setUp();
    run('web', behaviours.exitsLater);
    await clock.advance(1999);
    expect(control.snapshot().containers['web']?.running).toBe(true);
    await clock.advance(1);
    expect(control.snapshot().containers['web']).toMatchObject({ running: false, state: { exitCode: 4 } });
  });

  test('become healthy with the first good probe, whatever the number of bad ones in the start period', async () => {
    const { run, clock, control } = setUp();
    const second = 1_000_000_000;
    run('web', behaviours.healthyLate, {
      Healthcheck: { Test: ['CMD', 'probe'], Interval: second, StartPeriod: 10 * second, Retries: 1 },
    });
    const health = () => control.snapshot().containers['web']?.state.health;
    await clock.advance(2999);
    expect(health()).toBe('starting');
    await clock.advance(1);
    expect(health()).toBe('healthy');
  });

  test('become unhealthy when the probes fail too often before the first good one', async () => {
    const { run, clock, control } = setUp();
    run('web', behaviours.healthyLate, {
      Healthcheck: { Test: ['CMD', 'probe'], Interval: 1_000_000_000, Retries: 2 },
    });
    await clock.advance(2000);
    expect(control.snapshot().containers['web']?.state.health).toBe('unhealthy');
  });

  test('are probed every 30 s, three times, unless the check says otherwise', async () => {
    const { run, clock, control } = setUp();
    run('web', behaviours.neverHealthy, { Healthcheck: { Test: ['CMD', 'probe'] } });
    await clock.advance(89_999);
    expect(control.snapshot().containers['web']?.state.health).toBe('starting');
    await clock.advance(1);
    expect(control.snapshot().containers['web']?.state.health).toBe('unhealthy');
  });

  test('are restarted after 100 ms, then 200, 400, …, and from the beginning after 10 good seconds', async () => {
    const { run, clock, control } = setUp();
    run('web', behaviours.crashesAtStart, { HostConfig: { RestartPolicy: { Name: 'always' } } });
    const restarts = () => control.snapshot().containers['web']?.restartCount;
    const seen: unknown[] = [];
    for (const ms of [99, 1, 199, 1, 399, 1]) {
      await clock.advance(ms);
      seen.push(restarts());
    }
    expect(seen).toEqual([1, 2, 2, 3, 3, 4]);
  });

  test('die with the engine at a power cut, and their timers with them', async () => {
    const { run, clock, control } = setUp();
    run('web', { exitsAfterMs: 5000, exitCode: 9 });
    await control.restartEngine('power-cut');
    await clock.advance(10_000);
    expect(control.snapshot().containers['web']).toMatchObject({ running: false, state: { exitCode: 255 } });
  });

  test('run again after two power cuts, the second of them while the engine was down', async () => {
    const { run, clock, control } = setUp();
    run('web', {}, { HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } });
    const restarts = Promise.all([control.restartEngine('power-cut', 200), control.restartEngine('power-cut', 300)]);
    await clock.advance(300);
    await restarts;
    expect(control.snapshot().containers['web']).toMatchObject({ running: true });
  });
});

describe('control', () => {
  test('removes an image by force: its containers stay and can be started', async () => {
    const { run, control, engine } = setUp();
    const id = run('web', {});
    await engine.stopContainer(id, {});
    control.removeImageByForce((await engine.inspectContainer(id))?.imageId ?? '');
    expect(await engine.inspectImage('shop/web:1')).toBeUndefined();
    expect(await engine.startContainer(id)).toEqual({ kind: 'done' });
  });

  test('takes ports of the host away', async () => {
    const { control, engine } = setUp();
    control.addImage('shop/web:1', { config: { ExposedPorts: { '80/tcp': {} } } });
    const id = control.addContainer('web', {
      Image: 'shop/web:1',
      HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '8080' }] } },
    });
    control.occupyPort('8080/tcp');
    expect(await engine.startContainer(id)).toMatchObject({ kind: 'refused', status: 500 });
    control.freePort('8080/tcp');
    expect(await engine.startContainer(id)).toEqual({ kind: 'done' });
    expect(control.snapshot().containers['web']?.hostPorts).toEqual([
      { containerPort: '80/tcp', hostIp: '0.0.0.0', hostPort: 8080 },
    ]);
  });

  test('marks volumes, and finds the marks again as long as the volume is there', async () => {
    const { run, control } = setUp();
    run('web', {}, { HostConfig: { Binds: ['named:/data'] }, Volumes: { '/scratch': {} } });
    control.markVolume('named', 'precious');
    control.removeContainer('web', { withVolumes: true });
    expect(control.snapshot().volumes).toEqual({ named: 'precious' });
  });
});

describe('version 28', () => {
  test('keeps a running container that removes itself over a restart with live-restore', async () => {
    for (const [version, expected] of [
      ['20.10', []],
      ['28', ['web']],
    ] as const) {
      const { run, control } = setUp({ version, liveRestore: true });
      run('web', {}, { HostConfig: { AutoRemove: true } });
      await control.restartEngine('crash');
      expect(Object.keys(control.snapshot().containers)).toEqual(expected);
    }
  });

  test('takes several networks at the create, and writes a policy that nobody gave as "no"', async () => {
    const { control, engine } = setUp({ version: '28' });
    control.addImage('shop/web:1', {});
    for (const name of ['blue', 'green']) control.addNetwork(name);
    control.runContainer('web', {
      Image: 'shop/web:1',
      HostConfig: { NetworkMode: 'blue', Annotations: { a: 'b' } },
      NetworkingConfig: { EndpointsConfig: { blue: { Aliases: ['web'] }, green: {} } },
    });
    const { HostConfig, Networks } = (await engine.inspectContainer('web'))?.settings ?? {};
    expect(HostConfig).toMatchObject({ RestartPolicy: { Name: 'no' }, Annotations: { a: 'b' } });
    expect(Networks).toMatchObject({ blue: { Aliases: ['web'] }, green: { Aliases: null } });
  });
});
