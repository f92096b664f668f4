import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openUnits } from './units.ts';

type Options = Parameters<typeof openUnits>[0];

/** With a program `systemctl` that writes its arguments down and answers with `shown`. */
function scene(more: Partial<Options> = {}, shown = '') {
  const folder = mkdtempSync(join(tmpdir(), 'units-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [socket, log, answer] = ['podman.sock', 'calls', 'shown'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(socket, '');
  writeFileSync(answer, shown);
  const program = `#!/bin/sh\nprintf '%s\\n' "$*" >>${log}\ncat ${answer}\n`;
  writeFileSync(join(folder, 'systemctl'), program, { mode: 0o755 });
  const environment = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: folder, XDG_RUNTIME_DIR: folder };
  const units = openUnits({
    isInContainer: false,
    socket,
    environment,
    stateFolder: folder,
    roots: undefined,
    ...more,
  });
  const calls = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { units, calls, folder };
}

const unit = (more: object = {}) =>
  Object.entries({
    ...{ LoadState: 'loaded', ActiveState: 'active', SubState: 'running', NeedDaemonReload: 'no' },
    SourcePath: '/etc/containers/systemd/nothing/web.container',
    FragmentPath: '/run/systemd/generator/web.service',
    ExecStart: '{ path=/bin/true ; argv[]=/bin/true ; ignore_errors=no ; }',
    ...more,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

test.each<[string, Partial<Options>, string]>([
  ['in a container', { isInContainer: true }, 'Upkeep runs in a container, from where it cannot reach systemd'],
  ['of an engine on another machine', { socket: undefined }, 'the engine is on another machine'],
  ['without a folder for its record', { stateFolder: undefined }, 'set --state-dir'],
  ['without the socket', { socket: '/nonexistent/podman.sock' }, 'cannot be seen'],
  ['without systemctl', { environment: { PATH: '/nonexistent' } }, 'the program systemctl is missing'],
])('a unit %s cannot be restarted, and the reason says so', async (_, options, words) => {
  const { units, calls } = scene(options);
  expect(await units.read('web.service')).toMatchObject({ kind: 'held', why: expect.stringContaining(words) });
  expect(await units.restart('web.service')).toMatchObject({ kind: 'refused' });
  expect(calls()).toEqual([]);
});

test.runIf(process.geteuid?.() === 0)('a Podman of another user has another systemd', async () => {
  const { chownSync } = await import('node:fs');
  const { units, folder, calls } = scene();
  chownSync(join(folder, 'podman.sock'), 1234, 1234);
  expect(await units.read('web.service')).toMatchObject({
    why: expect.stringContaining('the user 1234: run Upkeep as'),
  });
  expect(calls()).toEqual([]);
});

test.each([
  '--force',
  '-web.service',
  'a/../b.service',
  'web.service\nx',
  'web.socket',
  'a b.service',
  '*.service',
  '',
])('the name %j reaches no program', async (name) => {
  const { units, calls } = scene();
  expect(await units.read(name)).toMatchObject({ kind: 'held' });
  expect(await units.activeState(name)).toBeUndefined();
  expect(await units.restart(name)).toMatchObject({ kind: 'refused' });
  expect(calls()).toEqual([]);
});

test('a name comes after --, without a shell and a password', async () => {
  const { units, calls } = scene({}, unit());
  await units.restart('web@$(x).service').catch(() => undefined);
  expect(await units.restart('web@1.service')).toEqual({ kind: 'done' });
  const scope = process.geteuid?.() === 0 ? '--system' : '--user';
  expect(calls()).toEqual([
    `${scope} --no-pager --no-ask-password reset-failed -- web@1.service`,
    `${scope} --no-pager --no-ask-password restart -- web@1.service`,
  ]);
});

test.each<[string, string, string]>([
  ['that does not exist', unit({ LoadState: 'not-found', SourcePath: '', FragmentPath: '' }), 'does not have it'],
  ['that a person wrote', unit({ FragmentPath: '/etc/systemd/system/web.service' }), 'not made from a .container file'],
  ['that names no file', unit({ SourcePath: '' }), 'not made from a .container file'],
  ['of another kind', unit({ SourcePath: '/etc/containers/systemd/web.kube' }), 'not made from a .container file'],
  ['with a path that leads away', unit({ SourcePath: '/etc/containers/systemd/../web.container' }), 'not made from'],
  ['of another folder', unit({ SourcePath: '/home/mallory/web.container' }), 'in none of the folders of Podman'],
  [
    'with two files',
    `${unit()}SourcePath=/etc/containers/systemd/other.container\n`,
    'not made from a .container file',
  ],
])('a unit %s is none of Quadlet', async (_, shown, words) => {
  const { units } = scene({}, shown);
  expect(await units.read('web.service')).toMatchObject({ kind: 'held', why: expect.stringContaining(words) });
});

test.runIf(process.geteuid?.() === 0)(
  'a unit whose file is gone is held; one of the users of the machine is not of root',
  async () => {
    const gone = scene({}, unit());
    expect(await gone.units.read('web.service')).toMatchObject({
      why: expect.stringContaining('its file cannot be read'),
    });
    const ofUsers = scene({}, unit({ SourcePath: '/etc/containers/systemd/users/1000/web.container' }));
    expect(await ofUsers.units.read('web.service')).toMatchObject({
      why: expect.stringContaining('in none of the folders'),
    });
  },
);
