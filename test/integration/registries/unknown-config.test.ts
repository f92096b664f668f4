import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { hasContainerdStore } from '../../lab/engine/image-id.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { buildImage } from '../../lab/registry/image.ts';
import { pushArtifact } from '../../lab/registry/push.ts';
import { blobOf, makeCosignKey } from '../../support/registry/cosign.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

/**
 * An image whose layers the engine has already, in another compression. Docker's containerd image store does not download
 * them again, and then shows the image without its configuration.
 */
describeInLab('an image with a layer that the engine has in another compression', (lab) => {
  const { engine, registry } = lab;
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  let repositories = 0;
  function createRepository() {
    repositories += 1;
    const repository = `unknown/${process.pid}-${repositories}`;
    const image = `${registry.host}/${repository}:stable`;
    /** The layers are the same for every version. */
    async function push(version: string, level: number, labels: Readonly<Record<string, string>> = {}): Promise<void> {
      const built = buildImage(webServer('base'));
      const layers = built.layers.map(({ mediaType, bytes }) =>
        blobOf(mediaType, level === 0 ? bytes : gzipSync(gunzipSync(bytes), { level })),
      );
      const json = JSON.parse(built.config.bytes.toString()) as { config: object };
      const config = blobOf(
        built.config.mediaType,
        Buffer.from(
          JSON.stringify({ ...json, config: { ...json.config, Env: [`VERSION=${version}`], Labels: labels } }),
        ),
      );
      const describe = ({ mediaType, digest, bytes }: ReturnType<typeof blobOf>) => ({
        mediaType,
        digest,
        size: bytes.length,
      });
      const { mediaType } = built.manifest;
      const body = { schemaVersion: 2, mediaType, config: describe(config), layers: layers.map(describe) };
      const manifest = blobOf(mediaType, Buffer.from(JSON.stringify(body)));
      await pushArtifact(registry, repository, 'stable', { manifest, blobs: [...layers, config] });
    }
    const run = async (labels: Readonly<Record<string, string>> = {}) => {
      await engine.pull(image);
      return engine.run('app', image, { StopTimeout: 1, Labels: labels });
    };
    return { push, run };
  }

  const app = async () => {
    const container = await engine.inspect('app');
    return { id: container?.Id, isRunning: container?.State.Running, env: container?.Config['Env'] };
  };

  test('is not run, if the engine does not know its configuration', async () => {
    const { push, run } = createRepository();
    await push('1', 0);
    const id = await run();
    await push('2', 9);
    const { app: entry } = (await upkeep.update()).outcomes;
    if (!hasContainerdStore) {
      expect(entry).toMatchObject({ outcome: 'updated' });
      expect(await app()).toMatchObject({ isRunning: true, env: expect.arrayContaining(['VERSION=2']) });
      return;
    }
    expect(entry).toMatchObject({ outcome: 'failed' });
    expect(entry?.reason).toContain('the engine does not know the configuration of the new image');
    expect(await app()).toMatchObject({ id, isRunning: true });
  });

  test.runIf(hasContainerdStore)(
    'decides nothing while it runs: neither its labels nor its defaults count',
    async () => {
      const key = makeCosignKey('team');
      const { push, run } = createRepository();
      await push('1', 0);
      await run();
      await engine.call('DELETE', '/containers/app?force=1');
      await push('2', 9, { 'upkeep.verify': 'off' });
      const id = await run({ 'upkeep.cooldown-delay': '1h' });
      await push('3', 0);
      const { app: checked } = await upkeep.check('--verify-key', key.file);
      expect(checked).toMatchObject({ status: 'unknown', update_available: false });
      expect(checked?.reason).toContain('The engine does not know the configuration of the image that runs');
      for (const args of [['--verify-key', key.file], []]) {
        const { app: entry } = (await upkeep.update(...args)).outcomes;
        expect(entry).toMatchObject({ outcome: 'unknown' });
        expect(await app()).toMatchObject({ id, isRunning: true, env: expect.arrayContaining(['VERSION=2']) });
      }
    },
  );
});
