import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';

const nobody = 65_534;
const runsAsRoot = process.getuid?.() === 0;

describe('the executable', () => {
  test('--version says the version of the package', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await runUpkeep(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('twenty engines cause no warning of Node', async () => {
    const hosts = Array.from({ length: 20 }, (_, n) => ['--host', `e${n}=tcp://127.0.0.1:1`]);
    const { code, stderr } = await runUpkeep(['check', ...hosts.flat()]);
    expect([code, stderr.split('\n').length]).toEqual([1, 2]);
    expect(stderr).toMatch(/^upkeep: Cannot check: no engine could be worked on: e0: /);
  });

  test('a service that cannot listen ends, so that its supervisor can start it again', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const api = ['--http-api-host', '127.0.0.1', '--http-api-port', `${port}`, '--http-api-endpoints', 'health'];
    const { code, stderr } = await runUpkeep(['run', ...api], { socket: '/nonexistent/docker.sock' });
    other.close();
    const msg = `Cannot listen on "127.0.0.1 port ${port}": another process listens there already`;
    expect([code, JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '')]).toMatchObject([1, { level: 'error', msg }]);
  });

  test('a system without file descriptors for more engines is reported like engines that do not answer', () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-ssh-'));
    writeFileSync(join(folder, 'ssh'), '#!/bin/sh\nexec sleep 30\n', { mode: 0o755 });
    const hosts = Array.from({ length: 20 }, (_, n) => `--host e${n}=ssh://e${n}`).join(' ');
    const { status, stderr } = spawnSync('sh', ['-c', `ulimit -n 60; exec node dist/main.js check ${hosts}`], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    });
    rmSync(folder, { recursive: true });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^upkeep: Cannot check: no engine could be worked on: e0: /),
    ]);
  });

  test.each([[['--help']], [['help']], [['check', '--help']], [['help', 'demo']]])('%j prints help', async (argv) => {
    const { code, stdout: out, stderr: err } = await runUpkeep(argv);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^(?:upkeep: keeps|Usage: upkeep)/);
  });

  test.skipIf(!existsSync('/dev/full')).each(['config --json', '--version', 'completion bash'])(
    'output that cannot be written is a failure: %s',
    (argv) => {
      const { status, stderr } = spawnSync('sh', ['-c', `exec "${process.execPath}" dist/main.js ${argv} >/dev/full`], {
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([
        1,
        'upkeep: Cannot write the output: ENOSPC: no space left on device, write\n',
      ]);
    },
  );

  test.each<[string, readonly string[], Readonly<Record<string, string>>, number, string]>([
    [
      'an unknown option',
      ['check', '--cleanpu'],
      {},
      2,
      'Cannot use --cleanpu: there is no such option; did you mean --cleanup?',
    ],
    ['an unknown command', ['chekc'], {}, 2, 'Cannot run "chekc": there is no such command; did you mean "check"?'],
    ['a missing value', ['--scope'], {}, 2, 'Cannot use --scope: it needs a value'],
    [
      'a bad value',
      ['update', '--stop-timeout', 'soon'],
      {},
      2,
      'Cannot use --stop-timeout "soon": expected a duration',
    ],
    [
      'a bad variable',
      ['update'],
      { WATCHTOWER_CLEANUP: 'ja' },
      2,
      'Cannot use WATCHTOWER_CLEANUP "ja": expected true or false',
    ],
    [
      'a bad image',
      ['check', '--image', 'Not An Image'],
      {},
      2,
      'Cannot use --image "Not An Image": expected image references',
    ],
    [
      'a bad wave, with one engine as with several',
      ['check', '--waves', '50%, 25%'],
      {},
      2,
      'Cannot use --waves "50%, 25%": "25%" comes after 50%, so it adds no engine',
    ],
    [
      'a missing file',
      ['check', '--registry-ca', '/nowhere.pem'],
      {},
      2,
      'Cannot read the file of --registry-ca "/nowhere.pem": there is no such file',
    ],
    [
      'a missing engine',
      ['check'],
      { DOCKER_HOST: 'unix:///nowhere/docker.sock' },
      1,
      'Cannot reach the container engine at "unix:///nowhere/docker.sock"',
    ],
    [
      'an engine that is not there',
      ['update'],
      { DOCKER_HOST: 'tcp://127.0.0.1:1' },
      1,
      'Cannot reach the container engine at "tcp://127.0.0.1:1"',
    ],
    [
      'a bad address',
      ['update'],
      { DOCKER_HOST: 'tcp://a/b' },
      2,
      'Cannot use "tcp://a/b" as the address of a container engine',
    ],
  ])('%s is one clear message with a remedy and no stack', async (_what, argv, env, code, message) => {
    const ending = await runUpkeep(argv, { env });
    expect(ending.code).toBe(code);
    expect(ending.stdout).toBe('');
    const [first = '', remedy = ''] = ending.stderr.split('\n');
    expect(first).toContain(`upkeep: ${message}`);
    expect(remedy).toMatch(/^ {2}\S/);
    expect(ending.stderr).not.toMatch(/^\s+at /m);
  });

  test('--timezone is the zone of the times that are shown, whatever TZ says', async () => {
    const env = { TZ: 'UTC', WATCHTOWER_CLEANUP: 'true', DOCKER_HOST: 'tcp://127.0.0.1:1' };
    const argv = ['run', '--run-once', '--log-format', 'pretty', '--timezone', 'Pacific/Kiritimati'];
    const fourteenHoursAhead = () => new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 13).replace('T', ' ');
    const before = fourteenHoursAhead();
    const { stderr: err } = await runUpkeep(argv, { env });
    expect([before, fourteenHoursAhead()]).toContain(/^\S+ \d\d/.exec(err)?.[0]);
  });

  test.each([':/etc/localtime', '/etc/localtime'])('TZ=%s is the zone of the machine', async (TZ) => {
    const hourWith = async (zone: string) => {
      const env = { TZ: zone, WATCHTOWER_CLEANUP: 'true', DOCKER_HOST: 'tcp://127.0.0.1:1' };
      return /^\S+ \d\d:/.exec((await runUpkeep(['run', '--run-once', '--log-format', 'pretty'], { env })).stderr)?.[0];
    };
    const before = await hourWith('');
    const hour = await hourWith(TZ);
    expect(hour).toBeDefined();
    expect([before, await hourWith('')]).toContain(hour);
  });

  test('all faults are told at once', async () => {
    const { stderr: err } = await runUpkeep(['update', '--nonsense', '--stop-timeout=x'], {
      env: { UPKEEP_CLEANUP: 'maybe' },
    });
    expect(err.match(/^upkeep: Cannot use/gm)).toHaveLength(3);
  });

  test('with --json a failure is a document on standard output too', async () => {
    const { code, stdout: out } = await runUpkeep(['check', '--json'], { env: { DOCKER_HOST: 'unix:///nowhere' } });
    expect([code, JSON.parse(out)]).toEqual([1, expect.objectContaining({ code: 'engine-unreachable' })]);
  });

  test('a variable that is not known, and those of the Watchtower family, are told at the start', async () => {
    const env = { DOCKER_HOST: 'unix:///nowhere', UPKEEP_CLEENUP: '1', WATCHTOWER_TIMEOUT: '10s' };
    const { stderr: err } = await runUpkeep(['run', '--run-once'], { env });
    const lines = err.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'Variable UPKEEP_CLEENUP is not known and has no effect; did you mean UPKEEP_CLEANUP?',
      'Variables of the Watchtower family are in effect: WATCHTOWER_TIMEOUT',
      expect.stringContaining('Cannot reach the container engine'),
    ]);
  });

  test('a stack is shown with --log-level debug only', async () => {
    const env = { DOCKER_HOST: 'unix:///nowhere' };
    const { stderr } = await runUpkeep(['check', '--log-level', 'debug'], { env });
    expect(stderr).toMatch(/"stack":"ServiceError: .*\.js:\d+/);
  });
});

