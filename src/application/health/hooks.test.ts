import type { UpdateRequest, Session } from '../../domain/run/session.ts';
import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour, CommandBehaviour } from '../../../sandbox/base/behaviour.ts';
import type { Log, LogFields } from '../../domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const full: UpdateRequest = { trigger: 'command', images: [], containers: [] };

/** Results of command lines in every container's shell. */
const commands: Readonly<Record<string, CommandBehaviour>> = {
  good: { output: 'all is well\n' },
  slow: { tookMs: 50_000 },
  later: { exitCode: 75 },
  bad: { exitCode: 3, output: 'one\n\u001b[31mtwo\n' },
  hangs: { hangs: true, output: 'waiting\n' },
  'dump -p hunter2': { exitCode: 4 },
};

type Hooks = Readonly<Record<string, string>>;

/** A container on the first release of its image; the second is published. */
async function stale(scene: SandboxScene, name: string, hooks: Hooks, body: object = {}, behaviour: Behaviour = {}) {
  const image = `${name}:1`;
  scene.registry.store.publish(image, { version: '1', behaviour: { commands, ...behaviour } });
  await scene.sandbox.engine.pullImage({ reference: image });
  const labels = Object.entries(hooks).map(([hook, command]) => [`upkeep.lifecycle.${hook}`, command]);
  const id = scene.sandbox.control.runContainer(name, { Image: image, Labels: Object.fromEntries(labels), ...body });
  scene.registry.store.publish(image, { version: '2', behaviour: { commands } });
  return id;
}

type LogLine = { readonly level: string; readonly message: string; readonly fields: LogFields };

function service(scene: SandboxScene, settings: Partial<ServiceSettings> = {}) {
  const { outside, connection, complaints } = scene.startProcess();
  const lines: LogLine[] = [];
  const write =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const chosen = { ...defaultSettings, healthWindowMs: 1000, lifecycleHooks: true, ...settings };
  const application = createApplication({ ...outside, log }, chosen);
  return { application, connection, lines, complaints };
}

const outcomes = ({ containers }: Session) =>
  Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]));
const reasonOf = ({ containers }: Session, name: string) => containers.find((one) => one.name === name)?.reason;
const ran = ({ sandbox }: SandboxScene) =>
  sandbox.control.executions.map(({ container, command }) => `${container}: ${command[2] ?? ''}`);
const warnings = (lines: readonly LogLine[]) =>
  lines.filter(({ level }) => level === 'warn').map(({ message }) => message);

