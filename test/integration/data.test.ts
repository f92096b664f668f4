import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { Inspected } from '../lab/engine/engine-client.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import {
  dataApp,
  dataFolders,
  describeData,
  leftMarks,
  leftVolumes,
  provideDataHelper,
} from '../support/scene/data-app.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { serveFleet } from '../support/scene/serve-fleet.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

describeInLab('the data of a container', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'data');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  /** A running version 1 with its three places, whose tag has moved on. */
  async function stale(next: keyof typeof dataApp) {
    const { allowed, binds } = dataFolders(join(lab.dir, 'data'));
    const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
    const config = {
      Labels: { 'upkeep.data': 'volumes' },
      HostConfig: { RestartPolicy: { Name: 'unless-stopped' }, Binds: ['kept:/data', ...binds] },
    };
    const container = await scene.stale('web', { old: dataApp.v1, next: dataApp[next], config });
    await until(() => readdirSync(join(lab.dir, 'data/outside-web')).length > 1);
    // A migration may take longer than a short window.
    const common = [
      '--data-image',
      helper,
      '--data-folders',
      allowed,
      ...(next === 'bad' ? ['--health-window', '10s'] : []),
    ];
    const update = (...args: string[]) => upkeep.update(...common, ...args);
    return { container, update, before: describeData(container) };
  }

  async function until(isSo: () => boolean): Promise<void> {
    for (let tries = 0; tries < 200 && !isSo(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 25));
    expect(isSo()).toBe(true);
  }

  async function nothingIsLeft(): Promise<void> {
    expect(await scene.names()).toEqual(['web']);
    expect(await leftVolumes(engine)).toEqual([]);
    expect(await leftMarks(engine)).toEqual([]);
  }

  test('failure 47: comes back with the old version when the new one has changed it and fails', async () => {
    const { container, update, before } = await stale('bad');
    const { outcomes, run } = await update();
    expect(outcomes['web'], run.stderr + run.stdout).toMatchObject({ outcome: 'rolled_back' });
    const now = await scene.inspect('web');
    expect(now).toMatchObject({ Id: container.Id, State: { Running: true } });
    expect(now.HostConfig.RestartPolicy.Name).toBe('unless-stopped');
    expect(describeData(now)).toBe(before);
    const tokens = readdirSync(join(lab.dir, 'data/outside-web')).filter((name) => name.startsWith('t-'));
    expect(tokens.length).toBeGreaterThanOrEqual(3);
    const kept = readFileSync(join(lab.dir, 'data/srv/web/tokens'), 'utf8');
    expect(tokens.filter((token) => !kept.includes(token))).toEqual([]);
    await nothingIsLeft();
  });

  test('belongs to the new version after a successful update, and nothing is left of the copy', async () => {
    const { container, update } = await stale('v2');
    const { outcomes, run } = await update();
    expect(outcomes['web'], run.stderr + run.stdout).toMatchObject({ outcome: 'updated' });
    const now = await scene.inspect('web');
    expect(now.Id).not.toBe(container.Id);
    expect(now.State.Running).toBe(true);
    expect(readFileSync(join(lab.dir, 'data/srv/web/version'), 'utf8')).toBe('v2\n');
    await nothingIsLeft();
  });

  /** A running version 1 with one volume, whose tag has moved on. */
  async function staleSmall(next: 'small-v2' | 'small-bad' | 'small-late-bad', hostConfig = {}) {
    const { binds } = dataFolders(join(lab.dir, 'data'));
    const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
    const config = {
      Labels: { 'upkeep.data': 'volumes' },
      HostConfig: {
        RestartPolicy: { Name: 'unless-stopped' },
        Binds: ['kept:/data', ...binds.slice(1)],
        ...hostConfig,
      },
    };
    const container = await scene.stale('web', { old: dataApp['small-v1'], next: dataApp[next], config });
    const outside = join(lab.dir, 'data/outside-web');
    await until(() => readdirSync(outside).some((file) => file.startsWith('ready-')));
    const common = ['--data-image', helper, '--health-window', '10s'];
    const update = (...args: string[]) => upkeep.update(...common, ...args);
    const recover = (...args: string[]) => runUpkeep(['recover', ...args], { socket: engine.socket });
    return { container, update, recover, helper, before: describeData(container) };
  }

  test('a copy that takes long tells how much is copied', async () => {
    const { container } = await staleSmall('small-v2');
    const slow = catalogue['data-helper-with-slow-sync'];
    const helper = await provideDataHelper(engine, lab.registry.host, slow, 'slow');
    const service = await serveFleet(['--host', `unix://${engine.socket}`, '--data-image', helper, '--no-start-check']);
    await service.lists(1);
    expect((await service.ask('/v1/update?async=true', 'POST')).status).toBe(202);
    const copied = async () => {
      type Status = { readonly run?: { readonly containers: readonly object[] } };
      const { run } = await service.read<Status>('/v1/status?extra=true');
      return run?.containers[0];
    };
    await expect
      .poll(copied, { timeout: 60_000, interval: 100 })
      .toMatchObject({ name: 'web', phase: 'saving data', percent: expect.any(Number) });
    await engineHas('web', ({ State, Id }) => State.Running && Id !== container.Id);
  });

  test('is not restored while another container writes to it: nothing runs then, and a person ends it', async () => {
    const { container, update, recover, before } = await staleSmall('small-late-bad');
    const updating = update();
    await engineHas('web.upkeep-old-u-d', ({ State }) => !State.Running);
    await engineHas('web', ({ State, Id }) => State.Running && Id !== container.Id);
    await engine.run('other', scene.image('web'), { Cmd: ['sleep', '1000'], HostConfig: { Binds: ['kept:/mine'] } });
    const { outcomes, run } = await updating;
    expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'failed' });
    expect(outcomes['web']?.reason).toContain('"other" runs and writes to the volume "kept": stop it first');
    expect(outcomes['web']?.reason).toContain('upkeep recover web');
    const stuck = await Promise.all(['web.upkeep-old-u-d', 'web.upkeep-bad'].map(scene.inspect));
    expect(stuck.map(({ State }) => State.Running)).toEqual([false, false]);
    expect((await recover()).code).not.toBe(0);
    await engine.call('DELETE', '/containers/other?force=1');
    const recovered = await recover();
    expect(recovered.code, recovered.stderr + recovered.stdout).toBe(0);
    expect(await scene.inspect('web')).toMatchObject({ Id: container.Id, State: { Running: true } });
    expect(describeData(await scene.inspect('web'))).toBe(before);
    await nothingIsLeft();
  });

  test('whose copy was pruned is not mixed: the sentence says which two ways there are', async () => {
    const { container, update, recover } = await staleSmall('small-late-bad');
    const updating = update();
    await engineHas('web', ({ State, Id }) => State.Running && Id !== container.Id);
    for (const role of ['save', 'restore']) await engine.call('DELETE', `/containers/web.upkeep-${role}?force=1`);
    for (const volume of await leftVolumes(engine)) await engine.call('DELETE', `/volumes/${volume}`);
    const { outcomes } = await updating;
    expect(outcomes['web']).toMatchObject({ outcome: 'failed' });
    expect(outcomes['web']?.reason).toContain('the copy of the data of "web" is gone');
    expect(outcomes['web']?.reason).toContain('upkeep recover web --keep-new');
    expect((await recover()).code).not.toBe(0);
    expect((await scene.inspect('web.upkeep-old-u-d')).State.Running).toBe(false);
  });

  test('that is too large, or cannot be copied, refuses the update before anything stops', async () => {
    const { container, update } = await staleSmall('small-v2');
    const refusals: [string[], string][] = [
      [['--data-max-size', '1kB'], 'more than --data-max-size'],
      [['--data-image', 'missing:1'], 'this engine has no image "missing:1"'],
      [['--data-image', scene.image('web')], 'has no GNU cp'],
    ];
    for (const [args, reason] of refusals) {
      const { outcomes } = await update(...args);
      expect(outcomes['web']).toMatchObject({ outcome: 'failed' });
      expect(outcomes['web']?.reason).toContain(reason);
      expect((await scene.inspect('web')).State.StartedAt).toBe(container.State.StartedAt);
      await nothingIsLeft();
    }
  });

  test('with names, links, holes and rights of all kinds comes back as it was', async () => {
    const { container, update } = await staleSmall('small-bad');
    const place = String(container.Mounts.find(({ Destination }) => Destination === '/data')?.['Source']);
    const made = `cd "$1/sub" && mkdir -m 000 closed && echo x >hard && ln hard hard2 && ln -s ../../etc/passwd away &&
      ln -s "$1" whole && mkfifo fifo && mknod null c 1 3 && truncate -s 64M holes && : >"$(printf 'new\\nline')" &&
      : >"$(printf '\\377\\376')" && echo s >setuid && chown 2147483647:7 setuid && chmod 6755 setuid && : >.wh.x &&
      touch -h -d '1955-01-02 03:04:05.123456789' away && touch -d '2300-01-02 03:04:05.987654321' hard &&
      mkdir -p a/b/c/d && : >-rf && chattr +C . 2>/dev/null; true`;
    execFileSync('sh', ['-c', made, 'sh', place]);
    const look = () =>
      execFileSync(
        'find',
        [place, '-mindepth', '1', '-not', '-name', 'tokens', '-printf', '%P %y %m %U:%G %n %l %T@ %s %k\\0'],
        {
          encoding: 'latin1',
        },
      )
        .split('\0')
        .toSorted();
    const before = look();
    expect(before.length).toBeGreaterThan(18);
    expect((await update()).outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(look()).toEqual(before);
    await nothingIsLeft();
  });

  test('of a container that may administrate keeps the attributes that only it sees', async () => {
    const { container, update } = await staleSmall('small-bad', { CapAdd: ['SYS_ADMIN'] });
    const place = String(container.Mounts.find(({ Destination }) => Destination === '/data')?.['Source']);
    attribute('set', join(place, 'file'));
    expect((await update()).outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(attribute('get', join(place, 'file'))).toBe('kept');
    await nothingIsLeft();
  });

  /** Neither Node nor Debian's base system has a program for it. */
  function attribute(how: 'set' | 'get', path: string): string {
    const [set, get] = process.arch === 'arm64' ? [5, 8] : [188, 191];
    const program =
      how === 'set'
        ? `syscall(${set}, $ARGV[0], $name, $value, 4, 0) == 0 or die $!`
        : `syscall(${get}, $ARGV[0], $name, $value, 4) == 4 or die $!; print $value`;
    return execFileSync(
      'perl',
      ['-e', `my ($name, $value) = ("trusted.upkeep", "${how === 'set' ? 'kept' : 'none'}"); ${program}`, path],
      {
        encoding: 'utf8',
      },
    );
  }

  test('stays as a copy in plain files for as long as it should, and the next update replaces the copy', async () => {
    const { update } = await staleSmall('small-v2');
    expect((await update('--data-keep', '1h')).outcomes['web']).toMatchObject({ outcome: 'updated' });
    const [copy = ''] = await leftVolumes(engine);
    const { body } = await engine.call('GET', `/volumes/${copy}`);
    const { Mountpoint, Labels } = body as { Mountpoint: string; Labels: Record<string, string> };
    expect(Labels).toMatchObject({ 'upkeep.data.container': 'web', 'upkeep.data.keep': '3600000' });
    expect(readFileSync(join(Mountpoint, '0/version'), 'utf8')).toBe('v1\n');
    await scene.push('web', dataApp['small-late-bad']);
    expect((await update()).outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(await leftVolumes(engine)).toEqual([copy]);
  });

  /** Waits until the container is as the test says. */
  async function engineHas(name: string, isSo: (container: Inspected) => boolean): Promise<void> {
    for (let tries = 0; tries < 2400; tries += 1) {
      const container = await engine.inspect(name);
      if (container !== undefined && isSo(container)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`"${name}" did not become so`);
  }
});
