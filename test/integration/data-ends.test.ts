import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { EngineClient, Inspected } from '../lab/engine/engine-client.ts';

import { prune } from '../lab/engine/prune.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import {
  dataApp,
  dataFolders,
  describeData,
  hasAccepted,
  leftMarks,
  leftVolumes,
  provideDataHelper,
} from '../support/scene/data-app.ts';
import { runUpkeep, type UpkeepRun } from '../support/scene/run-upkeep.ts';
import { upkeepScene, type UpdateEntry } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

type Engine = EngineClient & { readonly socket: string };

describeInLab('data whose restore meets an obstacle', (lab) => {
  const scene = effectsScene(lab, 'ends');
  afterEach(() => lab.engine.clear());

  type Gate = {
    readonly engine: Engine;
    readonly old: Inspected;
    /** The folder of the data on the host. */
    readonly place: string;
    readonly before: string;
    /** Lets the new version fail, and returns the report of `web`. */
    readonly fail: () => Promise<UpdateEntry | undefined>;
    /** The new version can run from now on. */
    readonly mend: () => void;
    /** A person's own backup of the data of before the update. */
    readonly putBackup: () => void;
    readonly recover: (...args: string[]) => Promise<UpkeepRun>;
    readonly now: (name?: string) => Promise<Inspected>;
  };

  /** An update whose new version has migrated the data and waits, under an old version that has accepted them. */
  async function inTheGate(
    next: 'small-full' | 'small-waiting-bad',
    { engine = lab.engine, policy = 'unless-stopped' }: { readonly engine?: Engine; readonly policy?: string } = {},
  ): Promise<Gate> {
    const dir = join(lab.dir, 'ends');
    const [, outside = ''] = dataFolders(dir).binds;
    const folder = outside.split(':')[0] ?? '';
    const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
    await scene.push('web', dataApp['small-v1']);
    await engine.pull(scene.image('web'));
    await engine.run('web', scene.image('web'), {
      StopTimeout: 2,
      Labels: { 'upkeep.data': 'volumes' },
      HostConfig: { RestartPolicy: { Name: policy }, Binds: ['kept:/data', outside] },
    });
    const now = async (name = 'web') => {
      const container = await engine.inspect(name);
      if (container === undefined) throw new Error(`There is no container "${name}"`);
      return container;
    };
    const until = async (isSo: () => Promise<boolean> | boolean) => {
      for (let tries = 0; tries < 1200; tries += 1) {
        if (await isSo()) return;
        await sleep(25);
      }
      throw new Error('it did not become so');
    };
    await until(async () => hasAccepted(await now(), folder));
    const old = await now();
    const place = String(old.Mounts.find(({ Destination }) => Destination === '/data')?.['Source']);
    const before = describeData(old);
    await scene.push('web', dataApp[next]);
    const upkeep = upkeepScene({ socket: engine.socket });
    const updating = upkeep.update('--data-image', helper, '--health-window', '60s');
    await Promise.race([
      until(() => readFileSync(join(place, 'version'), 'utf8').startsWith('v2')),
      updating.then(({ run }) => Promise.reject(new Error(`it ended: ${run.stdout}${run.stderr}`))),
    ]);
    return {
      engine,
      old,
      place,
      before,
      now,
      mend: () => rmSync(join(folder, 'go')),
      putBackup: () => {
        const script = 'find "$1" -mindepth 1 -delete && cp -a "$0/." "$1/"';
        execFileSync('sh', ['-c', script, backup, place]);
        rmSync(backup, { recursive: true });
      },
      fail: async () => {
        writeFileSync(join(folder, 'go'), '');
        return (await updating).outcomes['web'];
      },
      recover: (...args) =>
        runUpkeep(['recover', ...args, '--data-image', helper, '--health-window', '1s'], { socket: engine.socket }),
    };
  }

  async function isRestored({ engine, old, before, now }: Gate): Promise<void> {
    const web = await now();
    expect([web.Id, web.State.Running]).toEqual([old.Id, true]);
    expect(web.HostConfig.RestartPolicy.Name).toBe(old.HostConfig.RestartPolicy.Name);
    expect(describeData(web)).toBe(before);
    await isTidy(engine);
  }

  async function isTidy(engine: Engine): Promise<void> {
    expect(await namesOf(engine)).toEqual(['web']);
    expect(await leftVolumes(engine)).toEqual([]);
    expect(await leftMarks(engine)).toEqual([]);
  }

  /** Both versions stand still, and a plain `recover` changes nothing. */
  async function isStuck({ engine, now, recover }: Gate): Promise<void> {
    const both = [await now(await parkedName(engine)), await now('web.upkeep-bad')];
    expect(both.map(({ State }) => State.Running)).toEqual([false, false]);
    expect(both.map(({ HostConfig }) => HostConfig.RestartPolicy.Name)).toEqual([
      expect.toBeOneOf(['', 'no']),
      expect.toBeOneOf(['', 'no']),
    ]);
    const again = await recover('web');
    expect(again.code, again.stdout + again.stderr).not.toBe(0);
    expect((await now(await parkedName(engine))).State.Running).toBe(false);
  }

  async function namesOf(engine: Engine): Promise<readonly string[]> {
    const { body } = await engine.call('GET', '/containers/json?all=1');
    return (body as { Names: string[] }[]).map(({ Names }) => Names[0]?.slice(1) ?? '');
  }

  async function parkedName(engine: Engine): Promise<string> {
    const names = await namesOf(engine);
    return names.find((name) => /^web\.upkeep-old-.+-d$/.test(name)) ?? `none of ${names.join()}`;
  }

  test('failure 48: an immutable file is named; without it, `upkeep recover` restores the data', async () => {
    const gate = await inTheGate('small-waiting-bad');
    const file = join(gate.place, 'new');
    execFileSync('chattr', ['+i', file]);
    onTestFinished(() => void execFileSync('sh', ['-c', 'chattr -i "$0" 2>/dev/null || true', file]));
    const entry = await gate.fail();
    expect(entry).toMatchObject({ outcome: 'failed' });
    expect(entry?.reason).toMatch(/the data of "web" could not be restored \(.*\/new.*Operation not permitted\)/);
    expect(entry?.reason).toContain('Nothing runs on them. Remove the cause, then: upkeep recover web');
    await isStuck(gate);
    execFileSync('chattr', ['-i', file]);
    const recovered = await gate.recover('web');
    expect(recovered.code, recovered.stdout + recovered.stderr).toBe(0);
    expect(recovered.stdout + recovered.stderr).toContain('the update had been interrupted; its data restored');
    await isRestored(gate);
  });

  describe.each(['unless-stopped', ''])('with the policy "%s"', (policy) => {
    test('failure 49: a pruned copy: --keep-new keeps the new version and its data', async () => {
      const gate = await inTheGate('small-waiting-bad', { policy });
      await pruneCopy(gate.engine);
      expect((await gate.fail())?.reason).toContain('the copy of the data of "web" is gone');
      await isStuck(gate);
      gate.mend();
      const recovered = await gate.recover('web', '--keep-new');
      expect(recovered.code, recovered.stdout + recovered.stderr).toBe(0);
      const web = await gate.now();
      expect(web.Id).not.toBe(gate.old.Id);
      expect(web.HostConfig.RestartPolicy.Name || 'no').toBe(policy || 'no');
      expect(readFileSync(join(gate.place, 'version'), 'utf8')).toBe('v2\n');
      await isTidy(gate.engine);
    });

    test('a pruned copy: --without-data starts the old version on the data as they are', async () => {
      const gate = await inTheGate('small-waiting-bad', { policy });
      await pruneCopy(gate.engine);
      expect((await gate.fail())?.reason).toContain('upkeep recover web --without-data');
      await isStuck(gate);
      gate.putBackup();
      const recovered = await gate.recover('web', '--without-data');
      expect(recovered.code, recovered.stdout + recovered.stderr).toBe(0);
      const web = await gate.now();
      expect([web.Id, web.State.Running]).toEqual([gate.old.Id, true]);
      expect(web.State.StartedAt).not.toBe(gate.old.State.StartedAt);
      expect(web.HostConfig.RestartPolicy.Name || 'no').toBe(policy || 'no');
      expect(readFileSync(join(gate.place, 'version'), 'utf8')).toBe('v1\n');
      await isTidy(gate.engine);
    });
  });

  const backup = join(lab.dir, 'ends-backup');

  async function pruneCopy(engine: Engine): Promise<void> {
    const copy = (await leftVolumes(engine)).find((name) => name.startsWith('upkeep-data-'));
    const { body } = await engine.call('GET', `/volumes/${copy}`);
    rmSync(backup, { recursive: true, force: true });
    execFileSync('cp', ['-a', join((body as { Mountpoint: string }).Mountpoint, '0'), backup]);
    for (const role of ['save', 'restore']) await engine.call('DELETE', `/containers/web.upkeep-${role}?force=1`);
    for (const volume of await leftVolumes(engine)) await engine.call('DELETE', `/volumes/${volume}`);
    expect(await leftVolumes(engine)).toEqual([]);
  }

  describe('a tenant in the gate', () => {
    type Copy = { readonly Name: string; readonly Labels: Record<string, string>; readonly Mountpoint: string };

    async function copyOf(engine: Engine): Promise<Copy> {
      const name = (await leftVolumes(engine)).find((each) => each.startsWith('upkeep-data-'));
      return (await engine.call('GET', `/volumes/${name}`)).body as Copy;
    }

    const secret = join(lab.dir, 'ends-secret');

    /** Content that is not that of version 1. */
    function fill(place: string): void {
      execFileSync('sh', ['-c', 'mkdir "$0/0"; echo evil >"$0/0/version"', place]);
    }

    test.each<[string, (copy: Copy) => void]>([
      ['that is empty', () => {}],
      ['with an empty proof', ({ Mountpoint }) => (fill(Mountpoint), writeFileSync(join(Mountpoint, '.saved'), ''))],
      ['with the proof of a restore', ({ Mountpoint }) => writeFileSync(join(Mountpoint, '.restored'), '')],
      [
        'with links to a folder of the host',
        ({ Mountpoint }) => {
          symlinkSync(secret, join(Mountpoint, '0'));
          symlinkSync(join(secret, 'file'), join(Mountpoint, '.saved'));
        },
      ],
    ])('gets no forged copy restored %s', async (_, forge) => {
      mkdirSync(secret, { recursive: true });
      writeFileSync(join(secret, 'file'), 'mine');
      const gate = await inTheGate('small-waiting-bad');
      const copy = await copyOf(gate.engine);
      await pruneCopy(gate.engine);
      const { Name, Labels } = copy;
      expect((await gate.engine.call('POST', '/volumes/create', { Name, Labels })).status).toBe(201);
      forge(copy);
      expect((await gate.fail())?.reason).toContain('the copy of the data of "web" is gone');
      await isStuck(gate);
      expect(readFileSync(join(gate.place, 'version'), 'utf8')).toBe('v2\n');
      expect(readdirSync(secret)).toEqual(['file']);
      expect(readFileSync(join(secret, 'file'), 'utf8')).toBe('mine');
      gate.putBackup();
      const recovered = await gate.recover('web', '--without-data');
      expect(recovered.code, recovered.stdout + recovered.stderr).toBe(0);
      expect(readFileSync(join(gate.place, 'version'), 'utf8')).toBe('v1\n');
    });

    test('cannot prevent a restore with a proof in the copy itself', async () => {
      const gate = await inTheGate('small-waiting-bad');
      const { Mountpoint } = await copyOf(gate.engine);
      writeFileSync(join(Mountpoint, '.restored'), '');
      expect(await gate.fail()).toMatchObject({ outcome: 'rolled_back' });
      await isRestored(gate);
    });
  });

  test('removed helpers are made again', async () => {
    const gate = await inTheGate('small-waiting-bad');
    for (const role of ['save', 'restore']) await gate.engine.call('DELETE', `/containers/web.upkeep-${role}?force=1`);
    expect(await gate.fail()).toMatchObject({ outcome: 'rolled_back' });
    await isRestored(gate);
  });

  test('a prune of containers takes the old one and the helpers: a copy of it runs on the restored data', async () => {
    const gate = await inTheGate('small-waiting-bad');
    await prune(gate.engine, 'containers');
    const entry = await gate.fail();
    expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'rolled_back' });
    const web = await gate.now();
    expect([web.Image, web.State.Running]).toEqual([gate.old.Image, true]);
    expect(describeData(web)).toBe(gate.before);
    await isTidy(gate.engine);
  });

  test('failure 50: a full disk: the reserve makes room for the way back', async () => {
    const engine = await lab.startEngine({ name: 'full', dataMiB: 640 });
    onTestFinished(() => engine.remove());
    const gate = await inTheGate('small-full', { engine });
    const entry = await gate.fail();
    expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'rolled_back' });
    expect(entry?.reason).toContain('its data restored');
    await isRestored(gate);
  });

  test('a full disk without the reserve: nothing runs, and room ends it', async () => {
    const engine = await lab.startEngine({ name: 'fuller', dataMiB: 640 });
    onTestFinished(() => engine.remove());
    const gate = await inTheGate('small-full', { engine });
    const [reserve = ''] = (await leftVolumes(engine)).filter((name) => name.startsWith('upkeep-reserve-'));
    await engine.call('DELETE', `/volumes/${reserve}`);
    const entry = await gate.fail();
    expect(entry, JSON.stringify(entry)).toMatchObject({
      outcome: expect.not.stringMatching(/^(?:updated|rolled_back)$/),
    });
    expect((await gate.now(await parkedName(engine))).State.Running).toBe(false);
    rmSync(join(gate.place, 'fill'), { force: true });
    const recovered = await gate.recover('web');
    expect(recovered.code, recovered.stdout + recovered.stderr).toBe(0);
    await isRestored(gate);
  });
});
