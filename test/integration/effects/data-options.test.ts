import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { fnv64 } from '../../../src/domain/text/plain-data.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { apiToken, ask } from '../../support/http/http-scene.ts';
import { leftVolumes, provideDataHelper } from '../../support/scene/data-app.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene } from './scene.ts';

describeInLab('options and labels of the data of a container', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'data-options');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  function folder(): string {
    const made = mkdtempSync(join(lab.dir, 'options-'));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return made;
  }

  type Setup = {
    readonly labels?: Readonly<Record<string, string>>;
    readonly imageLabels?: Readonly<Record<string, string>>;
    readonly binds?: readonly string[];
  };

  /** A running `web` whose new version is good. Returns the helper's image. */
  async function stale({ labels = {}, imageLabels = {}, binds = ['kept:/data'] }: Setup) {
    const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
    const old = webServer('v1', { Labels: imageLabels });
    const next = webServer('v2', { Labels: imageLabels });
    const before = await scene.stale('web', { old, next, config: { Labels: labels, HostConfig: { Binds: binds } } });
    const update = (...args: string[]) => upkeep.update('--data-image', helper, ...args, 'web');
    return { before, update, helper };
  }

  /** The paths in the container whose data are in the only kept copy; undefined without a copy. */
  async function copied(): Promise<unknown> {
    const [volume] = await leftVolumes(engine);
    if (volume === undefined) return undefined;
    const { body } = await engine.call('GET', `/volumes/${volume}`);
    return JSON.parse((body as { Labels: Record<string, string> }).Labels['upkeep.data.paths'] ?? '');
  }

  const keeps = ['--data-keep', '1h'];

  test('--data, its label and --data-folders say what is copied; a label of the image counts for nothing', async () => {
    const srv = folder();
    mkdirSync(join(srv, 'apps/web'), { recursive: true });
    const binds = ['kept:/data', `${srv}/apps/web:/bind`];
    const folders = ['--data-folders', join(srv, 'apps')];
    const cases: [Setup, string[], unknown][] = [
      [{}, [], undefined],
      [{}, ['--data', 'volumes'], [['/data']]],
      [{}, ['--data', 'volumes', ...folders], [['/bind'], ['/data']]],
      [{}, ['--data', '/bind', ...folders], [['/bind']]],
      [{ labels: { 'upkeep.data': 'none' } }, ['--data', 'volumes', ...folders], undefined],
      [{ labels: { 'upkeep.data': '/data' } }, folders, [['/data']]],
      [{ imageLabels: { 'upkeep.data': 'volumes' } }, folders, undefined],
    ];
    for (const [setup, args, paths] of cases) {
      const { update } = await stale({ binds, ...setup });
      const { outcomes, run } = await update(...keeps, ...args);
      expect(outcomes['web']?.outcome, run.stdout + run.stderr).toBe('updated');
      expect(await copied(), JSON.stringify([setup, args])).toEqual(paths);
      await engine.clear();
    }
  });

  test('--data-max-size and --data-timeout refuse, and so do their labels; no label raises the size', async () => {
    const srv = folder();
    for (let file = 0; file < 5000; file += 1) writeFileSync(join(srv, `file-${file}`), 'x');
    const cases: [Readonly<Record<string, string>>, string[], string | RegExp][] = [
      [{ 'upkeep.data-max-size': '4kB' }, [], 'more than --data-max-size 4 kB'],
      [{ 'upkeep.data-max-size': '10GB' }, ['--data-max-size', '4kB'], 'more than --data-max-size 4 kB'],
      // On a busy machine it is passed by the measurement alone.
      [{ 'upkeep.data-timeout': '1s' }, [], /more than (?:--data-timeout )?1s/],
    ];
    for (const [labels, args, reason] of cases) {
      const { update, before } = await stale({
        labels: { 'upkeep.data': 'volumes', ...labels },
        binds: [`${srv}:/data`],
      });
      const { outcomes } = await update('--data-folders', srv, ...args);
      expect(outcomes['web']).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(reason) });
      expect((await scene.inspect('web')).State.StartedAt).toBe(before.State.StartedAt);
      expect(await leftVolumes(engine)).toEqual([]);
      await engine.clear();
    }
  });

  test('--data-image names the image with the tools', async () => {
    const { update, before } = await stale({ labels: { 'upkeep.data': 'volumes' } });
    const { outcomes } = await update('--data-image', 'missing:1');
    expect(outcomes['web']?.reason).toContain('this engine has no image "missing:1"');
    expect((await scene.inspect('web')).State.StartedAt).toBe(before.State.StartedAt);
    expect((await update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  test('data-shared counts only if both containers have it', async () => {
    const other = (labels: Readonly<Record<string, string>>) =>
      scene.run('other', { config: { Labels: labels, HostConfig: { Binds: ['kept:/theirs'] } } });
    const shared = { 'upkeep.data-shared': 'true' };
    const data = { 'upkeep.data': 'volumes' };
    for (const [mine, theirs, isPossible] of [
      [shared, {}, false],
      [{}, shared, false],
      [shared, shared, true],
    ] as const) {
      await other(theirs);
      const { update } = await stale({ labels: { ...data, ...mine } });
      const { outcomes } = await update();
      if (isPossible) expect(outcomes['web']).toMatchObject({ outcome: 'updated' });
      else expect(outcomes['web']?.reason).toContain('is also written by the running container "other"');
      await engine.clear();
    }
  });

  test('a copy that --data-keep or its label keeps is listed, and a run removes it when its time is over', async () => {
    const labels = { 'upkeep.data': 'volumes' };
    const keptFor = async () => {
      const [volume] = await leftVolumes(engine);
      const { body } = await engine.call('GET', `/volumes/${volume}`);
      return (body as { Labels: Record<string, string> }).Labels['upkeep.data.keep'];
    };
    const labelled = await stale({ labels: { ...labels, 'upkeep.data-keep': '1h' } });
    expect((await labelled.update('--data-keep', '2h')).outcomes['web']).toMatchObject({ outcome: 'updated' });
    expect(await keptFor()).toBe('3600000');
    expect((await upkeep.update('web')).run.stderr).not.toContain('was removed');
    expect(await copied()).toEqual([['/data']]);
    await engine.clear();

    const { update } = await stale({ labels });
    expect((await update('--data-keep', '25s')).outcomes['web']).toMatchObject({ outcome: 'updated' });
    expect(await keptFor()).toBe('25000');
    const [copy = ''] = await leftVolumes(engine);
    expect((await runUpkeep(['data', 'list'], { socket: engine.socket })).stdout).toContain('web');
    const ofOthers = 'upkeep-data-web-0000000000000000';
    await engine.call('POST', '/volumes/create', { Name: ofOthers });
    let said = '';
    const untilMs = performance.now() + 90_000;
    while ((await leftVolumes(engine)).includes(copy) && performance.now() < untilMs)
      said += (await upkeep.update('web')).run.stderr;
    expect(await leftVolumes(engine)).toEqual([ofOthers]);
    expect(said).toContain('A kept copy of data was removed');
  });

  test('over HTTP a rollback with a kept copy needs data=restore or data=leave, and does what it says', async () => {
    const args = ['--data-keep', '1h', '--keep-old', '1h'];
    for (const [answer, content] of [
      ['restore', 'of v1'],
      ['leave', 'of v2'],
    ] as const) {
      const { update, before, helper } = await stale({ labels: { 'upkeep.data': 'volumes' } });
      const place = String(before.Mounts[0]?.['Source']);
      writeFileSync(join(place, 'file'), 'of v1');
      expect((await update(...args)).outcomes['web']).toMatchObject({ outcome: 'updated' });
      writeFileSync(join(place, 'file'), 'of v2');
      const url = await serve('--data-image', helper, ...args);
      const roll = (more: string) => ask(url, `/v1/rollback?container=web${more}`, { method: 'POST' });
      const refused = await roll('');
      expect(refused.status).toBe(409);
      expect(refused.text).toContain('with data=restore everything written since');
      expect((await roll('&data=maybe')).status).toBe(400);
      expect((await scene.inspect('web')).Id).not.toBe(before.Id);
      const { status, text } = await roll(`&data=${answer}`);
      expect(status, text).toBe(200);
      const told = /its data restored \([\d.]+ k?B in [\d.]+m?s\) from the copy of \d{4}-/;
      expect([answer, told.test(text)], text).toEqual([answer, answer === 'restore']);
      expect([answer, text.includes('"restored":true')], text).toEqual([answer, answer === 'restore']);
      expect(await scene.inspect('web')).toMatchObject({ Id: before.Id, State: { Running: true } });
      expect(readFileSync(join(place, 'file'), 'utf8')).toBe(content);
      await engine.clear();
    }
  });

  async function serve(...args: string[]): Promise<string> {
    const api = ['--http-api-update', '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', '--health-window', '200ms', ...api, ...args], { socket: engine.socket });
    onTestFinished(async () => {
      service.child.kill('SIGTERM');
      await service.ended;
    });
    await service.seen('No periodic updates');
    return /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
  }

  describe('a hostile tenant', () => {
    test('gets no folder of the host by a label: neither /, nor /etc, nor one above the list', async () => {
      const srv = folder();
      mkdirSync(join(srv, 'apps'));
      for (const source of ['/', '/etc', srv]) {
        const { update, before } = await stale({ labels: { 'upkeep.data': '/data' }, binds: [`${source}:/data`] });
        const { outcomes } = await update('--data-folders', join(srv, 'apps'));
        expect(outcomes['web']?.reason).toContain('host folder outside of --data-folders');
        expect((await scene.inspect('web')).State.StartedAt).toBe(before.State.StartedAt);
        await engine.clear();
      }
    });

    test('cannot have a volume copied that is mounted read-only', async () => {
      await scene.run('victim', { config: { HostConfig: { Binds: ['secret:/secret'] } } });
      const { update } = await stale({ labels: { 'upkeep.data': '/theirs' }, binds: ['secret:/theirs:ro'] });
      // Its new version cannot change it either.
      expect((await update(...keeps)).outcomes['web']).toMatchObject({ outcome: 'updated' });
      expect(await copied()).toBeUndefined();
    });

    test.each(['measure', 'save', 'restore'])('cannot prepare the helper "web.upkeep-%s"', async (role) => {
      const { update, before } = await stale({ labels: { 'upkeep.data': 'volumes' } });
      await engine.run(`web.upkeep-${role}`, scene.image('web'), {
        Labels: { 'upkeep.data.of': 'x', 'upkeep.data.order': '{}' },
        Cmd: ['true'],
      });
      const { outcomes } = await update();
      expect(outcomes['web']).toMatchObject({ outcome: 'failed' });
      expect(outcomes['web']?.reason).toContain(`"web.upkeep-${role}" is someone else's container`);
      expect(await scene.inspect('web')).toMatchObject({ Id: before.Id, State: { StartedAt: before.State.StartedAt } });
      expect(await scene.names()).toEqual(['web', `web.upkeep-${role}`]);
      expect(await leftVolumes(engine)).toEqual([]);
    });

    test.each(['reserve', 'data'])(
      'cannot put a folder of the host in the place of the volume upkeep-%s',
      async (kind) => {
        const { helper, before } = await stale({ labels: { 'upkeep.data': 'volumes' } });
        const srv = folder();
        writeFileSync(join(srv, 'file'), 'mine');
        const socketPath = join(folder(), 'p.sock');
        const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
        onTestFinished(() => proxy.close());
        // The id of the update is in the labels of its new container, from which anybody can compute the name.
        const act = async () => {
          const { body } = await engine.call('GET', '/containers/json?all=1');
          const labels = (body as { Labels: Record<string, string> }[]).map(
            ({ Labels }) => Labels['upkeep.tx.id'] ?? '',
          );
          const id = labels.find((each) => each !== '') ?? '';
          const bytes = execFileSync('du', ['-sx', '-B1', String(before.Mounts[0]?.['Source'])], { encoding: 'utf8' });
          const { body: made, status } = await engine.call('POST', '/volumes/create', {
            Name: `upkeep-${kind}-web-${fnv64(id)}`,
            Labels: {
              'upkeep.data.of': id,
              'upkeep.data.container': 'web',
              'upkeep.data.bytes': bytes.split('\t')[0],
              'upkeep.data.files': '1',
              'upkeep.data.paths': '[["/data"]]',
              'upkeep.data.keep': '0',
            },
            DriverOpts: { type: 'none', o: 'bind', device: srv },
          });
          expect(status, JSON.stringify(made)).toBe(201);
        };
        let volumes = 0;
        const turn = kind === 'reserve' ? 1 : 2;
        proxy.arm({
          at: ({ path, change }) => change !== undefined && path.endsWith('/volumes/create') && (volumes += 1) === turn,
          fault: { kind: 'meanwhile', when: 'before', act },
        });
        const { outcomes } = await upkeepScene({ socket: socketPath }).update('--data-image', helper, 'web');
        expect(outcomes['web']).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(/volume .* exists/) });
        expect(readFileSync(join(srv, 'file'), 'utf8')).toBe('mine');
        expect(readdirSync(srv)).toEqual(['file']);
        expect(await scene.inspect('web')).toMatchObject({
          Id: before.Id,
          State: { StartedAt: before.State.StartedAt },
        });
      },
    );

    test('cannot lead a restore out of the list by a link that its new version makes', async () => {
      const srv = folder();
      mkdirSync(join(srv, 'apps/tenant/data'), { recursive: true });
      mkdirSync(join(srv, 'secret'));
      writeFileSync(join(srv, 'secret/file'), 'mine');
      writeFileSync(join(srv, 'apps/tenant/data/file'), 'of v1');
      const { update, before } = await stale({
        labels: { 'upkeep.data': '/data' },
        binds: [`${srv}/apps/tenant/data:/data`, `${srv}/apps/tenant:/parent`],
      });
      await scene.push('web', webServer('v2', { Cmd: ['sh', '-c', 'sleep 3; exit 3'] }));
      const updating = update('--data-folders', join(srv, 'apps'), '--health-window', '30s');
      for (let tries = 0; tries < 1200; tries += 1) {
        const web = await engine.inspect('web');
        if (web !== undefined && web.Id !== before.Id && web.State.Running) break;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      renameSync(join(srv, 'apps/tenant/data'), join(srv, 'apps/tenant/away'));
      symlinkSync('../../secret', join(srv, 'apps/tenant/data'));
      const { outcomes } = await updating;
      expect(outcomes['web']?.outcome).not.toBe('updated');
      expect(readFileSync(join(srv, 'secret/file'), 'utf8')).toBe('mine');
      const parked = (await scene.names()).find((name) => /^web\.upkeep-old-.*-d$/.test(name)) ?? 'none';
      expect((await scene.inspect(parked)).State.Running).toBe(false);
      rmSync(join(srv, 'apps/tenant/data'));
      renameSync(join(srv, 'apps/tenant/away'), join(srv, 'apps/tenant/data'));
      const recover = (...args: readonly string[]) => runUpkeep(['recover', 'web', ...args], { socket: engine.socket });
      const refused = await recover();
      expect([refused.code, refused.stderr + refused.stdout]).toEqual([
        1,
        expect.stringContaining('--data-folders does not allow the folder'),
      ]);
      const recovered = await recover('--data-folders', join(srv, 'apps'));
      expect(recovered.code, recovered.stdout + recovered.stderr).toBe(0);
      expect(await scene.inspect('web')).toMatchObject({ Id: before.Id, State: { Running: true } });
    });

    test('cannot have a restore follow links, or names like options, in the data', async () => {
      const srv = folder();
      writeFileSync(join(srv, 'file'), 'mine');
      const { update, before } = await stale({ labels: { 'upkeep.data': 'volumes' } });
      const place = String(before.Mounts[0]?.['Source']);
      mkdirSync(join(place, 'folder'));
      writeFileSync(join(place, 'folder/-rf'), 'of v1');
      await scene.push(
        'web',
        webServer('v2', { Cmd: ['sh', '-c', `rm -r /data/folder; ln -s ${srv} /data/folder; exit 3`] }),
      );
      const { outcomes } = await update('--health-window', '10s');
      expect(outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
      expect(readFileSync(join(srv, 'file'), 'utf8')).toBe('mine');
      expect(readFileSync(join(place, 'folder/-rf'), 'utf8')).toBe('of v1');
    });
  });
});