describe('hooks of a run', () => {
  test('come before and after it, in each of the four moments, each in the right container', async () => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', {
      'pre-check': 'good',
      'pre-update': 'slow',
      'post-update': 'good',
      'post-check': 'bad',
    });
    const { application, connection, lines } = service(scene);
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ web: 'updated' });
    expect(reasonOf(session, 'web')).toBe('');
    const successor = (await scene.sandbox.engine.inspectContainer('web'))?.id;
    expect(scene.sandbox.control.executions.map(({ containerId }) => containerId)).toEqual([
      id,
      id,
      successor,
      successor,
    ]);
    expect(connection.calls.map(({ kind }) => kind).filter((kind) => kind !== 'tagImage')).toEqual([
      'runCommand',
      'pullImage',
      'createContainer',
      'runCommand',
      'renameContainer',
      'renameContainer',
      'stopContainer',
      'startContainer',
      'runCommand',
      'renameContainer',
      'removeImage',
      'removeContainer',
      'runCommand',
    ]);
    expect(warnings(lines)).toEqual(['The post-check hook of "web" ended with code 3']);
  });

  test('are not run unless they are wanted, and the log says so to those who look closely', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-check': 'good', 'pre-update': 'bad', 'post-update': 'bad', 'post-check': 'bad' });
    const { application, lines } = service(scene, { lifecycleHooks: false });
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
    expect(ran(scene)).toEqual([]);
    expect(lines).toContainEqual({
      level: 'debug',
      message: 'The lifecycle hooks of a container are not run without --enable-lifecycle-hooks',
      fields: { container: 'web' },
    });
    expect(warnings(lines)).toEqual([]);
  });

  test('are not run by a check or a plan, which change nothing', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-check': 'good', 'pre-update': 'good', 'post-check': 'good' });
    const { application } = service(scene);
    await application.check({ images: [], containers: [] });
    await application.plan({ images: [], containers: [] });
    expect(ran(scene)).toEqual([]);
  });

  test('are run in what is only watched too, but not in what is stopped or not named', async () => {
    const scene = createSandboxScene();
    const hooks = { 'pre-check': 'good', 'post-check': 'good', 'pre-update': 'good' };
    await stale(scene, 'monitored', hooks, {
      Labels: { 'upkeep.lifecycle.pre-check': 'good', 'upkeep.monitor-only': 'true' },
    });
    await stale(scene, 'stopped', hooks);
    await stale(scene, 'other', hooks);
    await scene.sandbox.control.stopContainer('stopped');
    const { application, lines } = service(scene, { includeStopped: true });
    const session = await application.update({ ...full, containers: ['monitored', 'stopped'] });
    expect(warnings(lines)).toEqual([]);
    expect(outcomes(session)).toEqual({ monitored: 'skipped', stopped: 'updated' });
    expect(ran(scene)).toEqual(['monitored: good']);
  });

  test('log what they write, line by line, safe to print, and never their command', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-check': 'bad' });
    const { application, lines } = service(scene);
    await application.update(full);
    const about = { container: 'web', hook: 'pre-check' };
    expect(lines.filter(({ message }) => message === 'Output of a lifecycle hook')).toEqual([
      { level: 'info', message: 'Output of a lifecycle hook', fields: { ...about, line: 'one' } },
      { level: 'info', message: 'Output of a lifecycle hook', fields: { ...about, line: String.raw`\x1b[31mtwo` } },
    ]);
    await scene.sandbox.engine.removeContainer('web');
    await stale(scene, 'app', { 'pre-check': 'dump -p hunter2', 'pre-update': 'dump -p hunter2' });
    const second = service(scene);
    const session = await second.application.update(full);
    expect(outcomes(session)).toEqual({ app: 'failed' });
    expect(ran(scene)).toContain('app: dump -p hunter2');
    expect(JSON.stringify([session, second.lines])).not.toContain('hunter2');
  });

  test('one that hangs is left after its time; the others are run meanwhile, and the run goes on', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb', 'cc']) await stale(scene, name, { 'pre-check': name === 'cc' ? 'good' : 'hangs' });
    const { application, lines } = service(scene);
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ aa: 'updated', bb: 'updated', cc: 'updated' });
    expect(warnings(lines).toSorted()).toEqual([
      'The pre-check hook of "aa" did not end within 1m; it cannot be stopped and may still run',
      'The pre-check hook of "bb" did not end within 1m; it cannot be stopped and may still run',
    ]);
    expect(session.durationMs).toBeLessThan(80_000);
    expect(lines).toContainEqual({
      level: 'info',
      message: 'Output of a lifecycle hook',
      fields: { container: 'bb', hook: 'pre-check', line: 'waiting' },
    });
  });

  test('say so where there is no shell', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-check': 'good' }, {}, { shellless: true });
    const { application, lines } = service(scene);
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
    expect(warnings(lines)).toEqual([
      'The pre-check hook of "web" ended with code 126: the command, or the shell "sh", is missing or cannot be run',
    ]);
  });

  test('stop with the run that is cancelled', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-check': 'hangs', 'pre-check-timeout': '0', 'post-check': 'good' });
    const { application } = service(scene);
    const abort = new AbortController();
    const updating = application.update(full, abort.signal);
    await scene.clock.sleep(1_800_000);
    abort.abort();
    expect(outcomes(await updating)).toEqual({ web: 'unknown' });
    expect(ran(scene)).toEqual(['web: hangs']);
  });

  test('after a run that fails are run all the same', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-check': 'good', 'post-check': 'good' });
    const { outside } = scene.startProcess();
    const engine = { ...outside.engine, listNetworks: () => Promise.reject(new Error('a bug')) };
    const application = createApplication({ ...outside, engine }, { ...defaultSettings, lifecycleHooks: true });
    await application.update(full);
    expect(ran(scene)).toEqual(['web: good', 'web: good']);
  });
});

