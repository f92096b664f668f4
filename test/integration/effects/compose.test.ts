import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { composeLabels, effectsScene } from './scene.ts';

const ms = 1_000_000;
/** Healthy two seconds after its start, and not before. */
const slowly = (version: string) =>
  webServer(version, {
    Healthcheck: {
      Test: ['CMD-SHELL', 'test -e /tmp/ready'],
      Interval: 200 * ms,
      Retries: 3,
      StartPeriod: 30_000 * ms,
    },
    Cmd: ['sh', '-c', "trap 'exit 0' TERM; sleep 2; touch /tmp/ready; while :; do sleep 0.1; done"],
  });
const job = (version: string, code = 0) => webServer(version, { Cmd: ['sh', '-c', `sleep 2; exit ${code}`] });
const inShop = (service: string, dependsOn = '', more: object = {}) => ({
  Labels: composeLabels(service, dependsOn),
  ...more,
});

describeInLab('depends_on of compose', (lab) => {
  const { engine } = lab;
  const { stale, run, inspect, names } = effectsScene(lab, 'compose');
  const upkeep = upkeepScene({ socket: engine.socket });
  const startOf = async (name: string) => Date.parse((await inspect(name)).State.StartedAt);
  afterEach(() => engine.clear());

  test('with restart: true a dependent is restarted after the update, others are not', async () => {
    await stale('db', { config: inShop('db') });
    const web = await run('web', { config: inShop('web', 'db:service_started:true') });
    const other = await run('other', { config: inShop('other', 'db:service_started:false') });
    const { outcomes, run: said } = await upkeep.update();
    expect(said.code, said.stderr).toBe(0);
    expect(outcomes).toMatchObject({
      db: { outcome: 'updated' },
      web: { outcome: 'restarted', reason: 'restarted after the update of "db"' },
      other: { outcome: 'fresh' },
    });
    expect(await inspect('web')).toMatchObject({ Id: web.Id, State: { Status: 'running' } });
    expect(await startOf('web')).toBeGreaterThan(await startOf('db'));
    expect((await inspect('other')).State.StartedAt).toBe(other.State.StartedAt);
  });

  test('who uses the network of a restarted container is restarted after it', async () => {
    await stale('db', { config: inShop('db') });
    const vpn = await run('vpn', { config: inShop('vpn', 'db:service_started:true') });
    const HostConfig = { NetworkMode: `container:${vpn.Id}` };
    const app = await run('app', { config: { Cmd: ['sleep', '1000'], HostConfig } });
    const { outcomes, run: said } = await upkeep.update();
    expect(outcomes, said.stderr).toMatchObject({
      db: { outcome: 'updated' },
      vpn: { outcome: 'restarted' },
      app: { outcome: 'restarted', reason: 'restarted after the update of "vpn"' },
    });
    expect((await inspect('app')).Id).toBe(app.Id);
    expect(await startOf('app')).toBeGreaterThan(await startOf('vpn'));
  });

  test('with restart: true nothing is restarted after an update that was rolled back, nor without --use-compose-depends-on', async () => {
    await stale('db', { config: inShop('db'), next: catalogue.crash });
    const web = await run('web', { config: inShop('web', 'db:service_started:true') });
    expect((await upkeep.update()).outcomes).toMatchObject({
      db: { outcome: 'rolled_back' },
      web: { outcome: 'fresh' },
    });
    await stale('cache', { config: inShop('cache') });
    const user = await run('user', { config: inShop('user', 'cache:service_started:true') });
    const { outcomes } = await upkeep.update('--use-compose-depends-on=false', 'cache');
    expect(outcomes['cache']?.outcome).toBe('updated');
    for (const { Name, State } of [web, user])
      expect((await inspect(Name.slice(1))).State.StartedAt).toBe(State.StartedAt);
  });

  test('with service_healthy a dependent is stopped only when the new dependency is healthy', async () => {
    await stale('db', { old: slowly('v1'), next: slowly('v2'), config: inShop('db') });
    await stale('web', { config: inShop('web', 'db:service_healthy:false') });
    const { outcomes, run: said } = await upkeep.update();
    expect(outcomes, said.stderr).toMatchObject({ db: { outcome: 'updated' }, web: { outcome: 'updated' } });
    expect((await startOf('web')) - (await startOf('db'))).toBeGreaterThan(2000);
  });

  test('with service_healthy a dependent in the same network is started only when its target is healthy', async () => {
    const db = await stale('db', { old: slowly('v1'), next: slowly('v2'), config: inShop('db') });
    const HostConfig = { NetworkMode: `container:${db.Id}` };
    await run('web', { config: inShop('web', 'db:service_healthy:false', { HostConfig }) });
    const { outcomes, run: said } = await upkeep.update();
    expect(outcomes, said.stderr).toMatchObject({ db: { outcome: 'updated' }, web: { outcome: 'restarted' } });
    expect((await startOf('web')) - (await startOf('db'))).toBeGreaterThan(2000);
  });

  test('with service_healthy a dependent of an unhealthy container is deferred, untouched', async () => {
    await run('db', { old: catalogue.sick, config: inShop('db') });
    const web = await stale('web', { config: inShop('web', 'db:service_healthy:false') });
    await engine.waitFor('db', ({ State }) => State.Health?.Status === 'unhealthy');
    const { outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({
      outcome: 'deferred',
      reason: 'It depends on "db", which must be healthy and is not',
    });
    expect(await inspect('web')).toMatchObject({ Id: web.Id, State: { StartedAt: web.State.StartedAt } });
  });

  test.each([
    ['ends well: then the dependent follows', 0, 'updated', 'updated'],
    ['fails: the dependent is not touched', 3, 'failed', 'skipped'],
  ])('with service_completed_successfully a new job is run, and %s', async (_, code, ofJob, ofWeb) => {
    const migrate = await stale('migrate', { old: job('v1'), next: job('v2', code), config: inShop('migrate') });
    await engine.waitFor('migrate', ({ State }) => State.Status === 'exited');
    const web = await stale('web', { config: inShop('web', 'migrate:service_completed_successfully:false') });
    const { outcomes, run: said } = await upkeep.update('--include-stopped', '--revive-stopped');
    expect(outcomes, said.stderr).toMatchObject({ migrate: { outcome: ofJob }, web: { outcome: ofWeb } });
    expect((await inspect('migrate')).State).toMatchObject({ Status: 'exited', ExitCode: 0 });
    expect((await inspect('migrate')).Id === migrate.Id).toBe(code !== 0);
    expect((await inspect('web')).Id === web.Id).toBe(code !== 0);
    expect(await names()).toEqual(['migrate', 'web']);
  });

  test('a job that others wait for is not killed at its work', async () => {
    const migrate = await stale('migrate', { old: webServer('v1'), next: job('v2'), config: inShop('migrate') });
    await run('web', { config: inShop('web', 'migrate:service_completed_successfully:false') });
    const { outcomes } = await upkeep.update('migrate');
    expect(outcomes['migrate']).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('is running') });
    expect(await inspect('migrate')).toMatchObject({ Id: migrate.Id, State: { Status: 'running' } });
  });
});
