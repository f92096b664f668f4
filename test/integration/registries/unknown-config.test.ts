import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { hasContainerdStore } from '../../lab/engine/image-id.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { buildImage } from '../../lab/registry/image.ts';
import { pushArtifact } from '../../lab/registry/push.ts';
import { type FrontCall, type Said, startFront } from '../../lab/registry/registry-front.ts';
import { blobOf, makeCosignKey } from '../../support/registry/cosign.ts';
import { ociIndex } from '../../support/registry/registry-content.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

type Version = {
  readonly version: string;
  /** Of gzip: an engine that has the layers in another compression does not know the configuration. 0: as built. */
  readonly level: number;
  readonly labels?: Readonly<Record<string, string>>;
};

/**
 * An image whose layers the engine has already, in another compression. Docker's containerd image store does not download
 * them again, and then shows the image without its configuration.
 */
describeInLab('an image with a layer that the engine has in another compression', (lab) => {
  const { engine, registry } = lab;
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  let repositories = 0;
  async function createRepository({ isIndex = false, says = (_: FrontCall): Said => ({}) } = {}) {
    repositories += 1;
    const front = await startFront({ upstreams: {}, otherwise: registry.url, says });
    onTestFinished(() => front.close());
    const repository = `unknown/${process.pid}-${repositories}`;
    const image = `127.0.0.1:${front.port}/${repository}:stable`;

    /** The layers are the same for every version. */
    async function push({ version, level, labels = {} }: Version) {
      const built = buildImage(webServer('base'));
      const layers = built.layers.map(({ mediaType, bytes }) =>
        blobOf(mediaType, level === 0 ? bytes : gzipSync(gunzipSync(bytes), { level })),
      );
      const json = JSON.parse(built.config.bytes.toString()) as { config: object };
      const config = { ...json.config, Env: [`VERSION=${version}`], Labels: labels, StopSignal: 'SIGTERM' };
      const configBlob = blobOf(built.config.mediaType, Buffer.from(JSON.stringify({ ...json, config })));
      const describe = ({ mediaType, digest, bytes }: ReturnType<typeof blobOf>) => ({
        mediaType,
        digest,
        size: bytes.length,
      });
      const { mediaType } = built.manifest;
      const body = { schemaVersion: 2, mediaType, config: describe(configBlob), layers: layers.map(describe) };
      const manifest = blobOf(mediaType, Buffer.from(JSON.stringify(body)));
      const pushed = { manifest, blobs: [...layers, configBlob] };
      await pushArtifact(registry, repository, isIndex ? `amd64-${version}` : 'stable', pushed);
      if (isIndex) await pushIndexOf({ ...describe(manifest), platform: { os: 'linux', architecture: 'amd64' } });
      return { manifest: manifest.digest, config: configBlob.digest };
    }

    async function pushIndexOf(entry: object): Promise<void> {
      const { manifest, layers, config } = buildImage({ ...webServer('foreign'), platform: arm });
      await pushArtifact(registry, repository, 'arm64', { manifest, blobs: [...layers, config] });
      const other = { mediaType: manifest.mediaType, digest: manifest.digest, size: manifest.bytes.length };
      const manifests = [{ ...other, platform: arm }, entry];
      const text = JSON.stringify({ schemaVersion: 2, mediaType: ociIndex, manifests });
      await pushArtifact(registry, repository, 'stable', { manifest: blobOf(ociIndex, Buffer.from(text)), blobs: [] });
    }

    const run = async (labels: Readonly<Record<string, string>> = {}) => {
      await engine.pull(image);
      return engine.run('app', image, { StopTimeout: 1, Labels: labels, Env: ['OWN=yes'] });
    };
    /** A container of a version whose configuration the engine does not know. */
    async function runUnknown(labels: Version['labels'] = {}, own: Version['labels'] = {}) {
      await push({ version: '1', level: 0 });
      await run();
      await engine.call('DELETE', '/containers/app?force=1');
      const digests = await push({ version: '2', level: 9, labels });
      return { ...digests, id: await run(own) };
    }
    return { push, run, runUnknown, front, repository };
  }

  const app = async () => {
    const { Id: id, State, Config } = (await engine.inspect('app'))!;
    // Podman adds variables of its own.
    const env = (Config['Env'] as string[]).filter((line) => /^(OWN|VERSION)=/.test(line)).toSorted();
    return { id, isRunning: State.Running, env, labels: Config.Labels };
  };
  const shapes = [
    ['a manifest', { isIndex: false }],
    ['an index', { isIndex: true }],
  ] as const;

  test.each(shapes)('runs with its own configuration: %s', async (_, shape) => {
    const { push, run } = await createRepository(shape);
    await push({ version: '1', level: 0, labels: { of: 'image 1' } });
    await run({ own: 'label' });
    await push({ version: '2', level: 9, labels: { of: 'image 2' } });
    expect((await upkeep.update()).outcomes).toMatchObject({ app: { outcome: 'updated' } });
    expect(await app()).toMatchObject({
      isRunning: true,
      env: ['OWN=yes', 'VERSION=2'],
      labels: { own: 'label', of: 'image 2' },
    });
    expect(await upkeep.check()).toMatchObject({ app: { status: 'fresh' } });
  });

  test.each(shapes)('is replaced by the next version, with the settings of its owner only: %s', async (_, shape) => {
    const { push, runUnknown } = await createRepository(shape);
    await runUnknown({ of: 'image 2' }, { own: 'label' });
    await push({ version: '3', level: 0 });
    expect((await upkeep.update()).outcomes).toMatchObject({ app: { outcome: 'updated' } });
    const { env, labels } = await app();
    expect(env).toEqual(['OWN=yes', 'VERSION=3']);
    expect(labels).toMatchObject({ own: 'label' });
    expect(labels).not.toHaveProperty('of');
  });

  test('decides nothing by its labels, and those of its owner count', async () => {
    const key = makeCosignKey('team');
    const { push, runUnknown } = await createRepository();
    const { id } = await runUnknown({ 'upkeep.verify': 'off', 'upkeep.policy': 'major' }, { 'upkeep.approve': 'true' });
    await push({ version: '3', level: 0 });
    const state = ['--state-dir', `${lab.dir}/unknown-config`];
    const { app: unsigned } = await upkeep.check('--verify-key', key.file, ...state);
    expect(unsigned).toMatchObject({ status: 'held', hold: 'unsigned' });
    expect(await upkeep.check(...state)).toMatchObject({ app: { status: 'held', hold: 'approval' } });
    for (const args of [['--verify-key', key.file], []]) {
      expect((await upkeep.update(...args, ...state)).outcomes).toMatchObject({ app: { outcome: 'skipped' } });
      expect(await app()).toMatchObject({ id, env: ['OWN=yes', 'VERSION=2'] });
    }
  });

  test.each(shapes)('can be rolled back, and to: %s', async (_, shape) => {
    const { push, run } = await createRepository(shape);
    await push({ version: '1', level: 0 });
    await run();
    for (const [version, level] of [
      ['2', 9],
      ['3', 8],
    ] as const) {
      await push({ version, level });
      expect((await upkeep.update()).outcomes).toMatchObject({ app: { outcome: 'updated' } });
    }
    const rolled = await runUpkeep(['rollback', 'app', '--health-window', '1s'], { socket: engine.socket });
    expect(rolled).toMatchObject({ code: 0 });
    expect(await app()).toMatchObject({ isRunning: true, env: ['OWN=yes', 'VERSION=2'] });
  });

  test.runIf(hasContainerdStore).each<[string, (digests: Readonly<Record<'manifest' | 'config', string>>) => Answer]>([
    ['refuses it', ({ config }) => [config, { status: 403, body: '{}' }, 'access is denied']],
    ['has deleted its manifest', ({ manifest }) => [manifest, { status: 404, body: '{}' }, 'it has no manifest']],
    ['has deleted its configuration', ({ config }) => [config, { status: 404, body: '{}' }, 'it has no blob']],
    [
      'gives another',
      ({ config }) => [config, { status: 200, body: '{"config":{}}' }, 'its content does not have the digest'],
    ],
    [
      'gives another manifest',
      ({ manifest }) => [manifest, { status: 200, body: '{}' }, 'its content does not have the digest'],
    ],
  ])('holds its container with the reason, if the registry %s', async (_, answerOf) => {
    const front = { said: undefined as Answer | undefined };
    const says = ({ path }: FrontCall): Said => {
      const [end, refusal] = front.said ?? [];
      return end !== undefined && refusal !== undefined && path.endsWith(end) ? { refusal } : {};
    };
    const { push, runUnknown } = await createRepository({ says });
    const { id, ...digests } = await runUnknown({ 'upkeep.verify': 'off' });
    await push({ version: '3', level: 0 });
    const said = answerOf(digests);
    front.said = said;
    const { app: checked } = await upkeep.check();
    expect(checked).toMatchObject({ status: 'unknown', update_available: false });
    expect(checked?.reason).toContain('The engine does not know the configuration of the image that runs');
    expect(checked?.reason).toContain(said[2]);
    expect((await upkeep.update()).outcomes).toMatchObject({ app: { outcome: 'unknown' } });
    expect(await app()).toMatchObject({ id, isRunning: true, env: ['OWN=yes', 'VERSION=2'] });
  });

  test.runIf(hasContainerdStore)('is not run, if its configuration cannot be read', async () => {
    let refused = '';
    const says = ({ path, agent }: FrontCall): Said =>
      refused !== '' && path.endsWith(refused) && !agent.startsWith('docker/')
        ? { refusal: { status: 500, body: '{}' } }
        : {};
    const { push, run } = await createRepository({ says });
    await push({ version: '1', level: 0 });
    const id = await run();
    refused = (await push({ version: '2', level: 9 })).config;
    const { app: entry } = (await upkeep.update()).outcomes;
    expect(entry?.outcome).not.toBe('updated');
    expect(await app()).toMatchObject({ id, isRunning: true, env: ['OWN=yes', 'VERSION=1'] });
  });
});

/** The end of the path, its answer, and a part of the reason. */
type Answer = readonly [string, NonNullable<Said['refusal']>, string];

const arm = { os: 'linux', architecture: 'arm64' };