describe('an engine that does not answer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-away-'));
  const silent = createServer(() => undefined);
  const closing = createServer((socket) => socket.destroy());
  beforeAll(async () => {
    await new Promise<void>((resolve) => silent.listen(join(folder, 'silent.sock'), resolve));
    await new Promise<void>((resolve) => closing.listen(join(folder, 'closing.sock'), resolve));
  });
  afterAll(() => {
    silent.close();
    closing.close();
    rmSync(folder, { recursive: true });
  });

  test.each([
    ['is not there', 'none.sock', /there is no such socket/],
    ['refuses', 'refused', /nothing listens there/],
    ['closes each connection', 'closing.sock', /the connection broke off/],
    ['accepts and never answers', 'silent.sock', /does not answer|has not answered/],
  ])('and %s is told by each reading command within half a minute, with exit code 1', async (_, name, why) => {
    const host = name === 'refused' ? 'tcp://127.0.0.1:1' : `unix://${join(folder, name)}`;
    const env = { DOCKER_HOST: host };
    const kept = ['--state-dir', join(folder, 'state')];
    const commands = [
      ['containers'],
      ['status'],
      ['containers', ...kept],
      ['check'],
      ['check', '--json'],
      ['notes', 'web', ...kept],
      ['data', 'list'],
      ['update', '--dry-run'],
      ['approve', 'web', ...kept],
      ['logs'],
    ];
    const endings = await Promise.all(
      commands.map(async (command) => {
        const ending = await runUpkeep(command, { env });
        return { command, ...ending };
      }),
    );
    for (const { command, code, stderr } of endings) {
      expect([command, code, stderr]).toEqual([command, 1, expect.stringMatching(why)]);
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });

  test('does not matter to commands that need none', async () => {
    const env = { DOCKER_HOST: `unix://${join(folder, 'silent.sock')}` };
    const kept = ['--state-dir', join(folder, 'state')];
    const codes = await Promise.all(
      [['config'], ['history', ...kept], ['notify', 'list'], ['completion', 'bash']].map(async (command) => {
        const { code, stderr } = await runUpkeep(command, { env });
        return [command[0], code, stderr];
      }),
    );
    expect(codes).toEqual([
      ['config', 0, ''],
      ['history', 0, ''],
      ['notify', 0, ''],
      ['completion', 0, ''],
    ]);
    const events = await runUpkeep(['events', ...kept], { env });
    expect([events.code, events.stderr]).toEqual([1, expect.stringContaining('Cannot follow events: no service')]);
  });
});