describe('the pre-update hook', () => {
  const untouched = async (scene: SandboxScene, id: string) => {
    const { containers } = scene.sandbox.control.snapshot();
    expect(Object.keys(containers)).toHaveLength(1);
    expect(await scene.sandbox.engine.inspectContainer('web')).toMatchObject({
      id,
      name: 'web',
      state: { status: 'running' },
    });
  };

  test.each([
    ['later', 'deferred', 'the pre-update hook of "web" asks to wait (exit code 75)'],
    ['bad', 'failed', 'the pre-update hook of "web" ended with code 3'],
    ['hangs', 'failed', 'the pre-update hook of "web" did not end within 1m; it cannot be stopped and may still run'],
    ['nothing', 'failed', expect.stringContaining('ended with code 127: the command, or the shell "sh"')],
  ])('that says %j: the update is %s, and nothing was touched', async (command, outcome, reason) => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', { 'pre-update': command });
    const { application, connection } = service(scene);
    const ends: string[] = [];
    application.subscribe(({ kind }) => void ends.push(kind));
    const session = await application.update(full);
    expect(session.containers).toMatchObject([{ name: 'web', outcome, reason }]);
    expect(ends).toContain(`update_${outcome}`);
    await untouched(scene, id);
    const kinds = connection.calls.map(({ kind }) => kind);
    expect(kinds).not.toContain('stopContainer');
    expect(kinds).not.toContain('renameContainer');
    expect(connection.calls.findLast(({ kind }) => kind === 'tagImage')).toMatchObject({ target: 'web:1' });
    expect((await scene.sandbox.engine.inspectImage('web:1'))?.id).toBe(session.containers[0]?.oldImageId);
  });

  test('fails when its label is too long to be read', async () => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', { 'pre-update': `good ${'x'.repeat(40_000)}` });
    const reason = 'the pre-update hook of "web" could not be run: its label is too long';
    const { containers } = await service(scene).application.update(full);
    expect(containers).toMatchObject([{ name: 'web', outcome: 'failed', reason }]);
    await untouched(scene, id);
    expect(ran(scene)).toEqual([]);
  });

  test('puts off also the update of a container that the engine removes when it stops', async () => {
    const scene = createSandboxScene();
    const host = { HostConfig: { AutoRemove: true } };
    const id = await stale(scene, 'web', { 'pre-update': 'later' }, host);
    expect(outcomes(await service(scene, { updateAutoRemove: true }).application.update(full))).toEqual({
      web: 'deferred',
    });
    await untouched(scene, id);
    await scene.sandbox.engine.removeContainer('web');
    await stale(scene, 'app', { 'pre-update': 'good', 'post-update': 'good' }, host);
    expect(outcomes(await service(scene, { updateAutoRemove: true }).application.update(full))).toEqual({
      app: 'updated',
    });
    expect(ran(scene)).toEqual(['web: later', 'app: good', 'app: good']);
  });

  test('is not run by a rehearsal', async () => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', { 'pre-update': 'bad' });
    await service(scene).application.rehearse({ images: [], containers: [] });
    expect(ran(scene)).toEqual([]);
    await untouched(scene, id);
  });

  test('is asked again by the next run', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-update': 'later' });
    const { application } = service(scene);
    await application.update(full);
    expect(outcomes(await application.update(full))).toEqual({ web: 'deferred' });
    expect(ran(scene)).toEqual(['web: later', 'web: later']);
  });

  test('stops what depends on the container, and nothing else', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'db', { 'pre-update': 'bad' });
    await stale(scene, 'web', {}, { Labels: { 'upkeep.depends-on': 'db' } });
    await stale(scene, 'other', {});
    const session = await service(scene).application.update(full);
    expect(outcomes(session)).toEqual({ db: 'failed', web: 'skipped', other: 'updated' });
    expect(reasonOf(session, 'web')).toBe('It depends on "db", which was not updated');
  });

  test('of one member puts off a whole group; the others are asked first, and nobody is stopped', async () => {
    const scene = createSandboxScene();
    const vpn = await stale(scene, 'vpn', { 'pre-update': 'later' });
    await stale(scene, 'app', { 'pre-update': 'good' }, { HostConfig: { NetworkMode: `container:${vpn}` } });
    const before = scene.sandbox.control.snapshot();
    const { application, connection } = service(scene);
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ vpn: 'deferred', app: 'deferred' });
    expect(reasonOf(session, 'app')).toBe('the pre-update hook of "vpn" asks to wait (exit code 75)');
    expect(ran(scene)).toEqual(['app: good', 'vpn: later']);
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    expect(scene.sandbox.control.snapshot().containers).toEqual(before.containers);
  });

  test('of every member of a group comes before anything of it is touched', async () => {
    const scene = createSandboxScene();
    const vpn = await stale(scene, 'vpn', { 'pre-update': 'good', 'post-update': 'good' });
    const host = { HostConfig: { NetworkMode: `container:${vpn}` } };
    await stale(scene, 'app', { 'pre-update': 'slow', 'post-update': 'slow' }, host);
    const { application, connection } = service(scene);
    expect(outcomes(await application.update(full))).toEqual({ vpn: 'updated', app: 'updated' });
    const kinds = connection.calls.map(({ kind }) => kind);
    expect(kinds.indexOf('renameContainer')).toBeGreaterThan(kinds.indexOf('runCommand') + 1);
    expect(ran(scene)).toEqual(['app: slow', 'vpn: good', 'vpn: good', 'app: slow']);
  });

  test('is not run in a container that does not run', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-update': 'bad', 'post-update': 'bad' });
    await scene.sandbox.control.stopContainer('web');
    const { application } = service(scene, { includeStopped: true });
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
    expect(ran(scene)).toEqual([]);
  });

  test('ends with the run that is cancelled meanwhile', async () => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', { 'pre-update': 'hangs', 'pre-update-timeout': '0' });
    const { application } = service(scene);
    const abort = new AbortController();
    const updating = application.update(full, abort.signal);
    await scene.clock.sleep(1_800_000);
    abort.abort();
    expect((await updating).containers).toMatchObject([{ outcome: 'deferred', reason: 'the run was cancelled' }]);
    await untouched(scene, id);
  });

  test('is not run again when the engine loses its answer: the update fails', async () => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', { 'pre-update': 'good' });
    const { application, connection } = service(scene);
    connection.plan({ at: 'runCommand', fault: { kind: 'lose-answer' } });
    const session = await application.update(full);
    expect(session.containers).toMatchObject([
      {
        outcome: 'failed',
        reason: expect.stringContaining('the pre-update hook of "web" may or may not have been run'),
      },
    ]);
    expect(ran(scene)).toEqual(['web: good']);
    await untouched(scene, id);
  });
});

