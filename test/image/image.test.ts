import { readFileSync, statSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import type { Inspected } from '../lab/engine/engine-client.ts';
import { httpRequest } from '../lab/http.ts';
import { pushImage } from '../lab/registry/push.ts';
import { dataApp, describeData } from '../support/scene/data-app.ts';
import { isSampled } from '../support/sampled.ts';
import { describeImage } from './rig/describe-image.ts';
import { openImageScene, type ImageScene } from './rig/scene.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};
const megabyte = 1_000_000;

type ImageFacts = {
  readonly RootFS: { readonly Layers: readonly string[] };
  readonly Size: number;
  readonly Config: {
    readonly Labels: Readonly<Record<string, string>>;
    readonly Volumes: object;
    readonly StopSignal: string;
    readonly Healthcheck: { readonly Test: readonly string[] };
  };
};

/** `docker build` of the Dockerfile as it is; its base is made in the lab, under the name of the real one. */
describeImage('the image', (lab) => {
  const { engine } = lab;
  let scene: ImageScene;

  beforeAll(async () => {
    scene = await openImageScene(lab);
    await scene.docker('build', '--tag', 'upkeep', '.');
  });
  afterEach(async () => {
    const ids = await scene.docker('ps', '--all', '--quiet');
    if (ids !== '') await scene.docker('rm', '--force', '--volumes', ...ids.split('\n'));
  });

  async function factsOf(image: string): Promise<ImageFacts> {
    const [facts] = JSON.parse(await scene.docker('image', 'inspect', image)) as [ImageFacts];
    return facts;
  }

  describe('its content', () => {
    test('is the bundle and the tools in two layers of less than 10 MB, without packages and without source maps', async () => {
      const [image, base] = [await factsOf('upkeep'), await factsOf('node:24-alpine')];
      expect(image.RootFS.Layers).toHaveLength(base.RootFS.Layers.length + 2);
      expect(image.Size - base.Size).toBeLessThan(10 * megabyte);
      const files = await scene.docker('run', '--rm', '--entrypoint', 'find', 'upkeep', '/app', '-type', 'f');
      expect(files.split('\n')).toEqual(expect.arrayContaining(['/app/main.js', '/app/LICENSE', '/app/sbom.cdx.json']));
      expect(files.split('\n').filter((path) => /node_modules|\.map$|\.ts$/.test(path))).toEqual([]);
    });

    test('has the GNU tools that copy data, before those of its base', async () => {
      // By their own path from PATH: the shell of Debian's busybox prefers its own programs.
      const run = (tool: string, ...options: readonly string[]) =>
        scene.docker('run', '--rm', '--entrypoint', tool, 'upkeep', ...options);
      for (const tool of ['cp', 'find', 'du', 'stat', 'sync'])
        expect(await run(tool, '--version'), tool).toContain('GNU');
      expect(await run('du', '-sx', '--inodes', '/data')).toMatch(/^1\s/);
    });

    test.runIf(isSampled(0, 3))('two builds make the same layers, also without a cache', async () => {
      await scene.docker('build', '--no-cache', '--tag', 'upkeep-again', '.');
      expect((await factsOf('upkeep-again')).RootFS.Layers).toEqual((await factsOf('upkeep')).RootFS.Layers);
    });

    test('says its version, its health check, its volume and its signal', async () => {
      const { Config } = await factsOf('upkeep');
      expect(Config).toMatchObject({
        Volumes: { '/data': {} },
        StopSignal: 'SIGTERM',
        Healthcheck: { Test: ['CMD', 'node', '/app/main.js', '--health-check'] },
      });
      expect(Config.Labels['org.opencontainers.image.version']).toBe(version);
      expect(await scene.docker('run', '--rm', 'upkeep', '--version')).toBe(version);
    });
  });

  /** Started as an ordinary user of the socket's group, without capabilities, on a read-only file system. */
  async function startUpkeep(image: string, ...options: readonly string[]): Promise<void> {
    const group = statSync(engine.socket).gid;
    const restraint = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
    const mounts = ['--volume', `${engine.socket}:/var/run/docker.sock`, '--volume', 'upkeep-data:/data'];
    // The registry of the lab is on a loopback address.
    const host = ['--network', 'host', '--restart', 'unless-stopped', '--health-interval', '1s'];
    const user = ['--user', `1000:${group}`, '--env', 'UPKEEP_STATE_DIR=/data'];
    const command = ['run', '--log-format', 'logfmt', '--health-window', '1s', ...options];
    await scene.docker(
      'run',
      '--detach',
      '--name',
      'upkeep',
      ...user,
      ...restraint,
      ...mounts,
      ...host,
      image,
      ...command,
    );
  }

  const api = ['--http-api-endpoints', 'update,health', '--http-api-token', 'lab-token', '--http-api-port', '18080'];
  const askForUpdate = async () => {
    const headers = { authorization: 'Bearer lab-token' };
    const { body } = await httpRequest({ method: 'POST', url: 'http://127.0.0.1:18080/v1/update', headers });
    return JSON.parse(body.toString()) as {
      readonly summary: { readonly updated: number; readonly failed: number };
      readonly containers: readonly object[];
    };
  };

  async function startWeb(): Promise<string> {
    const image = `${lab.registry.host}/image/web:latest`;
    await pushImage(lab.registry, 'image/web', 'latest', catalogue.v1);
    await scene.docker('run', '--detach', '--pull', 'always', '--name', 'web', image);
    return image;
  }

  const versionOfWeb = async () => {
    const label = '{{index .Config.Labels "org.opencontainers.image.version"}}';
    return scene.docker('inspect', '--format', label, 'web');
  };

  test('updates containers as an ordinary user with the group of the socket, read-only, without capabilities', async () => {
    await startWeb();
    await startUpkeep('upkeep', ...api);
    await engine.waitFor('upkeep', ({ State }) => State.Health?.Status === 'healthy', 30_000);
    await pushImage(lab.registry, 'image/web', 'latest', catalogue.v2);
    expect(await scene.docker('exec', 'upkeep', 'upkeep', 'check', 'web')).toContain('1 update ready');
    // A small base has no /usr/bin/env.
    const read = "process.stdout.write(require('fs').readFileSync('/usr/local/bin/upkeep', 'utf8').split('\\n')[0])";
    expect(await scene.docker('exec', 'upkeep', 'node', '-e', read)).toMatch(/^#!(?:\/[^\s/]+)*\/node$/);
    expect((await askForUpdate()).summary).toMatchObject({ updated: 1, failed: 0 });
    expect(await versionOfWeb()).toBe('v2');
    const key = await scene.docker('exec', 'upkeep', 'ls', '-ln', '/data/journal.key');
    expect(key).toMatch(/^-rw------- +1 1000 /);
  });

  test('goes on after docker restart, and ends at once and well on docker stop', async () => {
    await startWeb();
    await startUpkeep('upkeep', ...api);
    await scene.logged('listening');
    await scene.docker('restart', 'upkeep');
    // A health check that began before the restart may end after it.
    const livez = { method: 'GET', url: 'http://127.0.0.1:18080/livez' } as const;
    await vi.waitFor(() => httpRequest(livez), { timeout: 30_000, interval: 200 });
    await engine.waitFor('upkeep', ({ State }) => State.Health?.Status === 'healthy', 30_000);
    await pushImage(lab.registry, 'image/web', 'latest', catalogue.v2);
    expect((await askForUpdate()).summary).toMatchObject({ updated: 1, failed: 0 });
    await scene.docker('stop', 'upkeep');
    expect((await engine.inspect('upkeep'))?.State.ExitCode).toBe(0);
  });

  test('is its own helper: copies the data of a container, and puts them back after a failed version', async () => {
    const image = `${lab.registry.host}/image/db:latest`;
    await pushImage(lab.registry, 'image/db', 'latest', dataApp['small-v1']);
    const volumes = ['--volume', 'kept:/data', '--volume', 'outside:/outside'];
    const ofWeb = ['--name', 'web', '--restart', 'always', '--label', 'upkeep.data=/data', ...volumes];
    await scene.docker('run', '--detach', '--pull', 'always', ...ofWeb, image);
    const web = async () => (await engine.inspect('web'))!;
    const tokens = async () => scene.docker('exec', 'web', 'cat', '/data/tokens');
    await vi.waitFor(async () => expect(await tokens()).not.toBe(''), { timeout: 30_000, interval: 200 });
    const before = describeData(await web());
    await startUpkeep('upkeep', ...api);
    await engine.waitFor('upkeep', ({ State }) => State.Health?.Status === 'healthy', 30_000);
    await pushImage(lab.registry, 'image/db', 'latest', dataApp['small-bad']);
    const { containers } = await askForUpdate();
    const told = { name: 'web', outcome: 'rolled_back', data: expect.objectContaining({ restored: true }) };
    expect(containers, JSON.stringify(containers)).toContainEqual(expect.objectContaining(told));
    const after = await web();
    expect([after.Config.Labels['org.opencontainers.image.version'], after.State.Running]).toEqual(['small-v1', true]);
    expect(describeData(after)).toBe(before);
    expect(await scene.docker('ps', '--all', '--format', '{{.Names}}')).toMatch(/^(?:upkeep\nweb|web\nupkeep)$/);
    expect(await scene.docker('volume', 'ls', '--quiet', '--filter', 'label=upkeep.data.of')).toBe('');
    await scene.docker('rm', '--force', 'web');
    await scene.docker('volume', 'rm', 'kept', 'outside');
  });

  const kept = ({ Config, HostConfig, Mounts }: Inspected) => ({
    user: Config['User'],
    command: Config['Cmd'],
    readOnly: HostConfig['ReadonlyRootfs'],
    dropped: HostConfig['CapDrop'],
    options: HostConfig['SecurityOpt'],
    policy: HostConfig.RestartPolicy,
    mounts: Mounts.map(({ Destination, Source }) => `${String(Source)} ${String(Destination)}`).toSorted(),
  });

  async function startOldVersion(next: string): Promise<Inspected> {
    await scene.publish('upkeep');
    await scene.docker('pull', '--quiet', scene.stable);
    await scene.docker('tag', scene.stable, 'upkeep-old');
    await scene.publish(next);
    await scene.docker('tag', 'upkeep-old', scene.stable);
    await startUpkeep(scene.stable, '--update-on-start');
    return (await engine.inspect('upkeep'))!;
  }

  // The two take a minute each, so a push runs one of them.
  test.runIf(isSampled(0, 2))('updates itself by way of a helper, with every setting as it was', async () => {
    await scene.docker('build', '--tag', 'upkeep-next', '--build-arg', 'VERSION=99.0.0', '.');
    const before = await startOldVersion('upkeep-next');
    await scene.logged(`Upkeep itself was updated from ${version} to 99.0.0`);
    const after = (await engine.inspect('upkeep'))!;
    expect(after.Id).not.toBe(before.Id);
    expect(after.Config.Labels['org.opencontainers.image.version']).toBe('99.0.0');
    expect(kept(after)).toEqual(kept(before));
    expect(await scene.docker('ps', '--all', '--format', '{{.Names}}')).toBe('upkeep');
  });

  test.runIf(isSampled(1, 2))('takes itself back from a version that does not start', async () => {
    await scene.derive(
      'upkeep-bad',
      'FROM upkeep',
      'LABEL org.opencontainers.image.version=99.0.1',
      'RUN echo broken > /app/main.js',
    );
    const before = await startOldVersion('upkeep-bad');
    const log = await scene.logged(`Upkeep itself was not updated from ${version} to 99.0.1`);
    const after = (await engine.inspect('upkeep'))!;
    expect(after.Id).toBe(before.Id);
    expect(after.State.Running).toBe(true);
    expect(log).toContain('broken');
    expect(await scene.docker('ps', '--all', '--format', '{{.Names}}')).toBe('upkeep');
  });
});
