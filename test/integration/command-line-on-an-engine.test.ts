import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/push.ts';
import { runUpkeep, startUpkeep } from '../support/run-upkeep.ts';

describeInLab('the command line on a real engine', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/command-line/web:stable`;
  afterEach(() => engine.clear());

  test('--exit-code tells whether there is something to do', async () => {
    await runWeb('plain-v1');
    expect((await upkeep('check', '--exit-code')).code).toBe(0);
    await publish('plain-v2');
    expect((await upkeep('check', '--exit-code')).code).toBe(10);
    expect((await upkeep('check')).code).toBe(0);
  });

  test.each([
    [['web', 'wbe'], 'Cannot update "wbe": no container is called "wbe"'],
    [
      ['--image', `${registry.host}/command-line/wbe`],
      `Cannot update "${registry.host}/command-line/wbe": no watched container`,
    ],
  ])('update %j names what is wrong, and changes nothing at all', async (args, message) => {
    await runWeb('plain-v1');
    await publish('plain-v2');
    const before = await everyContainer();
    const { code, stdout, stderr } = await upkeep('update', ...args);
    expect([code, stderr.split('\n')[0]]).toEqual([1, expect.stringContaining(message)]);
    expect(stdout).not.toContain('updating');
    expect(await everyContainer()).toEqual(before);
  });

  test('containers lists what is watched, and that nothing is known of updates yet', async () => {
    await runWeb('plain-v1');
    const { code, stdout, stderr } = await upkeep('containers');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^web +\S+\/command-line\/web:stable +running +not checked$/m);
    const document: unknown = JSON.parse((await upkeep('containers', 'web', '--json')).stdout);
    expect(document).toMatchObject({
      containers: [{ name: 'web', image, running: true }],
      count: 1,
      api_version: 'v1',
    });
    expect((await upkeep('containers', 'wbe')).code).toBe(1);
  });

  test('a mistyped label is warned about, with the one that may be meant', async () => {
    await runWeb('plain-v1', { Labels: { 'upkeep.enabel': 'false' } });
    const { stderr } = await upkeep('check');
    expect(JSON.parse(stderr)).toMatchObject({
      level: 'warn',
      container: 'web',
      msg: 'Label "upkeep.enabel" is not known; did you mean "upkeep.enable"?',
    });
  });

  test('Ctrl-C lets an update come to a point where nothing is half done, and ends with 130', async () => {
    await runWeb('plain-v1');
    await publish('plain-v2');
    const update = startUpkeep(['update', '--health-window', '3s'], { socket: engine.socket });
    await update.seen('web: checking health');
    update.child.kill('SIGINT');
    const { code, stderr } = await update.ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('Ctrl-C again quits at once')]);
    await expectOneRunningWeb();
  });

  test('a second Ctrl-C quits at once, and the next start repairs what was left', async () => {
    await runWeb('plain-v1');
    await publish('plain-v2');
    const update = startUpkeep(['update', '--health-window', '60s'], { socket: engine.socket });
    await update.seen('web: checking health');
    update.child.kill('SIGINT');
    await update.seen('Ctrl-C again quits at once');
    update.child.kill('SIGINT');
    const { code, stderr } = await update.ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('the next start of Upkeep finishes or undoes')]);
    expect(await everyContainer()).toHaveLength(2);
    const next = await upkeep('update', '--health-window', '1s');
    expect(next.code).toBe(0);
    expect(next.stderr).toMatch(/"msg":"(?:Undid|Finished) an interrupted update of web/);
    await expectOneRunningWeb();
  });

  test('run --run-once speaks through the log and ends with the outcome', async () => {
    await runWeb('plain-v1');
    await publish('crash');
    const { code, stdout, stderr } = await upkeep('run', '--run-once', '--log-format', 'logfmt');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/level=error msg="web: rolled back.*exited with code 3/);
    await expectOneRunningWeb();
  });

  test('run updates at its interval, and ends with 0 when it is told to stop', async () => {
    await runWeb('plain-v1');
    const service = startUpkeep(['run', '--interval', '2s', '--health-window', '1s'], { socket: engine.socket });
    await service.seen('Next update in 2s');
    await publish('plain-v2');
    await service.seen('web: updated');
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    await expectOneRunningWeb();
  });

  function upkeep(...args: string[]) {
    return runUpkeep(args, { socket: engine.socket });
  }

  function publish(version: keyof typeof catalogue) {
    return pushImage(registry, 'command-line/web', 'stable', catalogue[version]);
  }

  async function runWeb(version: keyof typeof catalogue, config: object = {}): Promise<void> {
    await publish(version);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 2, ...config });
  }

  async function everyContainer(): Promise<unknown> {
    const { body } = await engine.call('GET', '/containers/json?all=1');
    return (body as { Id: string; Names: string[]; State: string }[]).map(({ Id, Names, State }) => ({
      Id,
      Names,
      State,
    }));
  }

  async function expectOneRunningWeb(): Promise<void> {
    expect(await everyContainer()).toEqual([expect.objectContaining({ Names: ['/web'], State: 'running' })]);
  }
});
