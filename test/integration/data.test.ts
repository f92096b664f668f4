import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { dataApp, dataFolders, describeData, leftVolumes, provideDataHelper } from '../support/scene/data-app.ts';
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
    const update = (...args: string[]) => upkeep.update('--data-image', helper, '--data-folders', allowed, ...args);
    return { container, update, before: describeData(container) };
  }

  async function until(isSo: () => boolean): Promise<void> {
    for (let tries = 0; tries < 200 && !isSo(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 25));
    expect(isSo()).toBe(true);
  }

  async function nothingIsLeft(): Promise<void> {
    expect(await scene.names()).toEqual(['web']);
    expect(await leftVolumes(engine)).toEqual([]);
    const { body } = await engine.call('GET', '/images/json');
    expect(JSON.stringify(body)).not.toContain('upkeep-open');
  }

  test('comes back with the old version when the new one has changed it and fails', async () => {
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
});
