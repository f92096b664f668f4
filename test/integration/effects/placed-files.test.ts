import { mkdirSync, mkdtempSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dockerAt } from '../../image/rig/docker.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { obtainPlugins } from '../../lab/engine/engines.mjs';
import { isPodman } from '../../lab/engine/podman.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from './scene.ts';

/** Writes while it runs: a log, a file beside the placed ones, and one with a time of the image, as `cp -p` does. */
const writing = (version: string, tail = 'sleep 1000000 & wait $!') =>
  webServer(version, {
    Cmd: [
      'sh',
      '-c',
      `trap 'exit 0' TERM; echo run >/run.log; echo pid >/etc/app.pid; mkdir -p /var/log; echo a >/var/log/a; cp -p /etc/passwd /etc/passwd.kept; ${tail}`,
    ],
  });

describeInLab('files that compose and "docker cp" wrote into a container', (lab) => {
  const { engine } = lab;
  const { stale, push, image, inspect, names } = effectsScene(lab, 'placed-files');
  const upkeep = upkeepScene({ socket: engine.socket });
  const docker = dockerAt(lab.dir, engine.socket);
  let folder = '';

  // The lab has no external network: without compose, `npm test -- image` fetches it.
  const { failure } = obtainPlugins();
  beforeEach((context) => {
    if (failure !== undefined) skipBecause(context, failure);
    folder = mkdtempSync(join(lab.dir, 'compose-'));
  });
  afterEach(() => engine.clear());

  /** Mode, owner, seconds and content of files, by path. */
  async function filesOf(name: string, paths: readonly string[]): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const path of paths) {
      const script = 'test -L "$0" && readlink "$0" || { stat -c "%a %u:%g %Y" "$0"; test -d "$0" || cat "$0"; }';
      found[path] = await docker('exec', '-u', '0', name, 'sh', '-c', script, path).catch(() => 'missing');
    }
    return found;
  }

  const placed = ['/etc/c1.conf', '/opt/deep/er/ümlaut.conf', '/run/secrets/s1', '/var/log/app/settings'];
  const written = ['/run.log', '/etc/app.pid', '/var/log/a', '/etc/passwd.kept'];

  /** A compose project with a service "web", which was started by `docker compose up -d`. */
  async function shop(more = ''): Promise<(...words: string[]) => Promise<string>> {
    await push('web', writing('v1'));
    const file = join(folder, 'compose.yaml');
    writeFileSync(
      file,
      `services:
  web:
    image: ${image('web')}
    container_name: web
    stop_grace_period: 1s
    configs:
      - {source: c1, target: /etc/c1.conf}
      - {source: c2, target: /opt/deep/er/ümlaut.conf, mode: 0640, uid: "7", gid: "8"}
      - {source: c1, target: /var/log/app/settings}
    secrets: [s1]
${more}
configs: {c1: {content: hello}, c2: {environment: SHOP_CONFIG}}
secrets: {s1: {environment: SHOP_SECRET}}
`,
    );
    writeFileSync(join(folder, '.env'), 'SHOP_CONFIG=from the environment\nSHOP_SECRET=hunter2\n');
    const compose = (...words: string[]) =>
      docker('compose', '--progress', 'plain', '--project-name', 'shop', '-f', file, ...words);
    await compose('up', '-d', '--pull', 'always');
    return compose;
  }

  test('set-up files that compose wrote: configs and secrets are in the new container, and compose finds nothing to do', async () => {
    const compose = await shop();
    const before = await filesOf('web', placed);
    expect(before['/run/secrets/s1']).toContain('hunter2');
    expect((await filesOf('web', written))['/etc/app.pid']).toContain('pid');
    for (const version of ['v2', 'v3']) {
      const pushed = await push('web', writing(version));
      const { outcomes, run } = await upkeep.update();
      expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'updated', reason: '' });
      expect(run.stdout + run.stderr).not.toContain('hunter2');
      const after = await inspect('web');
      expect(idsOf(pushed)).toContain(after.Image);
      expect(await filesOf('web', placed)).toEqual(before);
      await compose('up', '-d');
      expect((await inspect('web')).Id).toBe(after.Id);
    }
    expect(await names()).toEqual(['web']);
  });

  test('set-up files that compose wrote: what the program itself wrote does not move', async () => {
    await shop();
    await push('web', webServer('v2'));
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
    expect(await filesOf('web', written)).toEqual(Object.fromEntries(written.map((path) => [path, 'missing'])));
    expect(Object.values(await filesOf('web', placed))).not.toContain('missing');
  });

  test('set-up files that compose wrote: also after compose has stopped and started it', async () => {
    const compose = await shop();
    await compose('stop');
    await compose('start');
    const before = await filesOf('web', placed);
    await push('web', writing('v2'));
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
    expect(await filesOf('web', placed)).toEqual(before);
  });

  test('set-up files that compose wrote: a version that fails gives way to the old container with its files', async () => {
    await shop();
    const before = await filesOf('web', placed);
    await push('web', writing('v2', 'exit 3'));
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(await filesOf('web', placed)).toEqual(before);
  });

  test('set-up files that compose wrote: a container that is created anew for another one keeps them', async () => {
    await push('vpn', catalogue['plain-v1']);
    await engine.pull(image('vpn'));
    await engine.run('vpn', image('vpn'), { StopTimeout: 1 });
    await shop('    network_mode: container:vpn');
    const before = await filesOf('web', placed);
    await push('vpn', catalogue['plain-v2']);
    const { outcomes } = await upkeep.update('vpn');
    expect(outcomes).toMatchObject({ vpn: { outcome: 'updated' }, web: { outcome: 'restarted' } });
    expect(await filesOf('web', placed)).toEqual(before);
  });

  test('set-up files that "docker cp" wrote: a tree with links, and a file of any age', async () => {
    const tree = join(folder, 'tree');
    const file = (path: string, content: string, seconds: number) => {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), content, { mode: 0o640 });
      utimesSync(join(tree, path), seconds, seconds);
    };
    file('conf/app.conf', 'precious', 1_500_000_000.5);
    file('conf/a b/日本語.txt', 'text', Date.now() / 1000 - 3600);
    mkdirSync(join(tree, 'conf/empty'));
    symlinkSync('a b/日本語.txt', join(tree, 'conf/link'));
    await push('cp', writing('v1'));
    await engine.pull(image('cp'));
    await engine.create('cp', image('cp'), { StopTimeout: 1, User: '0:0' });
    await docker('cp', join(tree, 'conf'), 'cp:/srv');
    await docker('cp', join(tree, 'conf/app.conf'), 'cp:/bin/app.conf');
    await docker('start', 'cp');
    const paths = ['/srv', '/srv/app.conf', '/srv/a b/日本語.txt', '/srv/empty', '/srv/link'];
    // Podman stamps some folders at each start.
    const all = isPodman ? paths : [...paths, '/bin/app.conf'];
    const before = await filesOf('cp', all);
    expect(before['/srv/app.conf']).toContain('precious');
    expect(before['/srv/link']).toBe('a b/日本語.txt');
    for (const version of ['v2', 'v3']) {
      await push('cp', writing(version));
      expect((await upkeep.update()).outcomes['cp']).toMatchObject({ outcome: 'updated', reason: '' });
      expect(await filesOf('cp', all)).toEqual(before);
    }
  });

  /** An image with files of its own where people put theirs, and a link of a folder. */
  const shipping = (version: string, config: object = {}) => ({
    ...writing(version),
    ...config,
    files: {
      'etc/app/app.conf': `of the image ${version}`,
      'etc/app/mime.types': `types of ${version}`,
      'run/.keep': '',
    },
    links: { 'var/run': '../run' },
  });

  /** A container with "docker cp" of a file before its first start; the time of the file is in seconds. */
  async function copied(target: string, seconds: number, config: object = {}, spec = shipping('v1')): Promise<void> {
    writeFileSync(join(folder, 'mine'), 'precious', { mode: 0o640 });
    utimesSync(join(folder, 'mine'), seconds, seconds);
    await push('cp', spec);
    await engine.pull(image('cp'));
    await engine.create('cp', image('cp'), { StopTimeout: 1, ...config });
    await docker('cp', join(folder, 'mine'), `cp:${target}`);
    await docker('start', 'cp');
  }

  const lastYear = Date.now() / 1000 - 365 * 86_400;
  const owning = (version: string) =>
    shipping(
      version,
      webServer(version, { Cmd: ['sh', '-c', "trap 'exit 0' TERM; chown 1000 /etc/app/*; sleep 1000000 & wait $!"] }),
    );

  test.each<[string, string, number, object, (version: string) => ReturnType<typeof shipping>]>([
    ['an old one in the place of one of the image', '/etc/app/app.conf', 1_500_000_000, {}, shipping],
    ['one of last year in the place of one of the image', '/etc/app/app.conf', lastYear, {}, shipping],
    ['one of today in the place of one of the image', '/etc/app/app.conf', Date.now() / 1000 - 7200, {}, shipping],
    ['one whose owner the program changes', '/etc/app/app.conf', lastYear, {}, owning],
    ['one beside those of the image', '/etc/app/extra.conf', lastYear, {}, owning],
    ['one through a link of a folder', '/var/run/app.conf', lastYear, { User: '1000:1000' }, shipping],
  ])('set-up files that "docker cp" wrote: %s', async (_, target, seconds, config, spec) => {
    await copied(target, seconds, config, spec('v1'));
    const before = await filesOf('cp', [target]);
    expect(before[target]).toContain('precious');
    for (const version of ['v2', 'v3']) {
      await push('cp', spec(version));
      expect((await upkeep.update()).outcomes['cp']).toMatchObject({ outcome: 'updated', reason: '' });
      expect(await filesOf('cp', [target])).toEqual(before);
      expect((await filesOf('cp', ['/etc/app/mime.types']))['/etc/app/mime.types']).toContain(`types of ${version}`);
    }
  });

  /** Two services of one image with files in the place of those of the image, behind a link, and as another user. */
  async function pair(more = '') {
    await push('pair', shipping('v1'));
    const file = join(folder, 'compose.yaml');
    const service = `
    image: ${image('pair')}
    stop_grace_period: 1s
    user: "1000:1000"
    configs:
      - {source: c1, target: /etc/app/app.conf, mode: 0444}
      - {source: c1, target: /var/run/linked.conf}
    secrets: [{source: s1, target: /etc/app/token}]${more}`;
    const text = `services:
  one:${service}
    deploy: {replicas: 2}
  two:${service}
    depends_on: [one]
configs: {c1: {content: "hello\n"}}
secrets: {s1: {environment: PAIR_SECRET}}
`;
    writeFileSync(file, text);
    writeFileSync(join(folder, '.env'), 'PAIR_SECRET=hunter3\n');
    const compose = (...words: string[]) =>
      docker('compose', '--progress', 'plain', '--project-name', 'pair', '-f', file, ...words);
    await compose('up', '-d', '--pull', 'always');
    return compose;
  }
  const pairFiles = ['/etc/app/app.conf', '/var/run/linked.conf', '/etc/app/token'];

  test.each([
    ['in groups and replicas, as an ordinary user', '', []],
    ['where the new one starts first', '\n    labels: [upkeep.start-first=true]', []],
    ['with fresh anonymous volumes, one by one', '', ['--remove-volumes', '--rolling-restart']],
  ])('set-up files that compose wrote: in the place of those of the image, %s', async (_, more, flags) => {
    const compose = await pair(more);
    const all = ['pair-one-1', 'pair-one-2', 'pair-two-1'];
    const seen = () => Promise.all(all.map((name) => filesOf(name, pairFiles)));
    const before = await seen();
    expect(before[0]!['/etc/app/token']).toContain('hunter3');
    for (const version of ['v2', 'v3']) {
      const pushed = await push('pair', shipping(version));
      const { outcomes, run } = await upkeep.update(...flags);
      for (const name of all) {
        expect(outcomes[name], run.stderr).toMatchObject({ outcome: 'updated', reason: '' });
        expect(idsOf(pushed)).toContain((await inspect(name)).Image);
      }
      expect(await seen()).toEqual(before);
      await compose('up', '-d');
      expect(await seen()).toEqual(before);
    }
  });

  test.each(['0', '1h'])('set-up files that compose wrote: also after a rollback, with --keep-old %s', async (keep) => {
    await pair();
    const before = await filesOf('pair-two-1', pairFiles);
    await push('pair', shipping('v2'));
    expect((await upkeep.update('--keep-old', keep)).outcomes['pair-two-1']).toMatchObject({ outcome: 'updated' });
    const { code, stderr } = await runUpkeep(['rollback', 'pair-two-1', '--health-window', '1s'], {
      socket: engine.socket,
    });
    expect(code, stderr).toBe(0);
    expect((await inspect('pair-two-1')).State.Running).toBe(true);
    expect(await filesOf('pair-two-1', pairFiles)).toEqual(before);
  });

  test('set-up files that "docker cp" wrote: with --rm, they are in the copy of the old container too', async () => {
    writeFileSync(join(folder, 'conf'), 'precious');
    await push('rm', writing('v1'));
    await engine.pull(image('rm'));
    await engine.create('rm', image('rm'), { StopTimeout: 1, HostConfig: { AutoRemove: true } });
    await docker('cp', join(folder, 'conf'), 'rm:/etc/conf');
    await docker('start', 'rm');
    await push('rm', writing('v2', 'exit 3'));
    const { outcomes } = await upkeep.update('--update-auto-remove');
    expect(outcomes['rm']).toMatchObject({ outcome: 'rolled_back' });
    expect((await filesOf('rm', ['/etc/conf']))['/etc/conf']).toContain('precious');
  });

  test('set-up files that compose wrote: nothing is stopped where they cannot be copied, and the path is the reason', async () => {
    await shop();
    await push('web', writing('v2'));
    const { Id, State } = await inspect('web');
    const socketPath = join(lab.dir, 'placed.sock');
    const calls: readonly [string, string, RegExp, string][] = [
      ['PUT', '/archive', /"\/etc\/c1\.conf" cannot be written: .*no space left/, 'no space left on device'],
      ['GET', '/changes', /Cannot list the changed files of the container .*is broken/, 'is broken'],
      ['GET', '/archive', /Cannot read "\/etc\/c1\.conf" in the container .*is broken/, 'is broken'],
    ];
    for (const [method, path, reason, message] of calls) {
      const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
      proxy.arm({
        at: (call) => call.method === method && call.path.split('?')[0]!.endsWith(path),
        fault: { kind: 'answer', when: 'before', status: 500, body: JSON.stringify({ message }) },
        times: 20,
      });
      const { outcomes } = await upkeepScene({ socket: socketPath }).update();
      await proxy.close();
      expect(outcomes['web']).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(reason) });
      expect(await inspect('web')).toMatchObject({ Id, State: { StartedAt: State.StartedAt } });
      expect(await names()).toEqual(['web']);
    }
  });

  test.each(['GET', 'HEAD'])(
    'set-up files that compose wrote: the result says so where a proxy forbids to look (%s)',
    async (method) => {
      await shop();
      await push('web', writing('v2'));
      const socketPath = join(lab.dir, 'forbidden.sock');
      const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
      proxy.arm({
        at: (call) => call.method === method && /\/(changes|archive)\b/.test(call.path),
        fault: { kind: 'answer', when: 'before', status: 403, body: method === 'HEAD' ? '' : '<html>Forbidden</html>' },
        times: 1000,
      });
      const { outcomes } = await upkeepScene({ socket: socketPath }).update();
      await proxy.close();
      const reason = expect.stringMatching(
        /^files that compose or "docker cp" wrote into it may be missing, because .*forbids/,
      );
      expect(outcomes['web']).toMatchObject({ outcome: 'updated', reason });
    },
  );

  test('set-up files that "docker cp" wrote: too large ones are refused with their path', async () => {
    writeFileSync(join(folder, 'model'), Buffer.alloc(34_000_000));
    await push('big', writing('v1'));
    await engine.pull(image('big'));
    await engine.create('big', image('big'), { StopTimeout: 1 });
    await docker('cp', join(folder, 'model'), 'big:/etc/model');
    await docker('start', 'big');
    await push('big', writing('v2'));
    const { Id, State } = await inspect('big');
    const { outcomes } = await upkeep.update();
    const reason = expect.stringMatching(/Cannot copy "\/etc\/model" of "big": .*larger than 32 MB\. Mount/s);
    expect(outcomes['big']).toMatchObject({ outcome: 'failed', reason });
    expect(await inspect('big')).toMatchObject({ Id, State: { StartedAt: State.StartedAt } });
  });

  test('--verify copies them too, and leaves nothing behind', async () => {
    await shop();
    await push('web', writing('v2'));
    const { Id } = await inspect('web');
    const { run } = await upkeep.update('--verify').catch((error: unknown) => ({ run: { stdout: String(error) } }));
    expect(run.stdout).toContain('web');
    expect((await inspect('web')).Id).toBe(Id);
    expect(await names()).toEqual(['web']);
  });

  test('a container without placed files costs one list of changes', async () => {
    await stale('plain');
    const socketPath = join(lab.dir, 'counted.sock');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    const { outcomes } = await upkeepScene({ socket: socketPath }).update();
    await proxy.close();
    expect(outcomes['plain']).toMatchObject({ outcome: 'updated' });
    const kinds = proxy.calls.map(({ method, path }) => `${method} ${/\/(changes|archive)\b/.exec(path)?.[1] ?? ''}`);
    expect(kinds.filter((kind) => kind === 'GET changes')).toHaveLength(1);
    expect(kinds.filter((kind) => kind.endsWith('archive') && !kind.startsWith('HEAD'))).toEqual([]);
  });
});
