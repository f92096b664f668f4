import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../../../lab/registry/catalogue.ts';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import type { Inspected } from '../../../lab/engine/engine-client.ts';
import type { ImageSpec } from '../../../lab/registry/image.ts';
import { upkeepScene } from '../../../support/scene/upkeep-scene.ts';
import { composeLabels, effectsScene, idsOf } from '../scene.ts';

const ms = 1_000_000;
const endsSoon = webServer('v2', { Cmd: ['sh', '-c', 'sleep 1; exit 4'] });
/** Never healthy, and not unhealthy within a minute. */
const undecided = webServer('v2', {
  Healthcheck: { Test: ['CMD', 'false'], Interval: 200 * ms, StartPeriod: 60_000 * ms },
});

/** Fails its HEALTHCHECK for some seconds and is unhealthy after 0.4 s, as during a migration of its data. */
const migrating = (then: string, seconds = 5) => {
  const Cmd = ['sh', '-c', `trap 'exit 0' TERM; sleep ${seconds} & wait $!; ${then}`];
  const Healthcheck = { Test: ['CMD-SHELL', 'echo migrating; test -e /tmp/done'], Interval: 200 * ms, Retries: 2 };
  return webServer('v2', { Cmd, Healthcheck });
};
const migrates = migrating('touch /tmp/done; sleep 1000000 & wait $!');

