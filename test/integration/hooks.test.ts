import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { Inspected } from '../lab/engine/engine-client.ts';
import type { ImageConfig } from '../lab/registry/image.ts';
import { pushImage } from '../lab/registry/push.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';

type LogLine = { readonly level: string; readonly msg: string; readonly container?: string; readonly line?: string };

/** Hooks of containers around an update, on a real engine. */
describeInLab('lifecycle hooks', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  const upkeep = upkeepScene({
    socket: engine.socket,
    args: ['--enable-lifecycle-hooks', '--log-format', 'json', '--log-level', 'debug'],
    env: { REPO_USER: 'me', REPO_PASS: 'hunter2' },
  });

  /** A running container of v1, with v2 published; hooks by the end of their label. */
  async function stale(
    name: string,
    hooks: Readonly<Record<string, string>>,
    config: object = {},
    image: ImageConfig = {},
  ): Promise<Inspected> {
    const repository = `hooks/${name}`;
    const reference = `${registry.host}/${repository}:stable`;
    await pushImage(registry, repository, 'stable', webServer('v1', image));
    await engine.pull(reference);
    const labels = Object.entries(hooks).map(([hook, value]) => [`upkeep.lifecycle.${hook}`, value]);
    const id = await engine.run(name, reference, {
      Labels: Object.fromEntries(labels),
      StopTimeout: 1,
      HostConfig: { Binds: [`${name}-log:/log`] },
      ...config,
    });
    await pushImage(registry, repository, 'stable', webServer('v2', image));
    return (await engine.inspect(id))!;
  }

  async function expectUntouched(before: Inspected): Promise<void> {
    const after = await engine.inspect(before.Id);
    expect(after).toMatchObject({ Name: before.Name, State: { Status: 'running', StartedAt: before.State.StartedAt } });
    const { body } = await engine.call('GET', '/containers/json?all=1');
    expect((body as { Names: string[] }[]).flatMap(({ Names }) => Names)).not.toContain(`${before.Name}.upkeep-new`);
  }

  const linesIn = (stderr: string): readonly LogLine[] =>
    stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  const saidBy = (stderr: string, name: string) =>
    linesIn(stderr)
      .filter(({ msg, container }) => msg === 'Output of a lifecycle hook' && container === name)
      .map(({ line }) => line);

  test('are run at the four moments, before the update in the old container and after it in the new', async () => {
    const note = (moment: string) => `echo "${moment} in $APP_VERSION" | tee -a /log/moments`;
    const { Mounts } = await stale('web', {
      'pre-check': note('pre-check'),
      'pre-update': note('pre-update'),
      'post-update': note('post-update'),
      'post-check': note('post-check'),
    });
    const { run, outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({ outcome: 'updated', reason: '' });
    const moments = ['pre-check in v1', 'pre-update in v1', 'post-update in v2', 'post-check in v2'];
    expect(
      readFileSync(`${String(Mounts[0]?.['Source'])}/moments`, 'utf8')
        .trim()
        .split('\n'),
    ).toEqual(moments);
    expect(saidBy(run.stderr, 'web')).toEqual(moments);
  });

  test('are left alone without the option, and by a check', async () => {
    await stale('web', { 'pre-check': 'echo no', 'pre-update': 'exit 1', 'post-update': 'echo no' });
    const { check, update } = upkeepScene({
      socket: engine.socket,
      args: ['--log-format', 'json', '--log-level', 'debug'],
    });
    expect((await check())['web']).toMatchObject({ status: 'stale' });
    const { run, outcomes } = await update();
    expect(outcomes['web']).toMatchObject({ outcome: 'updated' });
    expect(saidBy(run.stderr, 'web')).toEqual([]);
    expect(run.stderr).toContain('are not run without --enable-lifecycle-hooks');
  });

  test('run as the user that label, option or container say; 0 is root', async () => {
    const who = { 'pre-check': 'echo $(id -u) $(id -g)' };
    await stale('own', who, { User: '1000:1000' });
    await stale('root', { ...who, uid: '0', gid: '0' }, { User: '1000' });
    await stale('group', { ...who, gid: '7' }, { User: '1000' });
    const plain = await upkeep.update();
    expect(saidBy(plain.run.stderr, 'own')).toEqual(['1000 1000']);
    expect(saidBy(plain.run.stderr, 'root')).toEqual(['0 0']);
    expect(saidBy(plain.run.stderr, 'group')).toEqual(['1000 7']);
    const byOption = await upkeep.update('--lifecycle-uid', '0', '--lifecycle-gid', '5');
    expect(saidBy(byOption.run.stderr, 'own')).toEqual(['0 5']);
    expect(saidBy(byOption.run.stderr, 'root')).toEqual(['0 0']);
  });

  test('a pre-update hook that ends with 75 puts the update off, which is no failure', async () => {
    const before = await stale('web', { 'pre-update': 'echo busy; exit 75' });
    const { run, outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({
      outcome: 'deferred',
      reason: 'the pre-update hook of "web" asks to wait (exit code 75)',
    });
    expect(run.code).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ summary: { updated: 0, failed: 0, skipped: 1 } });
    expect(saidBy(run.stderr, 'web')).toEqual(['busy']);
    await expectUntouched(before);
  });

  test('one that fails fails the update of its container and skips its dependents; others go on', async () => {
    const db = await stale('db', { 'pre-update': 'exit 3' });
    const web = await stale('web', {}, { Labels: { 'upkeep.depends-on': 'db' } });
    await stale('other', {});
    const { run, outcomes } = await upkeep.update();
    expect(outcomes['db']).toMatchObject({
      outcome: 'failed',
      reason: 'the pre-update hook of "db" ended with code 3',
    });
    expect(outcomes['web']).toMatchObject({ outcome: 'skipped' });
    expect(outcomes['other']).toMatchObject({ outcome: 'updated' });
    expect(run.code).toBe(1);
    await expectUntouched(db);
    await expectUntouched(web);
  });

  test('one that hangs, in any moment, is given up after its time', async () => {
    const hang = (moment: string) => ({ [moment]: 'echo started; sleep 1000', [`${moment}-timeout`]: '1s' });
    const before = await stale('before', { ...hang('pre-check'), ...hang('pre-update') });
    await stale('after', { ...hang('post-update'), ...hang('post-check') });
    const { run, outcomes } = await upkeep.update();
    const reason = expect.stringContaining('did not end within 1s');
    expect(outcomes['before']).toMatchObject({ outcome: 'failed', reason });
    expect(outcomes['after']).toMatchObject({ outcome: 'updated', reason });
    const warnings = linesIn(run.stderr).filter(({ level }) => level === 'warn');
    expect(warnings.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('The pre-check hook of "before" did not end within 1s'),
        expect.stringContaining('The post-check hook of "after" did not end within 1s'),
      ]),
    );
    expect(saidBy(run.stderr, 'before')).toEqual(['started', 'started']);
    await expectUntouched(before);
  });

  test('one without a limit is left when the run is interrupted', async () => {
    const before = await stale('web', { 'pre-update': 'sleep 1000', 'pre-update-timeout': '0' });
    const arguments_ = ['update', '--json', '--enable-lifecycle-hooks', '--log-format', 'json', '--log-level', 'debug'];
    const process = startUpkeep(arguments_, { socket: engine.socket });
    await process.seen('Running a lifecycle hook');
    process.child.kill('SIGINT');
    const run = await process.ended;
    expect(run.code).toBe(130);
    expect(JSON.parse(run.stdout)).toMatchObject({ containers: [{ outcome: 'deferred' }] });
    await expectUntouched(before);
  });

  test('a post-update hook that fails is a warning; the new version stays', async () => {
    const { Id } = await stale('web', { 'post-update': 'echo no luck >&2; exit 4' });
    const { run, outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({
      outcome: 'updated',
      reason: 'The post-update hook of "web" ended with code 4',
    });
    expect(run.code).toBe(0);
    expect(saidBy(run.stderr, 'web')).toEqual(['no luck']);
    expect(await engine.inspect(Id)).toBeUndefined();
  });

  test('in a container without a shell say so', async () => {
    const image = { Env: ['PATH=/nowhere'], Cmd: ['/bin/sleep', '1000000'] };
    const before = await stale('web', { 'pre-update': 'true' }, {}, image);
    const { outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(/ended with code 12[67]: the command, or the shell "sh"/),
    });
    await expectUntouched(before);
  });

  test('are told about their container, and nothing else; what they write is safe to read', async () => {
    const line = `printf '%s\\n' "$WT_CONTAINER"; env | grep -c hunter[2]; printf '\\033[31mred\\n'; # hunter3`;
    const { Id, Config } = await stale('web', { 'pre-check': line }, { Env: ['PASSWORD=hunter4'] });
    const { run } = await upkeep.update();
    const [described = '', found, red] = saidBy(run.stderr, 'web');
    expect(JSON.parse(described)).toEqual({
      name: 'web',
      id: Id,
      image_name: Config.Image,
      stop_signal: 'SIGTERM',
      labels: { 'upkeep.lifecycle.pre-check': line },
    });
    expect(found).toBe('0');
    expect(red).toBe(String.raw`\x1b[31mred`);
    const others = linesIn(run.stderr).filter(({ msg }) => msg !== 'Output of a lifecycle hook');
    expect(JSON.stringify(others) + run.stdout).not.toMatch(/hunter[234]/);
  });
});
