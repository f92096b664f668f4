import { writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene } from './scene.ts';

const storing = { old: catalogue['volume-v1'], next: catalogue['volume-v2'] };
const config = { Volumes: { '/own': {} }, HostConfig: { Binds: ['kept:/kept', '/lone'] } };

describeInLab('--remove-volumes', (lab) => {
  const { engine } = lab;
  const { run, stale, inspect, push, image } = effectsScene(lab, 'volumes');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  /** By path; the engine names the volumes of some only by their folder. */
  const volumesOf = ({ Mounts }: Inspected) =>
    Object.fromEntries(
      Mounts.map(({ Destination, Name, Source }) => [
        String(Destination),
        typeof Name === 'string' && Name !== '' ? Name : (/([^/]+)\/_data$/.exec(String(Source))?.[1] ?? ''),
      ]),
    );
  const exists = async (volume: string) => (await engine.call('GET', `/volumes/${volume}`)).status === 200;

  test('gives the new container fresh anonymous volumes, and removes the old; named ones stay', async () => {
    const before = await stale('web', { ...storing, config });
    const old = volumesOf(before);
    for (const { Source } of before.Mounts) writeFileSync(`${String(Source)}/marker`, 'old');
    const { outcomes, run } = await upkeep.update('--remove-volumes');
    expect(outcomes['web']?.outcome, run.stderr).toBe('updated');
    const now = volumesOf(await inspect('web'));
    expect(Object.keys(now).sort()).toEqual(['/data', '/kept', '/lone', '/own']);
    expect(now['/kept']).toBe('kept');
    for (const path of ['/data', '/lone', '/own']) {
      expect(now[path]).not.toBe(old[path]);
      expect(await exists(old[path] ?? '')).toBe(false);
      expect(await exists(now[path] ?? '')).toBe(true);
    }
  });

  test('an update without it takes them over, and a later one with it lets them go', async () => {
    const old = volumesOf(await stale('web', { ...storing, config }));
    await upkeep.update();
    expect(volumesOf(await inspect('web'))).toEqual(old);
    await push('web', webServer('v3', { Volumes: { '/data': {} } }));
    const { outcomes, run } = await upkeep.update('--remove-volumes');
    expect(outcomes['web']?.outcome, run.stderr).toBe('updated');
    for (const path of ['/data', '/lone', '/own']) expect(await exists(old[path] ?? '')).toBe(false);
    expect(volumesOf(await inspect('web'))['/kept']).toBe('kept');
  });

  test.each([
    ['name', () => 'data:ro'],
    ['id', (id: string) => id],
    ['the beginning of an id', (id: string) => id.slice(0, 6)],
  ])('keeps what another uses by volumes_from and %s', async (_, from) => {
    const data = await stale('data', storing);
    const shared = volumesOf(data)['/data'];
    await run('app', { config: { HostConfig: { VolumesFrom: [from(data.Id)] } } });
    for (const spec of [storing.next, storing.old]) {
      await push('data', spec);
      const { outcomes, run: told } = await upkeep.update('--remove-volumes');
      const expected = { data: { outcome: 'updated' }, app: { outcome: 'restarted' } };
      expect(outcomes, told.stderr).toMatchObject(expected);
      for (const name of ['data', 'app']) expect(volumesOf(await inspect(name))['/data']).toBe(shared);
    }
  });

  test('keeps what a stopped container uses, and all of a container whose update failed', async () => {
    const shared = volumesOf(await stale('web', { ...storing, config }))['/data'] ?? '';
    await engine.create('reader', image('web'), { HostConfig: { Binds: [`${shared}:/there`] } });
    const failing = volumesOf(await stale('failing', { ...storing, next: catalogue.crash, config }));
    const { outcomes, run } = await upkeep.update('--remove-volumes');
    expect(outcomes, run.stderr).toMatchObject({ web: { outcome: 'updated' }, failing: { outcome: 'rolled_back' } });
    expect(await exists(shared)).toBe(true);
    expect(volumesOf(await inspect('failing'))).toEqual(failing);
    for (const volume of Object.values(failing)) expect(await exists(volume)).toBe(true);
  });
});