describeInLab('the times for stopping and health', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names } = effectsScene(lab, 'health-times');
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
      reason: expect.stringContaining('did not become healthy within 1s'),
    });
    expect(await idOf('web')).toBe(Id);
  });

  test.each<[string, object, readonly string[]]>([
    ['as --health-timeout allows', {}, ['--health-timeout', '40s']],
    ['as its label allows', { Labels: { 'upkeep.health-timeout': '40s' } }, ['--health-timeout', '1s']],
    ['as the default allows', {}, []],
    [
      'by a HEALTHCHECK of its own',
      { Healthcheck: { Test: ['CMD-SHELL', 'test -e /tmp/done'], Interval: 300 * ms, Retries: 1 } },
      ['--health-timeout', '30s'],
    ],
    ['started first', { Labels: { 'upkeep.start-first': 'true' } }, []],
    [
      'with a restart policy, one by one',
      { HostConfig: { RestartPolicy: { Name: 'always' } } },
      ['--rolling-restart', '--health-timeout', '40s'],
    ],
    ['with a start period', { Healthcheck: { StartPeriod: 1000 * ms } }, ['--health-timeout', '40s']],
  ])(
    'set-up slow first start: a version that is unhealthy for some seconds is no failure, %s',
    async (_, config, flags) => {
      const old = webServer('v1', {
        Cmd: ['sh', '-c', "trap 'exit 0' TERM; touch /tmp/done; sleep 1000000 & wait $!"],
      });
      const { Id, next } = await stale('db', { old, next: migrates, config });
      const { outcomes } = await upkeep.update('--health-window', '0s', ...flags);
      expect(outcomes['db']).toMatchObject({ outcome: 'updated', reason: '' });
      const after = await inspect('db');
      expect(after.Id).not.toBe(Id);
      expect(idsOf(next)).toContain(after.Image);
      expect(after.State).toMatchObject({ Running: true, Health: { Status: 'healthy' } });
    },
  );

  test('set-up slow first start: one that ends fails at once, and one that stays unhealthy at its health timeout', async () => {
    const [ending, staying] = await Promise.all([
      stale('ending', { next: migrating('exit 5', 2) }),
      stale('staying', { next: catalogue.sick, config: { Labels: { 'upkeep.health-timeout': '4s' } } }),
    ]);
    const beganMs = performance.now();
    const { outcomes } = await upkeep.update('--health-timeout', '10m', '--health-window', '0s');
    expect(performance.now() - beganMs).toBeLessThan(60_000);
    expect(outcomes).toMatchObject({
      ending: { outcome: 'rolled_back', reason: expect.stringContaining('it exited with code 5') },
      staying: {
        outcome: 'rolled_back',
        reason: expect.stringContaining('it did not become healthy within 4s, and is unhealthy: sick'),
      },
    });
    expect([await idOf('ending'), await idOf('staying')]).toEqual([ending.Id, staying.Id]);
  });

  test('set-up slow first start: nor for what shares its network, or depends on it', async () => {
    const old = webServer('v1', { Healthcheck: { Test: ['CMD', 'true'], Interval: 200 * ms } });
    const idle = (version: string) =>
      webServer(version, { Cmd: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait $!"] });
    await stale('db', { old, next: migrates, config: { Labels: composeLabels('db') } });
    const near = { HostConfig: { NetworkMode: 'container:db' }, Labels: composeLabels('near') };
    await stale('near', { old: idle('v1'), next: idle('v2'), config: near });
    await stale('after', { config: { Labels: composeLabels('after', 'db:service_healthy:true') } });
    const { outcomes, run } = await upkeep.update('--use-compose-depends-on');
    const updated = { outcome: 'updated' };
    expect(outcomes, run.stderr).toMatchObject({ db: updated, near: updated, after: updated });
    expect((await inspect('db')).State.Health?.Status).toBe('healthy');
  });

  /** Runs well, and its HEALTHCHECK always fails, as one with curl in an image without it. */
  const alwaysFails = (version: string) =>
    webServer(version, { Healthcheck: { Test: ['CMD-SHELL', 'curl localhost'], Interval: 200 * ms, Retries: 2 } });
  const isUnhealthy = (name: string) =>
    engine.waitFor(name, ({ State }: Inspected) => State.Health?.Status === 'unhealthy');

  test.each<[string, ImageSpec, ImageSpec, object]>([
    ['in the image', alwaysFails('v1'), alwaysFails('v2'), {}],
    [
      'of the container, with a policy',
      catalogue['plain-v1'],
      catalogue['plain-v2'],
      {
        Healthcheck: { Test: ['CMD', 'curl', 'localhost'], Interval: 200 * ms, Retries: 1 },
        HostConfig: { RestartPolicy: { Name: 'always' } },
      },
    ],
    ['started first', alwaysFails('v1'), alwaysFails('v2'), { Labels: { 'upkeep.start-first': 'true' } }],
    ['in a kept version', alwaysFails('v1'), alwaysFails('v2'), { Labels: { 'upkeep.keep-old': '1h' } }],
    [
      'with a script that the new image does not have',
      webServer('v1', { Healthcheck: { Test: ['CMD', '/bin/false'], Interval: 200 * ms, Retries: 1 } }),
      webServer('v2', { Healthcheck: { Test: ['CMD', '/no/such/file'], Interval: 200 * ms, Retries: 1 } }),
      {},
    ],
  ])(
    'set-up always unhealthy: the new version only has to run, and the result says so: %s',
    async (_, old, next, config) => {
      const before = await stale('web', { old, next, config });
      await isUnhealthy('web');
      const { outcomes, run } = await upkeep.update();
      expect(outcomes['web']).toMatchObject({
        outcome: 'updated',
        reason: 'its HEALTHCHECK was not waited for, because it was unhealthy before the update',
      });
      expect(run.stderr).toContain('unhealthy before');
      expect(idsOf(before.next)).toContain((await inspect('web')).Image);
      expect((await names()).filter((name) => !name.includes('.upkeep-kept'))).toEqual(['web']);
      // Nothing is marked as failed, and the next version goes the same way.
      expect((await upkeep.check())['web']).toMatchObject({ status: 'fresh' });
    },
  );

  test('set-up always unhealthy: nor does it hold back what shares its network', async () => {
    const idle = (version: string) =>
      webServer(version, { Cmd: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait $!"] });
    await stale('vpn', { old: alwaysFails('v1'), next: alwaysFails('v2') });
    await stale('app', { old: idle('v1'), next: idle('v2'), config: { HostConfig: { NetworkMode: 'container:vpn' } } });
    await isUnhealthy('vpn');
    const { outcomes } = await upkeep.update();
    expect(outcomes).toMatchObject({ vpn: { outcome: 'updated' }, app: { outcome: 'updated' } });
  });

  test.each<[string, ImageSpec, string]>([
    ['ends', endsSoon, 'it exited with code 4'],
    ['cannot be started', catalogue.unstartable, 'cannot be started'],
  ])('set-up always unhealthy: a new version that %s is still rolled back', async (_, next, reason) => {
    const { Id } = await stale('web', { old: alwaysFails('v1'), next });
    await isUnhealthy('web');
    const { outcomes } = await upkeep.update('--health-window', '3s');
    expect(outcomes['web']).toMatchObject({ outcome: 'rolled_back', reason: expect.stringContaining(reason) });
    expect(await inspect('web')).toMatchObject({ Id, State: { Running: true } });
  });

  test('the label health=ignore makes the HEALTHCHECK of a container count for nothing', async () => {
    const Labels = { 'upkeep.health': 'ignore' };
    await stale('labelled', { next: catalogue.sick, config: { Labels } });
    const ending = await stale('ending', { next: endsSoon, config: { Labels } });
    const other = await stale('other', { next: catalogue.sick, config: { Labels: { 'upkeep.health': 'wait' } } });
    const { outcomes } = await upkeep.update('--health-timeout', '4s', '--health-window', '3s');
    expect(outcomes).toMatchObject({
      labelled: { outcome: 'updated', reason: '' },
      ending: { outcome: 'rolled_back' },
      other: { outcome: 'rolled_back' },
    });
    expect([await idOf('ending'), await idOf('other')]).toEqual([ending.Id, other.Id]);
  });

  test('--stop-timeout decides when a container is killed that has no time of its own', async () => {
    await stale('deaf', { old: catalogue.deaf, config: { StopTimeout: undefined } });
    const beganMs = performance.now();
    const { outcomes } = await upkeep.update('--stop-timeout', '0s', '--health-window', '0s');
    expect(outcomes['deaf']?.outcome).toBe('updated');
    expect(performance.now() - beganMs).toBeLessThan(25_000);
  });
});