describe('a socket that may not be opened', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-'));
  const socket = join(folder, 'docker.sock');
  let server: Server;
  beforeAll(async () => {
    chmodSync(folder, 0o755);
    server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(socket, resolve);
    });
    chmodSync(socket, runsAsRoot ? 0o600 : 0o000);
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  test('is told apart from one that is not there, with what to do', async () => {
    const env = { DOCKER_HOST: `unix://${socket}` };
    const { code, stderr: err } = await runUpkeep(['check'], runsAsRoot ? { env, uid: nobody } : { env });
    expect(code).toBe(1);
    expect(err).toMatch(/^upkeep: Cannot .*this user may not use the socket \(EACCES\)\n {2}Run as root/);
  });
});

describe('upkeep demo', () => {
  test('needs no engine, tells what happens as lines, and ends by itself', async () => {
    const {
      code,
      stdout: out,
      stderr: err,
    } = await runUpkeep(['demo', '--rounds', '1'], { env: { DOCKER_HOST: 'nonsense' } });
    expect([code, err.split('\n')]).toEqual([0, [expect.stringContaining('"msg":"listening"'), '']]);
    expect(out).toContain('touches no real container');
    expect(out).toMatch(/^Round 1\n(?: {2}.*\n)* {2}traefik:v3 3\.2\.1: a good release$/m);
    expect(out).toMatch(/^traefik: updated \(down for [\d.]+m?s(?:, [\d.]+m?s of it stopping)?\)$/m);
    expect(out).toMatch(/^Rounds: 1; replaced: 2; rolled back: 1; failed: 0; 14 of 14 containers are running$/m);
  });

  test('ends cleanly with Ctrl-C', async () => {
    const demo = startUpkeep(['demo']);
    await demo.seen('traefik: update ready');
    demo.child.kill('SIGINT');
    const { code, stdout: out } = await demo.ended;
    expect(code).toBe(0);
    expect(out).toMatch(/14 of 14 containers are running\n$/);
  });

  test('survives a reader that has gone', () => {
    const command = `"${process.execPath}" dist/main.js demo --rounds 1 | head -1`;
    const { stdout, stderr, status } = spawnSync('bash', ['-o', 'pipefail', '-c', command], { encoding: 'utf8' });
    expect([status, stderr.split('\n')]).toEqual([0, [expect.stringContaining('"msg":"listening"'), '']]);
    expect(stdout.split('\n')).toHaveLength(2);
  });

  test('without an end of its own, it ends with its reader', () => {
    const command = `timeout 60 "${process.execPath}" dist/main.js demo | head -1`;
    const { stdout, stderr, status } = spawnSync('bash', ['-o', 'pipefail', '-c', command], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(stderr.split('\n')).toEqual([expect.stringContaining('"msg":"listening"'), '']);
    expect(stdout.split('\n')).toHaveLength(2);
  });

  test.skipIf(!hasScript())('draws a table on a terminal, in colours unless NO_COLOR is set', async () => {
    const [coloured, plain, dumb] = await Promise.all(['', 'NO_COLOR=1', 'TERM=dumb'].map(onTerminal));
    expect(coloured).toContain('\u001b[32m');
    expect(coloured?.split('\u001b[J').at(-1)).toMatch(/CONTAINER[^]*updated[^]*traefik:v3[^]*14 of 14 containers/);
    expect(plain).not.toContain('\u001b[3');
    expect(plain).toContain('\u001b[J');
    expect(dumb).not.toContain('\u001b');
    expect(dumb).toContain('traefik: updated');
  });
});

/** The first round of the demonstration on a terminal of 100 columns; `setting` is a variable of its environment. */
async function onTerminal(setting: string): Promise<string> {
  const command = `stty cols 100 rows 30; ${setting} "${process.execPath}" dist/main.js demo --rounds 1`;
  const env = { PATH: process.env['PATH'], TERM: 'xterm' };
  return (await promisify(execFile)('script', ['-qec', command, '/dev/null'], { env })).stdout;
}

function hasScript(): boolean {
  return spawnSync('script', ['--version']).status === 0;
}
