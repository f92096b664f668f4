import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { leftVolumes, provideDataHelper } from '../support/scene/data-app.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

describeInLab('data that may not be copied', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'refused');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  const folders = join(lab.dir, 'refused');

  /** Updates `web`, which has the label and the mounts. It must run on as it was, never stopped. */
  async function refusal(label: string, binds: readonly string[], ...options: readonly string[]): Promise<string> {
    const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
    const config = { Labels: { 'upkeep.data': label }, HostConfig: { Binds: binds } };
    const before = await scene.stale('web', { config });
    const { outcomes, run } = await upkeep.update('--data-image', helper, ...options, 'web');
    const after = await scene.inspect('web');
    expect([after.Id, after.State.StartedAt, after.State.Running]).toEqual([before.Id, before.State.StartedAt, true]);
    expect(outcomes['web']?.outcome, run.stderr).toBe('failed');
    expect(run.code).toBe(1);
    expect((await scene.names()).filter((name) => name.includes('upkeep-'))).toEqual([]);
    expect(await leftVolumes(engine)).toEqual([]);
    return outcomes['web']?.reason ?? '';
  }

  test('a path that is no volume, and a host folder that the owner has not named, are refused before the stop', async () => {
    expect(await refusal('/dta', ['kept:/data'])).toContain('names "/dta" in its label data');
    await engine.clear();
    mkdirSync(folders, { recursive: true });
    expect(await refusal('/data', [`${folders}:/data`])).toContain('host folder outside of --data-folders');
    await engine.clear();
    const beside = ['--data-folders', `${folders}-of-others`];
    expect(await refusal('/data', [`${folders}:/data`], ...beside)).toContain('host folder outside of --data-folders');
  });

  test('data of a running container that writes to them are refused, unless both say that they are shared', async () => {
    await scene.run('other', { config: { HostConfig: { Binds: ['kept:/elsewhere'] } } });
    expect(await refusal('volumes', ['kept:/data'])).toContain('is also written by the running container "other"');
  });

  test('a folder below the owner’s list that leads out of it by a symbolic link is refused, and is not touched', async () => {
    rmSync(folders, { recursive: true, force: true });
    mkdirSync(join(folders, 'apps'), { recursive: true });
    mkdirSync(join(folders, 'secret'));
    writeFileSync(join(folders, 'secret/file'), 'mine');
    symlinkSync('../secret', join(folders, 'apps/web'));
    const list = ['--data-folders', join(folders, 'apps')];
    expect(await refusal('/data', [`${join(folders, 'apps/web')}:/data`], ...list)).toContain('symbolic link');
    expect(readFileSync(join(folders, 'secret/file'), 'utf8')).toBe('mine');
  });
});