describe('the post-update hook', () => {
  test.each([
    ['bad', 'The post-update hook of "web" ended with code 3'],
    ['later', 'The post-update hook of "web" asks to wait (exit code 75)'],
    ['hangs', 'The post-update hook of "web" did not end within 1m; it cannot be stopped and may still run'],
  ])('that says %j is a warning: the new version stays', async (command, warning) => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'post-update': command });
    const { application, lines } = service(scene);
    const session = await application.update(full);
    expect(session.containers).toMatchObject([{ outcome: 'updated', reason: warning }]);
    expect(warnings(lines)).toEqual([warning]);
    expect(Object.keys(scene.sandbox.control.snapshot().containers)).toEqual(['web']);
  });

  test('comes only once the new version has proved itself', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'post-update': 'good' });
    scene.registry.store.publish('web:1', { version: '3', behaviour: { exitsAfterMs: 100, exitCode: 1 } });
    expect(outcomes(await service(scene).application.update(full))).toEqual({ web: 'rolled_back' });
    expect(ran(scene)).toEqual([]);
  });

  test('is run although the run was cancelled meanwhile', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'post-update': 'slow' });
    const { application } = service(scene, { healthWindowMs: 60_000 });
    const abort = new AbortController();
    const updating = application.update(full, abort.signal);
    await scene.clock.sleep(30_000);
    abort.abort();
    expect((await updating).containers).toMatchObject([{ outcome: 'updated', reason: '' }]);
    expect(ran(scene)).toEqual(['web: slow']);
  });

  test.each([
    ['slow', 30_000, '1m', ['web: slow'], 2000],
    ['slow', 1_030_000, '30m', ['web: slow'], 2000],
    ['good', 30_000, '1m', ['web: good'], 0],
  ])(
    'is begun and left 2 s after the process was asked to end: %s, in a window of %d ms',
    async (command, atMs, limit, begun, tookMs) => {
      const scene = createSandboxScene();
      await stale(scene, 'web', { 'post-update': command, 'post-update-timeout': limit });
      const ending = new AbortController();
      const { outside } = scene.startProcess();
      const chosen = { ...defaultSettings, healthWindowMs: atMs, lifecycleHooks: true };
      const application = createApplication({ ...outside, ending: ending.signal }, chosen);
      const updating = application.update(full, ending.signal);
      await scene.clock.sleep(atMs - 500);
      ending.abort();
      const askedAtMs = scene.clock.monotonicMs();
      const reason = tookMs === 0 ? '' : 'The post-update hook of "web" was not waited for: the run was cancelled';
      expect((await updating).containers).toMatchObject([{ outcome: 'updated', reason }]);
      expect(ran(scene)).toEqual(begun);
      expect(scene.clock.monotonicMs() - askedAtMs).toBeLessThan(8000);
      expect(await application.recover()).toEqual({ transactions: [] });
    },
  );

  test('without a limit of its own ends with the run', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'post-update': 'hangs', 'post-update-timeout': '0' });
    const { application } = service(scene);
    const abort = new AbortController();
    const updating = application.update(full, abort.signal);
    await scene.clock.sleep(1_800_000);
    abort.abort();
    const reason = 'The post-update hook of "web" was not waited for: the run was cancelled';
    expect((await updating).containers).toMatchObject([{ outcome: 'updated', reason }]);
  });

  test('is run by the start that finds an update interrupted before it, and perhaps a second time', async () => {
    const scene = createSandboxScene();
    await stale(scene, 'web', { 'pre-update': 'good', 'post-update': 'slow' });
    const killed = scene.sandbox.connect();
    const first = scene.startProcess(killed);
    killed.plan({
      at: ({ kind, detail }) => kind === 'runCommand' && detail.endsWith('slow'),
      fault: { kind: 'crash', when: 'during' },
    });
    const chosen = { ...defaultSettings, healthWindowMs: 1000, lifecycleHooks: true };
    await createApplication(first.outside, chosen)
      .update(full)
      .catch(() => undefined);
    expect(ran(scene)).toEqual(['web: good', 'web: slow']);
    const { application } = service(scene);
    expect(await application.recover()).toMatchObject({ transactions: [{ result: 'finished' }] });
    expect(ran(scene)).toEqual(['web: good', 'web: slow', 'web: slow']);
    expect((await scene.sandbox.engine.inspectContainer('web'))?.state.status).toBe('running');
    expect(await application.recover()).toEqual({ transactions: [] });
    expect(ran(scene)).toHaveLength(3);
  });

  test('a pre-update hook is not run again by the start that finds its update interrupted: that is undone', async () => {
    const scene = createSandboxScene();
    const id = await stale(scene, 'web', { 'pre-update': 'good', 'post-update': 'good' });
    const killed = scene.sandbox.connect();
    const first = scene.startProcess(killed);
    killed.plan({ at: 'runCommand', fault: { kind: 'crash', when: 'during' } });
    await createApplication(first.outside, { ...defaultSettings, lifecycleHooks: true })
      .update(full)
      .catch(() => undefined);
    expect(await service(scene).application.recover()).toMatchObject({ transactions: [{ result: 'undone' }] });
    expect(ran(scene)).toEqual(['web: good']);
    expect(await scene.sandbox.engine.inspectContainer('web')).toMatchObject({ id, state: { status: 'running' } });
  });
});
