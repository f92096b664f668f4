import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './scene.ts';

/** A service that runs a shell command on SIGTERM, or another signal, and then exits. */
const onSignal = (line: string, signals = 'TERM') =>
  webServer('v1', { Cmd: ['sh', '-c', `trap '${line}; exit 0' ${signals}; while :; do sleep 0.1; done`] });

const logOf = ({ Mounts }: Inspected) => readFileSync(`${String(Mounts[0]?.['Source'])}/log`, 'utf8').trim();

describeInLab('how containers are stopped and started', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names, push } = effectsScene(lab, 'starting');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  test.each([
    ['--no-restart', ['--no-restart'], {}],
    ['the label no-restart', [], { 'upkeep.no-restart': 'true' }],
  ])('%s leaves the new container created, with name and policy, and the old one goes', async (_, args, Labels) => {
    const HostConfig = { RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 } };
    const { Id, next } = await stale('web', { config: { Labels, HostConfig } });
    const { outcomes } = await upkeep.update(...args);
    expect(outcomes['web']).toMatchObject({ outcome: 'updated', reason: expect.stringContaining('left stopped') });
    expect(await inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(next)]),
      State: { Status: 'created', Running: false },
      HostConfig,
    });
    expect(await engine.inspect(Id)).toBeUndefined();
    expect(await names()).toEqual(['web']);
  });

  test('--no-restart does not touch a container whose successor cannot be created', async () => {
    const { Id } = await stale('web', {
      next: { config: {}, empty: true, platform: { os: 'linux', architecture: 's390x' } },
    });
    const { outcomes } = await upkeep.update('--no-restart');
    expect(outcomes['web']?.outcome).not.toBe('updated');
    expect(await inspect('web')).toMatchObject({ Id, State: { Status: 'running' } });
  });

  test('a stopped container is left alone, updated and left stopped, or updated and started, as options say', async () => {
    const { Id, next } = await stale('web');
    await engine.call('POST', `/containers/${Id}/stop`);
    expect((await upkeep.update('--revive-stopped')).outcomes).toEqual({});
    expect((await upkeep.update('--include-stopped')).outcomes['web']?.outcome).toBe('updated');
    expect(await inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(next)]),
      State: { Running: false },
    });
    const third = await push('web', webServer('v3'));
    expect((await upkeep.update('--include-stopped', '--revive-stopped')).outcomes['web']?.outcome).toBe('updated');
    expect(await inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(third)]),
      State: { Status: 'running' },
    });
  });

  test('a stopped container that is revived to a bad version is as it was, and stopped', async () => {
    const { Id } = await stale('web', { next: catalogue.crash });
    await engine.call('POST', `/containers/${Id}/stop`);
    const { run, outcomes } = await upkeep.update('--include-stopped', '--revive-stopped');
    expect(run.code).toBe(1);
    expect(outcomes['web']?.reason).toContain('exited with code 3');
    expect(await inspect('web')).toMatchObject({ Id, State: { Status: 'exited' } });
    expect(await names()).toEqual(['web']);
  });

  const job = (version: string, script: string) => webServer(version, { Cmd: ['sh', '-c', script] });
  const revive = ['--include-stopped', '--revive-stopped', '--health-window', '4s'];

  test.each([
    ['no', 'exit 0', 'exit 0'],
    ['on-failure', 'exit 0', 'sleep 1; exit 0'],
    ['no', 'exit 7', 'sleep 1; exit 0'],
    ['on-failure', 'exit 0', 'while :; do sleep 1; done'],
  ])('set-up one-shot job: with the policy %s (%s), it is revived to one that does %j', async (Name, old, work) => {
    const HostConfig = { RestartPolicy: { Name, MaximumRetryCount: 0 } };
    const { next } = await stale('job', { old: job('v1', old), next: job('v2', work), config: { HostConfig } });
    await engine.waitFor('job', ({ State }) => State.Status === 'exited');
    const { outcomes } = await upkeep.update(...revive);
    expect(outcomes['job']).toMatchObject({ outcome: 'updated', reason: '' });
    expect(await inspect('job')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(next)]),
      State: work.includes('exit') ? { Status: 'exited', ExitCode: 0 } : { Status: 'running' },
      HostConfig,
    });
    expect(await names()).toEqual(['job']);
  });

  test.each([
    ['no', 'sleep 1; exit 3', 'exited with code 3'],
    ['always', 'exit 0', 'exited with code 0'],
  ])('a stopped container with the policy %s that does %j afterwards is as it was', async (Name, work, reason) => {
    const HostConfig = { RestartPolicy: { Name, MaximumRetryCount: 0 } };
    const { Id } = await stale('job', { next: job('v2', work), config: { HostConfig } });
    await engine.call('POST', `/containers/${Id}/stop`);
    const { outcomes } = await upkeep.update(...revive);
    expect(outcomes['job']).toMatchObject({ outcome: 'failed', reason: expect.stringContaining(reason) });
    expect(await inspect('job')).toMatchObject({ Id, State: { Status: 'exited' } });
  });

  test('a container that crashes over and over is updated with --include-restarting', async () => {
    const HostConfig = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } };
    const { next } = await stale('web', { old: catalogue.crash, config: { HostConfig } });
    await engine.waitFor('web', ({ State }) => State.Status === 'restarting');
    expect((await upkeep.update('--include-restarting')).outcomes['web']).toMatchObject({
      outcome: 'updated',
      reason: '',
    });
    expect(await inspect('web')).toMatchObject({
      Image: expect.toBeOneOf([...idsOf(next)]),
      State: { Status: 'running' },
      HostConfig,
    });
  });

  test.each(['--rolling-restart', '--update-concurrency 1'])(
    '%s begins one when the one before has been proven, also with dependencies',
    async (options) => {
      const Labels = { 'upkeep.depends-on': 'cc' };
      await Promise.all([stale('aa', { config: { Labels } }), stale('bb'), stale('cc')]);
      const { outcomes } = await upkeep.update(...options.split(' '));
      expect(Object.values(outcomes).map(({ outcome }) => outcome)).toEqual(['updated', 'updated', 'updated']);
      const startOf = async (name: string) => Date.parse((await inspect(name)).State.StartedAt);
      const [aa = 0, bb = 0, cc = 0] = await Promise.all(['aa', 'bb', 'cc'].map(startOf));
      expect(aa).toBeGreaterThan(cc);
      const inOrder = [aa, bb, cc].toSorted((one, other) => one - other);
      for (const [index, ms] of inOrder.slice(1).entries()) expect(ms - (inOrder[index] ?? 0)).toBeGreaterThan(1000);
    },
  );

  test('the label stop-signal is heard where the engine can be told a signal; else that is said', async () => {
    const HostConfig = { Binds: ['log:/log'] };
    const Labels = { 'upkeep.stop-signal': 'SIGUSR1' };
    const web = await stale('web', {
      old: onSignal('echo own >/log/log', 'TERM; trap "echo usr1 >/log/log; exit 0" USR1'),
      config: { Labels, HostConfig },
    });
    const { outcomes, run } = await upkeep.update();
    expect(outcomes['web']?.outcome).toBe('updated');
    const { body } = await engine.call('GET', '/version');
    const canBeTold = Number((body as { ApiVersion: string }).ApiVersion.split('.')[1]) >= 42;
    expect(logOf(web)).toBe(canBeTold ? 'usr1' : 'own');
    expect(run.stderr.includes('The label stop-signal has no effect')).toBe(!canBeTold);
  });

  test('the label stop-timeout decides when a container is killed', async () => {
    const Labels = { 'upkeep.stop-timeout': '1s' };
    await stale('deaf', { old: catalogue.deaf, config: { Labels, StopTimeout: 3600 } });
    expect((await upkeep.update()).outcomes['deaf']?.outcome).toBe('updated');
  });

  test.each([
    ['longer than the option', 30],
    ['without end', -1],
  ])("a container's own StopTimeout, %s, is waited for", async (_, StopTimeout) => {
    const config = { StopTimeout, HostConfig: { Binds: ['log:/log'] } };
    const web = await stale('web', { old: onSignal('sleep 4; echo ended by itself >/log/log'), config });
    expect((await upkeep.update('--stop-timeout', '1s')).outcomes['web']?.outcome).toBe('updated');
    expect(logOf(web)).toBe('ended by itself');
  });

  test.each([
    ['http://:8080/index.html', {}],
    ['tcp://:8080', {}],
    ['exec:wget -q -O - http://127.0.0.1:8080/ | grep v2', {}],
    ['http://:8080/', { HostConfig: { NetworkMode: 'host' } }],
  ])('the label health-probe lets a container through that passes %s, %j', async (probe, config) => {
    const { next } = await stale('web', { config: { Labels: { 'upkeep.health-probe': probe }, ...config } });
    const { outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({ outcome: 'updated', reason: '' });
    expect(await inspect('web')).toMatchObject({ Image: expect.toBeOneOf([...idsOf(next)]), State: { Running: true } });
    expect(await names()).toEqual(['web']);
  });

  test.each([
    ['http://:8080/nothing-here', 'it answered with status 404'],
    ['tcp://:8081', 'nothing listens on the port (ECONNREFUSED)'],
    ['exec:echo not yet; exit 3', 'the command ended with code 3 (not yet)'],
  ])('--health-probe brings the old container back where %s does not pass', async (probe, reason) => {
    const { Id } = await stale('web');
    const { outcomes } = await upkeep.update('--health-probe', probe, '--health-timeout', '3s');
    expect(outcomes['web']).toMatchObject({ outcome: 'rolled_back', reason: expect.stringContaining(reason) });
    expect(await inspect('web')).toMatchObject({ Id, State: { Running: true } });
    expect(await names()).toEqual(['web']);
  });

  test('nothing is begun where the probe of a label cannot be asked', async () => {
    const config = { Labels: { 'upkeep.health-probe': 'tcp://:8080' }, HostConfig: { NetworkMode: 'none' } };
    const { Id, State } = await stale('web', { config });
    const { outcomes } = await upkeep.update();
    const reason = expect.stringContaining('its health probe tcp://:8080 cannot be asked: it has no network');
    expect(outcomes['web']).toMatchObject({ outcome: 'failed', reason });
    expect(await inspect('web')).toMatchObject({ Id, State: { StartedAt: State.StartedAt } });
  });

  test('the label health-timeout decides how long healthy may take', async () => {
    const patient = await stale('patient', { next: catalogue.slow });
    const hasty = await stale('hasty', {
      next: catalogue.slow,
      config: { Labels: { 'upkeep.health-timeout': '1s', 'upkeep.health-window': '1s' } },
    });
    const { outcomes } = await upkeep.update();
    expect(outcomes['patient']?.outcome).toBe('updated');
    expect(outcomes['hasty']).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringMatching(/did not become healthy within [12]s/),
    });
    expect(idsOf(patient.next)).toContain((await inspect('patient')).Image);
    expect(await inspect('hasty')).toMatchObject({ Id: hasty.Id, State: { Status: 'running' } });
  });
});
