import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';

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
    const onFullDisk = `exec "${process.execPath}" dist/main.js check --exit-code --host unix://${engine.socket} >/dev/full`;
    expect(await once(execFile('sh', ['-c', onFullDisk]), 'close')).toEqual([1, null]);
  });

  test.each([
    [['web', 'wbe'], 'Cannot update "wbe": there is no container named "wbe"'],
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
    expect(stdout).not.toContain('being updated');
    expect(await everyContainer()).toEqual(before);
  });

  test('a Compose service, a project, another letter case and a glob find their container', async () => {
    await pushImage(registry, 'command-line/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    const Labels = { 'com.docker.compose.project': 'home', 'com.docker.compose.service': 'frontend' };
    await engine.run('Home-Web-1', image, { Labels });
    for (const [command, ...names] of [
      ['check', 'frontend', 'home', 'home-web-1', 'Home-*'],
      ['containers', 'home-web-1', 'Home-*'],
    ] as const)
      for (const name of names)
        expect([name, (await upkeep(command, name)).stdout]).toEqual([name, expect.stringMatching(/^Home-Web-1 /m)]);
    const typo = await upkeep('update', 'fronted');
    expect([typo.code, typo.stderr]).toEqual([1, expect.stringContaining('did you mean "frontend"?')]);
    const other = await upkeep('check', '--image', 'jellyfin');
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(`the watched images are "${image}"`)]);
  });

  test('containers lists what is watched, and that nothing is known of updates yet', async () => {
    await runWeb('plain-v1');
    const { code, stdout, stderr } = await upkeep('containers');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^web +not checked yet +v1 +running +\S+\/command-line\/web:stable$/m);
    const document: unknown = JSON.parse((await upkeep('containers', 'web', '--json')).stdout);
    expect(document).toMatchObject({
      containers: [{ name: 'web', image, running: true }],
      count: 1,
      api_version: 'v1',
    });
    expect((await upkeep('containers', 'wbe')).code).toBe(1);
  });

  test('the service begins with its banner: address and groups, version and engine, containers, schedule', async () => {
    await runWeb('plain-v1');
    const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '18788'];
    const schedule = [
      '--http-api-periodic-polls',
      '--schedule',
      '0 4 * * *',
      '--schedule-jitter',
      '0s',
      '--timezone',
      'UTC',
    ];
    const tokens = { UPKEEP_HTTP_API_TOKEN: 'secret-of-the-api', UPKEEP_HTTP_API_EVENTS_TOKEN: 'secret-of-events' };
    const service = startUpkeep(['run', '--log-format', 'pretty', ...api, ...schedule], {
      socket: engine.socket,
      env: tokens,
    });
    await service.seen('Next update in');
    service.child.kill('SIGTERM');
    const { stdout, stderr } = await service.ended;
    const lines = stderr.slice(0, stderr.indexOf('\n', stderr.indexOf('Next update in'))).split('\n');
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      readonly version: string;
    };
    const escaped = version.replaceAll('.', String.raw`\.`);
    expect([stdout, lines.map((line) => line.slice('2026-11-23 12:30:17 '.length))]).toEqual([
      '',
      [
        'info  listening address=http://127.0.0.1:18788 groups=all',
        'info  The page is at http://127.0.0.1:18788/: sign in with the token of --http-api-token',
        expect.stringMatching(new RegExp(`^info  Upkeep ${escaped} with Docker \\d+\\.\\d+\\S*$`)),
        'info  1 container watched',
        'info  Updates every day at 04:00 (UTC), and on request over the API',
        expect.stringMatching(/^info {2}Next update in [\dhms]+$/),
      ],
    ]);
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
    expect([code, stderr]).toEqual([130, expect.stringContaining('Ctrl-C again after 2s quits at once')]);
    await expectOneRunningWeb();
  });

  test.each<readonly [NodeJS.Signals, NodeJS.Signals, number]>([
    ['SIGTERM', 'SIGTERM', 143],
    ['SIGINT', 'SIGTERM', 130],
  ])('%s and %s at once are one wish, as process managers send it: nothing is left half done', async (...sent) => {
    const [first, second, expected] = sent;
    await runWeb('plain-v1');
    await publish('plain-v2');
    const update = startUpkeep(['update', '--health-window', '3s'], { socket: engine.socket });
    await update.seen('web: checking health');
    update.child.kill(first);
    await update.seen('Stopping at the next safe point');
    update.child.kill(second);
    const { code, stderr } = await update.ended;
    expect([code, stderr]).toEqual([expected, expect.not.stringContaining('Quit at once')]);
    await expectOneRunningWeb();
  });

  test('another Ctrl-C after 2 s quits at once, says what is left, and the next start repairs it', async () => {
    await runWeb('plain-v1');
    await publish('plain-v2');
    const update = startUpkeep(['update', '--health-window', '60s'], { socket: engine.socket });
    await update.seen('web: checking health');
    update.child.kill('SIGINT');
    await update.seen('Ctrl-C again after 2s quits at once');
    await sleep(2100);
    update.child.kill('SIGINT');
    const { code, stderr } = await update.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('the next start of Upkeep finishes or undoes the interrupted update of web\n');
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
    expect(stderr).toMatch(/level=error msg="web: failed; back on v1.*exited with code 3/);
    await expectOneRunningWeb();
  });

  test.each([[['update']], [['run', '--run-once']], [['run', '--run-once', '--porcelain', 'v1']]])(
    '%j ends with 3 when something could not be checked, and with 1 when something failed besides',
    async (command) => {
      await runWeb('plain-v1');
      await engine.call('POST', `/images/${encodeURIComponent(image)}/tag?repo=127.0.0.1%3A1%2Fghost&tag=1`);
      await engine.run('ghost', '127.0.0.1:1/ghost:1', { StopTimeout: 2 });
      const unchecked = await upkeep(...command);
      expect([unchecked.code, unchecked.stderr]).toEqual([3, expect.anything()]);
      await publish('crash');
      expect((await upkeep(...command)).code).toBe(1);
    },
  );

  test('a name that means no container is refused, and after run it is a warning, and the service goes on', async () => {
    await runWeb('plain-v1');
    for (const word of ['logs', 'prune']) {
      const { code, stderr } = await upkeep(word, '--interval', '1h');
      expect([code, stderr]).toEqual([2, expect.stringContaining(`Cannot run "${word}": it is neither a command`)]);
    }
    const env = { WATCHTOWER_CLEANUP: 'true' };
    for (const [argv, more] of [
      [['logs'], { env }],
      [['run', 'documentation', 'bash'], {}],
      [['run', 'wbe'], {}],
    ] as const) {
      const service = startUpkeep([...argv, '--interval', '1h'], { socket: engine.socket, ...more });
      await service.seen('Next update in 1h');
      service.child.kill('SIGTERM');
      const { code, stderr } = await service.ended;
      expect(code).toBe(0);
      for (const name of argv.filter((word) => word !== 'run'))
        expect(stderr).toMatch(new RegExp(`No container matches .*${name}.*nearest container is .*web.*command`));
    }
    expect((await upkeep('run', '--run-once', 'wbe')).code).toBe(3);
  });

  test.skipIf(spawnSync('script', ['--version']).status !== 0)(
    'on a terminal it is a mistyped command, and nothing is begun; written out it is a name',
    async () => {
      await runWeb('plain-v1');
      const refused = await onTerminal('logs');
      expect([refused.code, refused.screen]).toEqual([2, expect.stringContaining('Cannot run "logs"')]);
      expect(refused.screen).toContain('the nearest container is "web", and the nearest command is "events"');
      const named = await onTerminal('run --run-once logs');
      expect([named.code, named.screen]).toEqual([3, expect.stringContaining('No container matches "logs"')]);
      expect((await onTerminal('web --run-once')).code).toBe(0);
    },
  );

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

  /** On a terminal for standard input, output and error. */
  function onTerminal(words: string): Promise<{ readonly code: number; readonly screen: string }> {
    const command = `"${process.execPath}" dist/main.js ${words} --host unix://${engine.socket}`;
    const env = { PATH: process.env['PATH'], TERM: 'dumb', HOME: '/nonexistent' };
    return new Promise((resolve) => {
      execFile('script', ['-qec', command, '/dev/null'], { env }, (error, screen) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, screen });
      });
    });
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
