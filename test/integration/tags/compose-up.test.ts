import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dockerAt } from '../../image/rig/docker.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { obtainPlugins } from '../../lab/engine/engines.mjs';
import { webServer } from '../../lab/registry/catalogue.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { tagsScene } from './scene.ts';

describeInLab('compose after an update to a higher tag', (lab) => {
  const { engine } = lab;
  const docker = dockerAt(lab.dir, engine.socket);
  const { failure } = obtainPlugins();
  beforeEach((context) => {
    if (failure !== undefined) skipBecause(context, failure);
  });
  afterEach(() => engine.clear());

  const labelsOf = async () => (await engine.inspect('app'))!.Config.Labels;

  /** A service "app" with a policy, whose file has the tag 1.27. */
  async function shop(scene: ReturnType<typeof tagsScene>) {
    await scene.push('1.27');
    const file = join(mkdtempSync(join(lab.dir, 'compose-')), 'compose.yaml');
    const labels = 'labels: [upkeep.policy=minor]';
    const write = (more = '') =>
      writeFileSync(
        file,
        `services: {app: {image: "${scene.image}:1.27", container_name: app, stop_grace_period: 1s, ${labels}${more}}}\n`,
      );
    write();
    const up = (...more: string[]) => docker('compose', '--project-name', 'shop', '-f', file, 'up', '-d', ...more);
    await up('--pull', 'always');
    return { up, write, file };
  }

  test('set-up compose file with an old tag: leaves it, after a second update and one of the same tag too; config-hash stays', async () => {
    const scene = tagsScene(lab);
    const { push, update, tag } = scene;
    const { up } = await shop(scene);
    const { 'com.docker.compose.config-hash': hash, 'com.docker.compose.image': image } = await labelsOf();
    const moves: readonly [string, string, string | undefined][] = [
      ['1.28', '1.28', undefined],
      ['1.29', '1.29', undefined],
      ['1.29 rebuilt', '1.29', '1.29'],
    ];
    for (const [version, expected, pushedTag] of moves) {
      await push(pushedTag ?? version, webServer(version));
      expect(await update(), version).toMatchObject({ outcome: 'updated' });
      expect(await tag()).toBe(expected);
      const before = (await engine.inspect('app'))!.Id;
      await up();
      expect((await engine.inspect('app'))!.Id, version).toBe(before);
      expect(await labelsOf()).toMatchObject({
        'com.docker.compose.config-hash': hash,
        'com.docker.compose.image': image,
      });
    }
    await up('--pull', 'always');
    expect(await tag()).toBe('1.29');
  });

  test('set-up compose file with an old tag: leaves it also when the old image has been removed, and after a rollback', async () => {
    const scene = tagsScene(lab);
    const { push, update, tag } = scene;
    const { up } = await shop(scene);
    await push('1.28');
    expect(await update('--cleanup')).toMatchObject({ outcome: 'updated' });
    await up();
    expect(await tag()).toBe('1.28');
    const { code } = await runUpkeep(['rollback', 'app', '--health-window', '1s'], { socket: engine.socket });
    expect(code).toBe(0);
    expect(await tag()).toBe('1.27');
    const before = (await engine.inspect('app'))!.Id;
    await up();
    expect((await engine.inspect('app'))!.Id).toBe(before);
  });

  test('set-up compose file with an old tag: recreates it from its file when the service in the file changes', async () => {
    const scene = tagsScene(lab);
    const { push, update, tag } = scene;
    const { up, write } = await shop(scene);
    await push('1.28');
    expect((await update()).reason).toContain('the compose file may still name');
    write(', environment: {A: b}');
    await up();
    expect(await tag()).toBe('1.27');
  });

  test.each([
    ['in the same run', true],
    ['in a run before it', false],
  ])(
    'set-up compose file with an old tag: leaves each, where the old tag itself has a new image that a neighbour gets %s',
    async (_, isSameRun) => {
      const scene = tagsScene(lab);
      await scene.push('1.27');
      const file = join(mkdtempSync(join(lab.dir, 'compose-')), 'compose.yaml');
      const service = (name: string, more = '') =>
        `${name}: {image: "${scene.image}:1.27", stop_grace_period: 1s${more}}`;
      const moving = ', labels: [upkeep.policy=minor], deploy: {replicas: 2}';
      writeFileSync(file, `services: {${service('app', moving)}, ${service('neighbour')}}\n`);
      const up = () => docker('compose', '--project-name', 'shop', '-f', file, 'up', '-d');
      const update = async () => {
        const { code, stdout } = await runUpkeep(['update', '--health-window', '1s'], { socket: engine.socket });
        expect(code, stdout).toBe(0);
      };
      const all = ['shop-app-1', 'shop-app-2', 'shop-neighbour-1'];
      const state = () =>
        Promise.all(all.map(async (name) => (await engine.inspect(name)) as { Id: string; Config: { Image: string } }));
      await up();
      await scene.push('1.27', webServer('1.27 rebuilt'));
      if (!isSameRun) await update();
      await scene.push('1.28');
      await update();
      const updated = await state();
      expect(updated.map(({ Config }) => Config.Image.split(':').at(-1))).toEqual(['1.28', '1.28', '1.27']);
      await up();
      expect((await state()).map(({ Id }) => Id)).toEqual(updated.map(({ Id }) => Id));
    },
  );

  /** Compose puts the id of the container whose network it uses into the hash: no update can write that hash. */
  test.each(['web', 'vpn'])(
    'set-up network of another service: leaves "%s", and creates once what uses its network',
    async (owner) => {
      const scene = tagsScene(lab);
      await scene.push('1.27');
      const file = join(mkdtempSync(join(lab.dir, 'compose-')), 'compose.yaml');
      const service = (name: string, more = '') =>
        `${name}: {image: "${scene.image}:1.27", container_name: ${name}, stop_grace_period: 1s${more}}`;
      const guest = service('guest', `, command: [sleep, "1000000"], network_mode: "service:${owner}"`);
      writeFileSync(file, `services: {${service(owner)}, ${guest}, ${service('other')}}\n`);
      const up = () => docker('compose', '--project-name', 'shop', '-f', file, 'up', '-d');
      const ids = async () =>
        Promise.all([owner, 'guest', 'other'].map(async (name) => (await engine.inspect(name))?.Id));
      await up();
      await scene.push('1.27', webServer('1.27 rebuilt'));
      const { code } = await runUpkeep(['update', '--health-window', '1s'], { socket: engine.socket });
      expect(code).toBe(0);
      const updated = await ids();
      await up();
      const first = await ids();
      expect([first[0], first[2]]).toEqual([updated[0], updated[2]]);
      expect(first[1]).not.toBe(updated[1]);
      expect(await engine.inspect('guest')).toMatchObject({
        State: { Status: 'running' },
        HostConfig: { NetworkMode: `container:${first[0]}` },
      });
      await up();
      expect(await ids()).toEqual(first);
    },
  );
});
