import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { hasContainerdStore } from '../lab/engine/image-id.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import type { Inspected } from '../lab/engine/engine-client.ts';
import { pushImage, pushIndex } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

describeInLab('containers of one tag for several architectures', (lab) => {
  const { engine, registry } = lab;
  const own = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const other = process.arch === 'arm64' ? 'arm' : '386';
  const platforms = [own, other].map((architecture) => ({ os: 'linux', architecture }));
  const image = `${registry.host}/main/platforms:stable`;
  afterEach(() => engine.clear());

  async function run(name: string, platform: string): Promise<void> {
    await engine.call('POST', `/images/create?fromImage=${encodeURIComponent(image)}&platform=${platform}`);
    const created = await engine.call('POST', `/containers/create?name=${name}&platform=${platform}`, { Image: image });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    await engine.call('POST', `/containers/${name}/start`);
  }

  async function architectureOf(name: string): Promise<unknown> {
    const container: (Inspected & ContainersPlatform) | undefined = await engine.inspect(name);
    const { body } = await engine.call('GET', `/images/${container?.Image}/json`);
    const { Architecture } = body as { readonly Architecture?: string };
    return container?.ImageManifestDescriptor?.platform?.architecture ?? Architecture;
  }

  const push = (version: string) => pushIndex(registry, 'main/platforms', 'stable', webServer(version), { platforms });

  async function update() {
    const { stdout } = await runUpkeep(['update', '--json', '--health-window', '1s'], { socket: engine.socket });
    const { containers } = JSON.parse(stdout) as {
      readonly containers: readonly { readonly name: string; readonly outcome: string; readonly reason: string }[];
    };
    return containers.map(({ name, outcome, reason }) => `${name}: ${outcome} ${reason}`.trim());
  }

  test('a container of another architecture than the engine keeps its own', async () => {
    await push('v1');
    await run('other', `linux/${other}`);
    await push('v2');
    expect(await update()).toEqual(['other: updated']);
    expect(await architectureOf('other')).toBe(other);
  });

  test.runIf(hasContainerdStore)(
    'beside one of the own architecture and the same image, it keeps its own',
    async () => {
      await push('v1');
      for (const [name, architecture] of [
        ['own', own],
        ['other', other],
      ] as const)
        await run(name, `linux/${architecture}`);
      await push('v2');
      expect((await update()).toSorted()).toEqual(['other: updated', 'own: updated']);
      expect(await architectureOf('own')).toBe(own);
      expect(await architectureOf('other')).toBe(other);
    },
  );

  // Docker's own image store keeps one image for each digest, so it may refuse the second pull.
  test('beside one of the own architecture, none gets the image of the other', async () => {
    await push('v1');
    await run('other', `linux/${other}`);
    await push('v2');
    await run('own', `linux/${own}`);
    await push('v3');
    await update();
    expect(await architectureOf('other')).toBe(other);
    expect(await architectureOf('own')).toBe(own);
  });
});

describeInLab('images as only engines understand them', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  async function statusAndOutcome(push: (version: string) => Promise<unknown>, image: string) {
    await push('v1');
    const { status, body } = await engine.call('POST', `/images/create?fromImage=${encodeURIComponent(image)}`);
    if (status !== 200 || JSON.stringify(body).includes('error')) return 'the engine refuses it';
    await engine.run('web', image, { StopTimeout: 1 });
    const check = async () => {
      const { stdout } = await runUpkeep(['check', '--json'], { socket: engine.socket });
      return (JSON.parse(stdout) as { containers: { status: string }[] }).containers[0]?.status;
    };
    const before = await check();
    await push('v2');
    const { stdout } = await runUpkeep(['update', '--json', '--health-window', '1s'], { socket: engine.socket });
    const { containers } = JSON.parse(stdout) as { containers: { outcome: string; reason: string }[] };
    return [before, ...containers.map(({ outcome, reason }) => `${outcome} ${reason}`.trim()), await check()];
  }

  test.each([
    ['an index in an index', { isNested: true, platforms: [{ os: 'linux', architecture: 'amd64' }] }],
    [
      'an index in an index, of two platforms',
      {
        isNested: true,
        platforms: [
          { os: 'linux', architecture: 's390x' },
          { os: 'linux', architecture: 'amd64' },
        ],
      },
    ],
  ])('%s is checked and updated', async (name, index) => {
    const repository = `main/nested-${index.platforms.length}`;
    const spec = (version: string) => ({ ...webServer(version), format: 'oci' as const });
    const push = (version: string) => pushIndex(registry, repository, 'stable', spec(version), index);
    const found = await statusAndOutcome(push, `${registry.host}/${repository}:stable`);
    if (found !== 'the engine refuses it') expect(found, name).toEqual(['fresh', 'updated', 'fresh']);
    else expect(hasContainerdStore).toBe(false);
  });

  test.each([
    ['without a system and an architecture', { os: '', architecture: '' }],
    ['without an architecture', { os: 'linux', architecture: '' }],
  ])('an image %s is checked and updated', async (_, platform) => {
    const repository = `main/undeclared-${platform.os || 'both'}`;
    const push = (version: string) => pushImage(registry, repository, 'stable', { ...webServer(version), platform });
    const found = await statusAndOutcome(push, `${registry.host}/${repository}:stable`);
    if (found !== 'the engine refuses it') expect(found).toEqual(['fresh', 'updated', 'fresh']);
  });
});

/** With containerd's image store, one image id means all platforms. */
type ContainersPlatform = {
  readonly ImageManifestDescriptor?: { readonly platform?: { readonly architecture?: string } };
};
