import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { createFaultProxy } from '../lab/proxy/fault-proxy.ts';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import type { ImageSpec } from '../lab/registry/image.ts';
import { pushImage } from '../lab/registry/push.ts';
import { skipBecause } from '../lab/skip-because.ts';
import { hasQuadlet, type QuadletScene, startQuadlet } from '../support/scene/quadlet-scene.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

const killer = fileURLToPath(new URL('../faults/rig/file-killer.mjs', import.meta.url));

type Told = { readonly name: string; readonly outcome: string; readonly reason: string };

/** As its unit has it: `Label=`, so that a higher tag is chosen. */
const majors = 'Label=upkeep.policy=major\n';

describeInLab('a container that Quadlet runs', (lab) => {
  const { engine, registry } = lab;
  let quadlet: QuadletScene;
  let state = '';
  let repository = '';
  let tests = 0;

  beforeAll(async () => {
    if (hasQuadlet()) quadlet = await startQuadlet(lab);
  });
  beforeEach((context) => {
    if (!hasQuadlet()) skipBecause(context, 'it needs Podman 5.4 and systemd: LAB_ENGINE=podman-5.4');
    state = mkdtempSync(join(lab.dir, 'state-'));
    repository = `quadlet/web${(tests += 1)}`;
  });
  afterEach(async () => {
    if (!hasQuadlet()) return;
    quadlet.clear();
    await engine.clear();
  });
  afterAll(async () => hasQuadlet() && (await quadlet.remove()));

  const image = (tag = 'stable') => `${registry.host}/${repository}:${tag}`;
  const push = (spec: ImageSpec, tag = 'stable') => pushImage(registry, repository, tag, spec);
  const textOf = (name: string) => readFileSync(quadlet.fileOf(name), 'utf8');
  const writing = () => ['--compose-files', 'write', '--compose-roots', quadlet.folder];
  const isActive = (name: string) => quadlet.systemctl('show', '--property=ActiveState', `${name}.service`);

  async function upkeep(args: readonly string[], more: Parameters<typeof runUpkeep>[1] = {}) {
    const window = ['--health-window', '500ms', '--state-dir', state];
    const run = await runUpkeep([...args, ...window], {
      socket: engine.socket,
      ...more,
      env: { PATH: quadlet.path, ...more.env },
    });
    return run;
  }

  /** The only container of a run. */
  async function update(...args: readonly string[]): Promise<Told> {
    const run = await upkeep(['update', '--json', ...args]);
    const { containers } = JSON.parse(run.stdout) as { containers: readonly Told[] };
    const [only] = containers;
    if (only === undefined) throw new Error(run.stdout + run.stderr);
    return only;
  }

  async function inspect(name: string) {
    const container = await engine.inspect(name);
    if (container === undefined) throw new Error(`There is no container "${name}"`);
    return container;
  }

  async function ownTags(): Promise<readonly string[]> {
    const { body } = await engine.call('GET', '/images/json?all=1');
    const tags = (body as { readonly RepoTags: readonly string[] | null }[]).flatMap(({ RepoTags }) => RepoTags ?? []);
    return tags.filter((tag) => tag.includes('upkeep-open:unit-'));
  }

  async function idBehind(reference: string): Promise<string> {
    const { body } = await engine.call('GET', `/images/${encodeURIComponent(reference)}/json`);
    return (body as { readonly Id: string }).Id;
  }

  async function started(name: string, old: ImageSpec = catalogue['plain-v1'], more = '', tag = 'stable') {
    await push(old, tag);
    quadlet.start(name, image(tag), more);
    return inspect(name);
  }

  test('gets a newer image behind its tag by a restart of its unit; nothing else changes', async () => {
    const before = await started('web', catalogue['plain-v1'], 'Environment=MINE=1\nVolume=web-data:/data');
    const text = textOf('web');
    await push(catalogue['plain-v2']);
    const plan = await upkeep(['update', '--dry-run']);
    expect(plan.stdout).toContain('by a restart of its unit web.service');
    expect(await update()).toMatchObject({ outcome: 'updated', reason: '' });
    const after = await inspect('web');
    expect(after.Id).not.toBe(before.Id);
    expect(after.Image).not.toBe(before.Image);
    expect(after.Config.Env).toEqual(expect.arrayContaining(['MINE=1', 'APP_VERSION=v2']));
    expect(after.State.Running).toBe(true);
    expect(textOf('web')).toBe(text);
    expect(isActive('web')).toBe('ActiveState=active');
    expect(await ownTags()).toEqual([]);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
    expect((await inspect('web')).Id).toBe(after.Id);
  });

  test.each<[string, ImageSpec]>([
    ['ends at once', catalogue.crash],
    ['cannot start', catalogue.unstartable],
    ['ends soon, and systemd starts it again and again', catalogue.crash],
  ])('a version that %s: the old one is back, and the bad one is not tried again', async (words, spec) => {
    const more = words.includes('again') ? '[Service]\nRestart=always\nRestartSec=100ms' : '';
    const before = await started('web', catalogue['plain-v1'], more);
    await push(spec);
    const told = await update();
    expect(told.outcome, told.reason).toBe('rolled_back');
    const after = await inspect('web');
    expect([after.Image, after.State.Running]).toEqual([before.Image, true]);
    expect(`sha256:${(await idBehind(image())).replace('sha256:', '')}`).toBe(
      before.Image.replace(/^(?!sha256:)/, 'sha256:'),
    );
    expect(isActive('web')).toBe('ActiveState=active');
    const again = await update();
    expect(again.outcome).toBe('skipped');
    expect((await inspect('web')).Id).toBe(after.Id);
  });

  test('a version that is never healthy: the old one is back', async () => {
    const before = await started('web', catalogue.v1);
    await push(catalogue.sick);
    const told = await update('--health-timeout', '3s');
    expect(told.outcome, told.reason).toBe('rolled_back');
    expect(told.reason).toContain('sick');
    expect((await inspect('web')).Image).toBe(before.Image);
  });

  test('its name, Restart= and a link to its file change nothing about that', async () => {
    await push(catalogue['plain-v1']);
    const more = 'ContainerName=shop.web\nAutoUpdate=registry\n[Service]\nRestart=always\n';
    quadlet.start('web', image(), more);
    const real = join(state, 'mine.container');
    writeFileSync(real, textOf('web'));
    rmSync(quadlet.fileOf('web'));
    symlinkSync(real, quadlet.fileOf('web'));
    quadlet.systemctl('daemon-reload');
    const before = await inspect('shop.web');
    await push(catalogue['plain-v2']);
    const told = await update();
    expect(told.outcome, told.reason).toBe('updated');
    expect((await inspect('shop.web')).Image).not.toBe(before.Image);
    expect(isActive('web')).toBe('ActiveState=active');
  });

  describe('to another tag', () => {
    const versions = async (next: ImageSpec = webServer('2.0.0')) => {
      const before = await started('web', webServer('1.0.0'), `${majors}# the tag 1.0.0\n`, '1.0.0');
      await push(next, '2.0.0');
      return before;
    };

    test('its file gets the tag, and no other byte', async () => {
      await versions();
      const text = textOf('web');
      expect(await update(...writing())).toMatchObject({ outcome: 'updated' });
      expect(textOf('web')).toBe(text.replace(image('1.0.0'), image('2.0.0')));
      expect((await inspect('web')).Config.Image).toBe(image('2.0.0'));
      expect(isActive('web')).toBe('ActiveState=active');
      expect(await update(...writing())).toMatchObject({ outcome: 'fresh' });
    });

    test('a bad version is taken back with its file', async () => {
      const before = await versions(catalogue.crash);
      const text = textOf('web');
      expect(await update(...writing())).toMatchObject({ outcome: 'rolled_back' });
      expect(textOf('web')).toBe(text);
      expect((await inspect('web')).Image).toBe(before.Image);
      expect(isActive('web')).toBe('ActiveState=active');
    });

    test('what a person writes beside the tag meanwhile stays', async () => {
      await versions(catalogue.crash);
      const text = textOf('web');
      quadlet.at('before', 'restart', `echo '# mine' >>${quadlet.fileOf('web')}`);
      expect(await update(...writing())).toMatchObject({ outcome: 'rolled_back' });
      expect(textOf('web')).toBe(`${text}# mine\n`);
    });

    test('a file that names another image by then is left alone, and so is its container', async () => {
      const before = await versions();
      const socketPath = join(lab.dir, 'q-edit.sock');
      const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
      onTestFinished(() => proxy.close());
      // The mark of the old image is set right before the file is written.
      const edit = ({ change, path }: { readonly change?: number | undefined; readonly path: string }) => {
        if (change !== undefined && path.includes('/tag?'))
          writeFileSync(quadlet.fileOf('web'), textOf('web').replace(':1.0.0', ':1.5.0'));
        return false;
      };
      proxy.arm({ at: edit, fault: { kind: 'reset', when: 'before' } });
      const run = await upkeep(['update', '--json', ...writing()], { socket: socketPath });
      const [told] = (JSON.parse(run.stdout) as { readonly containers: readonly Told[] }).containers;
      expect(told).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('names another image') });
      expect((await inspect('web')).Id).toBe(before.Id);
      expect(textOf('web')).toContain(':1.5.0');
      expect(await ownTags()).toEqual([]);
    });

    test('without leave to write its file it is held, with what to write', async () => {
      const before = await versions();
      const told = await update();
      expect(told).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('--compose-files write') });
      expect(told.reason).toContain(image('2.0.0'));
      expect((await inspect('web')).Id).toBe(before.Id);
    });
  });

  test('a restart that systemd refuses changes nothing, and is no fault of the version', async () => {
    const before = await started('web');
    await push(catalogue['plain-v2']);
    quadlet.at('instead', 'restart', 'echo "Refused by the test." >&2; exit 1');
    expect(await update()).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('Refused by the test.'),
    });
    const after = await inspect('web');
    expect([after.Id, after.State.StartedAt]).toEqual([before.Id, before.State.StartedAt]);
    expect(await idBehind(image())).toBe(await idBehind(before.Image));
    expect(await update()).toMatchObject({ outcome: 'updated' });
  });

  test.each<[string, string, (name: string) => void]>([
    [
      'a drop-in that names an image',
      'drop-in',
      (name) => {
        quadlet.systemctl('show', '--property=Version');
        writeDropIn(name, `[Container]\nImage=${image()}\n`);
      },
    ],
    ['a file that systemd has not read', 'daemon-reload', (name) => touchLater(name)],
    ['a file that others may write', 'others may write', (name) => chmodSync(quadlet.fileOf(name), 0o666)],
  ])('%s: held', async (_, words, change) => {
    const before = await started('web');
    await push(catalogue['plain-v2']);
    change('web');
    const told = await update();
    expect(told).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining(words) });
    expect((await inspect('web')).Id).toBe(before.Id);
  });

  test.each([
    ['Pull=newer', 'Pull='],
    ['PodmanArgs=--pull=always', 'Pull='],
  ])('%s: held, because nothing could bring the old version back', async (line, words) => {
    const before = await started('web', catalogue['plain-v1'], line);
    await push(catalogue['plain-v2']);
    expect(await update()).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining(words) });
    expect((await inspect('web')).Id).toBe(before.Id);
  });

  test('without a folder for its record, without systemctl, or with a forged unit, it is held with that reason', async () => {
    const before = await started('web');
    await push(catalogue['plain-v2']);
    const reasonOf = async (args: readonly string[], PATH: string) => {
      const run = await runUpkeep(['update', '--json', ...args], { socket: engine.socket, env: { PATH } });
      return (JSON.parse(run.stdout) as { containers: readonly Told[] }).containers.map(({ reason }) => reason).join();
    };
    expect(await reasonOf([], quadlet.path)).toContain('set --state-dir');
    expect(await reasonOf(['--state-dir', state], '/nonexistent')).toContain('systemctl is missing');
    for (const unit of ['dbus.service', '../web.service', '--force.service', 'nothing.service']) {
      await engine.run('forged', image(), { Labels: { PODMAN_SYSTEMD_UNIT: unit } }).catch(() => undefined);
      const told = await reasonOf(['forged', '--state-dir', state], quadlet.path);
      expect(told).toMatch(/cannot restart that unit|is up to date|^$/);
      await engine.call('DELETE', '/containers/forged?force=1');
    }
    expect((await inspect('web')).Id).toBe(before.Id);
  });

  /** After a kill: the next start makes file, tag, unit and container agree, and the update can go on. */
  async function isWhole(about: string, before: string, tags: readonly [string, string]): Promise<void> {
    const repaired = await upkeep(['recover', ...writing()]);
    expect(repaired.code, `${about}: ${repaired.stdout}${repaired.stderr}`).toBe(0);
    const now = await inspect('unit');
    expect(now.State.Running, about).toBe(true);
    expect(isActive('unit'), about).toBe('ActiveState=active');
    expect(await ownTags(), about).toEqual([]);
    const [, tag = ''] = /Image=\S+:(\S+)/.exec(textOf('unit')) ?? [];
    expect(tags, about).toContain(tag);
    expect(now.Config.Image, about).toBe(image(tag));
    expect(now.Image === before, about).toBe(tag === tags[0]);
    // A restart by systemd would change nothing.
    expect(await idBehind(image(tag)), about).toBe(await idBehind(now.Image));
  }

  async function killedAt(kill: () => Promise<{ readonly isDone: boolean; readonly about: string }>): Promise<boolean> {
    const { Image } = await inspect('unit');
    const [, number = '0'] = /Image=\S+:(\d+)/.exec(textOf('unit')) ?? [];
    const tags = [`${number}.0.0`, `${Number(number) + 1}.0.0`] as const;
    await push(webServer(tags[1]), tags[1]);
    const { isDone, about } = await kill();
    await isWhole(about, Image, tags);
    if (!textOf('unit').includes(`:${tags[1]}`))
      expect(await update(...writing()), about).toMatchObject({ outcome: 'updated' });
    return isDone;
  }

  test('set-up Quadlet: killed before, in the middle of or after each change of its file and of the record', async () => {
    await started('unit', webServer('1.0.0'), majors, '1.0.0');
    let kills = 0;
    for (const when of ['before', 'torn', 'after'])
      for (let at = 1; ; at += 1) {
        const isDone = await killedAt(async () => {
          const { code } = await upkeep(['update', ...writing()], {
            nodeOptions: ['--import', killer],
            env: { KILL_AT: String(at), KILL_WHEN: when, KILL_IN: 'unit' },
          });
          return { isDone: code === 0, about: `${when} change ${at}` };
        });
        if (isDone) break;
        kills += 1;
      }
    expect(kills).toBeGreaterThan(12);
  });

  test('killed before and after each call of systemctl, and while its unit restarts', async () => {
    await started('unit', webServer('1.0.0'), majors, '1.0.0');
    const soon = (seconds: number) => `(sleep ${seconds}; kill -9 $upkeep) >/dev/null 2>&1 &`;
    for (const [when, verb, command] of [
      ['before', 'daemon-reload', 'kill -9 $upkeep'],
      ['after', 'daemon-reload', 'kill -9 $upkeep'],
      ['before', 'reset-failed', 'kill -9 $upkeep'],
      ['before', 'restart', 'kill -9 $upkeep; exit 0'],
      ['before', 'restart', soon(0.05)],
      ['before', 'restart', soon(0.3)],
      ['after', 'restart', 'kill -9 $upkeep'],
      ['after', 'restart', soon(0.3)],
    ] as const)
      await killedAt(async () => {
        quadlet.at(when, verb, command);
        const { code } = await upkeep(['update', ...writing()]);
        const about = `${when} ${verb}: ${command}`;
        expect(code, about).not.toBe(0);
        return { isDone: false, about };
      });
  });

  test('killed before and after each change of the engine', async () => {
    await started('unit', webServer('1.0.0'), majors, '1.0.0');
    let kills = 0;
    for (const when of ['before', 'after'] as const)
      for (let at = 1; ; at += 1) {
        const socketPath = join(lab.dir, `q${when}${at}.sock`);
        const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
        const isDone = await killedAt(async () => {
          let pid = 0;
          proxy.arm({ at, fault: { kind: 'kill', when, kill: () => process.kill(pid, 'SIGKILL') } });
          const { code } = await upkeep(['update', ...writing()], {
            socket: socketPath,
            onStart: (child) => (pid = child.pid ?? 0),
          });
          return { isDone: code === 0, about: `${when} change ${at} of the engine` };
        });
        await proxy.close();
        if (isDone) break;
        kills += 1;
      }
    expect(kills).toBeGreaterThan(5);
  });

  test('a person who removes the unit meanwhile: the next start says that it is down', async () => {
    await started('unit', webServer('1.0.0'), majors, '1.0.0');
    await push(webServer('2.0.0'), '2.0.0');
    quadlet.at('before', 'restart', 'kill -9 $upkeep; exit 0');
    await upkeep(['update', ...writing()]);
    quadlet.systemctl('stop', 'unit.service');
    // Each of its two tries is refused.
    const twice = '[ -e "$0.once" ] || { touch "$0.once"; cp "$0" "${0%/*}/instead-restart"; }';
    quadlet.at('instead', 'restart', `${twice}; echo "Unit is gone." >&2; exit 1`);
    const repaired = await upkeep(['recover', ...writing()]);
    expect(repaired.code).not.toBe(0);
    expect(repaired.stdout + repaired.stderr).toContain('Unit is gone.');
    expect((await upkeep(['recover', ...writing()])).code).toBe(0);
    expect(isActive('unit')).toBe('ActiveState=active');
  });

  function writeDropIn(name: string, text: string): void {
    const folder = `${quadlet.fileOf(name)}.d`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'image.conf'), text);
  }

  /** With a later time than systemd has seen. */
  function touchLater(name: string): void {
    const later = Date.now() / 1000 + 5;
    writeFileSync(quadlet.fileOf(name), `${textOf(name)}# changed\n`);
    utimesSync(quadlet.fileOf(name), later, later);
  }
});
