import { existsSync, mkdtempSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

/** Options that the engine receives from the environment. Their effect on an update has its own tests. */
describeInLab('options on a real engine', (lab) => {
  const { engine, registry } = lab;
  const { socket } = engine;
  const image = `${registry.host}/app:plain-v1`;
  const other = `${registry.host}/app:plain-v2`;
  afterEach(() => engine.clear());

  test('containers are chosen by name, image, label and scope', async () => {
    await Promise.all([engine.pull(image), engine.pull(other)]);
    await engine.run('web', image, { Labels: { tier: 'front' } });
    await engine.run('web-old', image);
    await engine.run('db', other, { Labels: { tier: 'back' } });
    await engine.run('scoped', image, { Labels: { 'com.centurylinklabs.watchtower.scope': 'blue' } });
    const watchedWith = async (env: Readonly<Record<string, string>>) =>
      Object.keys(await upkeepScene({ socket, env }).check()).toSorted((one, two) => one.localeCompare(two));
    const of = `${registry.host}/app`;

    expect(await watchedWith({})).toEqual(['db', 'web', 'web-old']);
    expect(await watchedWith({ WATCHTOWER_MONITOR_IMAGE_NAMES: `${of}:.*2` })).toEqual(['db']);
    expect(await watchedWith({ WATCHTOWER_SKIP_IMAGE_NAMES: `.*-v2 ${of}x` })).toEqual(['web', 'web-old']);
    expect(await watchedWith({ WATCHTOWER_ENABLE_CONTAINERS_BY_LABEL: 'tier=front,x=' })).toEqual(['web']);
    expect(await watchedWith({ WATCHTOWER_DISABLE_CONTAINERS_BY_LABEL: 'tier=' })).toEqual(['web-old']);
    expect(await watchedWith({ WATCHTOWER_DISABLE_CONTAINERS: 'web|d' })).toEqual(['db', 'web-old']);
    expect(await watchedWith({ WATCHTOWER_SCOPE: 'blue' })).toEqual(['scoped']);
    expect(await watchedWith({ WATCHTOWER_SCOPE: 'none', WATCHTOWER_LABEL_ENABLE: 'true' })).toEqual([]);
  });

  test.each(['1.24', '1.99'])('DOCKER_API_VERSION=%s is negotiated, with one warning', async (version) => {
    await engine.pull(image);
    await engine.run('web', image);
    const { code, stderr } = await runUpkeep(['check'], { socket, env: { DOCKER_API_VERSION: version } });
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('cannot be used'))).toEqual([
      expect.stringContaining(`API version \\"${version}\\" cannot be used`),
    ]);
  });

  test('--api-version is the version of every call that has one', async () => {
    const proxied = join(lab.dir, 'pinned.sock');
    const proxy = await createFaultProxy({ listen: { socketPath: proxied }, upstream: { socketPath: socket } });
    onTestFinished(() => proxy.close());
    await engine.pull(image);
    await engine.run('web', image);
    expect(await upkeepScene({ socket: proxied }).check('--api-version', '1.41')).toMatchObject({
      web: { status: 'fresh' },
    });
    const paths = proxy.calls.map(({ path }) => path).filter((path) => !/^\/(?:_ping|version)\b/.test(path));
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) expect(path).toMatch(/^\/v1\.41\//);
  });

  test('the socket of a rootless engine is found in XDG_RUNTIME_DIR, where there is no other', async () => {
    await engine.pull(image);
    await engine.run('web', image);
    const XDG_RUNTIME_DIR = mkdtempSync(join(lab.dir, 'runtime-'));
    symlinkSync(socket, join(XDG_RUNTIME_DIR, 'docker.sock'));
    const hidden = ['/run/docker.sock', '/run/podman'].filter((path) => existsSync(path));
    for (const path of hidden) renameSync(path, `${path}.hidden`);
    try {
      expect((await runUpkeep(['check'])).stderr).toContain('Cannot find a container engine');
      const found = await runUpkeep(['check'], { env: { XDG_RUNTIME_DIR } });
      expect(found.stdout, found.stderr).toContain('web');
    } finally {
      for (const path of hidden) renameSync(`${path}.hidden`, path);
    }
  });

  test('--porcelain v1 prints a line for each container, and nothing else', async () => {
    await engine.pull(image);
    await engine.run('web', image);
    const { code, stdout } = await runUpkeep(['run', '--run-once', '-P', 'v1'], { socket });
    expect([code, stdout]).toEqual([0, `web (${image}): Fresh\n`]);
  });

  test('--health-check says whether the engine answers', async () => {
    expect(await runUpkeep(['--health-check'], { socket })).toMatchObject({ code: 0, stdout: '' });
    const gone = await runUpkeep(['--health-check'], { socket: join(lab.dir, 'nobody.sock') });
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('Cannot reach the container engine')]);
  });
});
