import { createHash, randomUUID } from 'node:crypto';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createOciRegistry } from '../../../src/adapters/oci/registry.ts';
import { createProber } from '../../../src/adapters/probe/prober.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { createInstance } from '../../../src/adapters/process/instance.ts';
import { readVerificationKeys } from '../../../src/adapters/process/verification-keys.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import type { Engine } from '../../../src/domain/outside/outside.ts';
import { parseImageReference, type Digest } from '../../../src/domain/image/image-reference.ts';
import { defaultSettings } from '../../../src/domain/settings/effective-settings.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { buildImage } from '../../lab/registry/image.ts';
import { pushArtifact, pushImage, pushIndex } from '../../lab/registry/push.ts';
import { blobOf, type CosignKey, makeCosignKey, signatureArtifact } from '../../support/registry/cosign.ts';
import {
  createHostileIndexes,
  type Descriptor,
  type HostileIndex,
  indexOf,
  type Images,
  knownHostileIndexes,
} from '../../support/registry/hostile-index.ts';
import { ociIndex } from '../../support/registry/registry-content.ts';
import { silentLog } from '../../support/test-log.ts';

/** `HOSTILE_INDEXES=500` is the number of random indexes, `HOSTILE_SEED=2` makes others. */
const { HOSTILE_INDEXES = '20', HOSTILE_SEED = '1' } = process.env;
const inOneRun = 20;

/** The part that the key has signed. With `nothing`, no signature is needed. */
type Signed = 'image' | 'index' | 'nothing';

/** Names of indexes. */
type Ends = Readonly<Record<'verified' | 'unchanged' | 'broken', string[]>>;

describeInLab('an index from which an engine chooses by rules of its own', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  async function begin(keys: readonly CosignKey[], change: (docker: Engine) => Partial<Engine> = () => ({})) {
    const clock = createSystemClock();
    const docker = createDockerEngine({ host: `unix://${engine.socket}`, clock });
    const insecureRegistries = () => Promise.resolve(['127.0.0.0/8']);
    const oci = createOciRegistry({ clock, version: 'test', insecureRegistries });
    onTestFinished(async () => {
      await Promise.all([docker.close(), oci.close()]);
    });
    const verificationKeys = await readVerificationKeys(keys.map(({ file }) => file));
    const application = createApplication(
      {
        ...{ registry: oci, prober: createProber(), clock, log: silentLog, newId: randomUUID },
        ...{ engine: { ...docker, ...change(docker) }, instance: createInstance(), verificationKeys },
      },
      { ...defaultSettings, healthWindowMs: 0, stopTimeoutMs: 1000, updateConcurrency: 8 },
    );
    return { ...application, describe: oci.describe };
  }

  /** Each index is behind the tag of a container of its own, and one run updates all of them. */
  async function updateTo(
    makers: readonly ((images: Images) => HostileIndex)[],
    signed: Signed = 'image',
  ): Promise<Ends> {
    const key = makeCosignKey('team');
    const application = await begin(signed === 'nothing' ? [] : [key]);
    const ends: Ends = { verified: [], unchanged: [], broken: [] };
    for (let at = 0; at < makers.length; at += inOneRun) {
      const scenes = [];
      for (const maker of makers.slice(at, at + inOneRun)) {
        const scene = await setScene(maker, { key, signed });
        scenes.push({ ...scene, wanted: signed === 'image' ? scene.good : await choiceOf(application, scene) });
      }
      await application.update({ trigger: 'command', images: [], containers: [] });
      for (const { name, before, index, wanted } of scenes)
        ends[endOf(before, await engine.inspect(name), wanted)].push(index.name);
      await engine.clear();
    }
    return ends;
  }

  /** The signature of an index counts for the image that Upkeep chooses from it; undefined if it refuses the index. */
  async function choiceOf(
    { describe }: Awaited<ReturnType<typeof begin>>,
    { image, digest }: Awaited<ReturnType<typeof setScene>>,
  ): Promise<Wanted | undefined> {
    const reference = parseImageReference(image);
    const platform = { os: 'linux', architecture: 'amd64', variant: '' };
    const chosen = await describe({ reference, digest, platform }).catch(() => undefined);
    return chosen && { digest: chosen.manifestDigest, configDigest: chosen.configDigest };
  }

  let scenes = 0;
  async function setScene(
    maker: (images: Images) => HostileIndex,
    { key, signed }: { readonly key: CosignKey; readonly signed: Signed },
  ) {
    scenes += 1;
    const name = `app-${scenes}`;
    const repository = `hostile/${process.pid}-${scenes}`;
    const image = `${registry.host}/${repository}`;
    await pushImage(registry, repository, 'stable', webServer('old'));
    await engine.pull(`${image}:stable`);
    await engine.run(name, `${image}:stable`, { StopTimeout: 1 });
    const before = (await engine.inspect(name))!;
    const good = await pushImage(registry, repository, 'good', webServer(`good ${name}`));
    const images = { good: descriptorOf(`good ${name}`), evil: descriptorOf(`evil ${name}`) };
    await pushImage(registry, repository, 'evil', webServer(`evil ${name}`));
    const inner = indexOf(images.evil);
    const nested = await pushText(repository, 'nested', inner);
    const index = maker({ ...images, nested });
    await pushText(repository, 'stable', index).catch(unlessRefused);
    const digest = digestOf(index.text);
    if (signed !== 'nothing') await sign(key, repository, signed === 'image' ? good.digest : digest);
    return { name, image, before, index, good: { ...good, version: 'good ' }, digest };
  }

  async function sign(key: CosignKey, repository: string, digest: string): Promise<void> {
    const artifact = signatureArtifact([key.signImage(digest, `${registry.host}/${repository}`)]);
    await pushArtifact(registry, repository, `${digest.replace(':', '-')}.sig`, artifact);
  }

  async function pushText(repository: string, tag: string, { text, mediaType }: Omit<HostileIndex, 'name'>) {
    const manifest = blobOf(mediaType, Buffer.from(text));
    await pushArtifact(registry, repository, tag, { manifest, blobs: [] });
    return { mediaType, digest: manifest.digest, size: manifest.bytes.length };
  }

  test.each([
    ['a signed index', true],
    ['an index, where no signature is needed', false],
  ])('what is told of the newest version is what runs, or nothing: %s with variants', async (_, isSigned) => {
    const key = makeCosignKey('team');
    const repository = `variants/${process.pid}-${isSigned}`;
    const image = `${registry.host}/${repository}`;
    await pushImage(registry, repository, 'stable', webServer('1.0'));
    await engine.pull(`${image}:stable`);
    await engine.run('app', `${image}:stable`, { StopTimeout: 1 });
    const entries = [];
    for (const variant of ['', 'v3', 'v2']) {
      const version = `2.0${variant}`;
      await pushImage(registry, repository, `amd64${variant}`, webServer(version));
      const platform = { os: 'linux', architecture: 'amd64', ...(variant !== '' && { variant }) };
      entries.push({ ...descriptorOf(version), platform });
    }
    const text = JSON.stringify({ schemaVersion: 2, mediaType: ociIndex, manifests: entries });
    const { digest } = await pushText(repository, 'stable', { text, mediaType: ociIndex });
    if (isSigned) await sign(key, repository, digest);
    const application = await begin(isSigned ? [key] : []);
    const checked = (await application.check({ images: [], containers: [] })).containers[0];
    expect(checked).toMatchObject({ status: 'stale', latestVersion: digest.slice(7, 19) });
    expect(checked).not.toHaveProperty('downloadBytes');
    const { containers } = await application.update({ trigger: 'command', images: [], containers: [] });
    expect(containers).toMatchObject([{ outcome: 'updated' }]);
    const running = JSON.stringify((await engine.inspect('app'))?.Config['Env']);
    expect(running).toMatch(isSigned ? /APP_VERSION=2\.0"/ : /APP_VERSION=2\.0/);
    expect((await application.check({ images: [], containers: [] })).containers).toMatchObject([{ status: 'fresh' }]);
  });

  test('runs the signed image, or nothing was stopped', async () => {
    const made = knownHostileIndexes(placeholders);
    const ends = await updateTo(made.map((_, at) => (images) => knownHostileIndexes(images)[at]!));
    expect(ends.broken).toEqual([]);
    // Elsewhere Upkeep itself chooses the unsigned image, or refuses the index for its two readings.
    expect(ends.verified).toEqual([
      ...['no system', 'an empty system', 'no architecture', 'an empty platform', 'no platform', 'a platform of null'],
      ...['variant v2', 'variant v3'],
    ]);
    expect(ends.unchanged).toHaveLength(made.length - ends.verified.length);
  });

  test('runs the image that was chosen from a signed index, or nothing was stopped', async () => {
    const made = knownHostileIndexes(placeholders);
    const ends = await updateTo(
      made.map((_, at) => (images) => knownHostileIndexes(images)[at]!),
      'index',
    );
    expect(ends.broken).toEqual([]);
    expect(ends.verified).toEqual(expect.arrayContaining(['no system', 'an empty platform', 'variant v3', 'features']));
  });

  test('does not end the engine', async () => {
    const started = async () => (await engine.call('GET', '/info')).status;
    const capitals = knownHostileIndexes(placeholders).findIndex(({ name }) => name === 'a capital in the system');
    for (const signed of ['nothing', 'index', 'image'] as const) {
      const ends = await updateTo([(images) => knownHostileIndexes(images)[capitals]!], signed);
      expect(ends).toMatchObject({ verified: [], unchanged: ['a capital in the system'] });
      expect(await started()).toBe(200);
    }
  });

  test.each(['image', 'index'] as const)(
    'runs the verified image, or nothing was stopped, after random changes: a signed %s',
    async (signed) => {
      const make = createHostileIndexes(Number(HOSTILE_SEED));
      const ends = await updateTo(
        Array.from({ length: Number(HOSTILE_INDEXES) }, () => make),
        signed,
      );
      expect(ends.broken).toEqual([]);
      expect(ends.verified).not.toEqual([]);
    },
    60_000 + Number(HOSTILE_INDEXES) * 5000,
  );

  describe('a tag that moves during the update', () => {
    /** `moves` is called before each call of the engine's method with that name. */
    async function updateWhile(
      at: 'pullImage' | 'createContainer',
      shape: 'image' | 'index',
      moves: (scene: { readonly repository: string; readonly key: CosignKey }) => Promise<void>,
    ) {
      scenes += 1;
      const repository = `moving/${process.pid}-${scenes}`;
      const image = `${registry.host}/${repository}:stable`;
      const key = makeCosignKey('team');
      await pushImage(registry, repository, 'stable', webServer('old'));
      await engine.pull(image);
      const id = await engine.run('app', image, { StopTimeout: 1 });
      const platforms = [{ os: 'linux', architecture: 'amd64' }, arm];
      const { digest } =
        shape === 'image'
          ? await pushImage(registry, repository, 'stable', webServer('good'))
          : await pushIndex(registry, repository, 'stable', webServer('good'), { platforms });
      await sign(key, repository, digest);
      let calls = 0;
      const move = async () => {
        calls += 1;
        await moves({ repository, key });
      };
      const application = await begin([key], (docker) => ({
        ...(at === 'pullImage' && {
          pullImage: async (request, signal) => {
            await move();
            return docker.pullImage(request, signal);
          },
        }),
        ...(at === 'createContainer' && {
          createContainer: async (name, recipe) => {
            await move();
            return docker.createContainer(name, recipe);
          },
        }),
      }));
      const { containers } = await application.update({ trigger: 'command', images: [], containers: [] });
      expect(calls).toBeGreaterThan(0);
      const { Id, State, Config } = (await engine.inspect('app'))!;
      const version = /APP_VERSION=(\w+)/.exec(JSON.stringify(Config['Env']))?.[1];
      return { outcome: containers[0], version, isOld: Id === id, isRunning: State.Running };
    }

    test.each(['image', 'index'] as const)(
      'to an unsigned image, between check and pull, has no effect: %s',
      async (shape) => {
        const ended = await updateWhile('pullImage', shape, async ({ repository }) => {
          await pushImage(registry, repository, 'stable', webServer('evil'));
        });
        expect(ended).toMatchObject({ outcome: { outcome: 'updated' }, version: 'good', isRunning: true });
      },
    );

    test('to another signed image, between check and pull, has no effect before the next check', async () => {
      const ended = await updateWhile('pullImage', 'image', async ({ repository, key }) => {
        const { digest } = await pushImage(registry, repository, 'stable', webServer('better'));
        await sign(key, repository, digest);
      });
      expect(ended).toMatchObject({ outcome: { outcome: 'updated' }, version: 'good', isRunning: true });
    });

    test.each(['image', 'index'] as const)(
      'in the engine, right before each creation, ends the update before anything is stopped: %s',
      async (shape) => {
        const ended = await updateWhile('createContainer', shape, pullEvil);
        expect(ended).toMatchObject({ version: 'old', isOld: true, isRunning: true });
        expect(ended.outcome?.outcome).not.toBe('updated');
        expect(ended.outcome?.reason).toMatch(/from another image than the one that was checked|the tag of .* moved/);
      },
    );

    test('in the engine, right before the first creation, ends with the image that was checked', async () => {
      let isFirst = true;
      const ended = await updateWhile('createContainer', 'image', async (scene) => {
        if (isFirst) await pullEvil(scene);
        isFirst = false;
      });
      expect(ended).toMatchObject({ outcome: { outcome: 'updated' }, version: 'good', isRunning: true });
    });

    async function pullEvil({ repository }: { readonly repository: string }): Promise<void> {
      await pushImage(registry, repository, 'stable', webServer('evil'));
      await engine.pull(`${registry.host}/${repository}:stable`);
    }
  });
});

/** The registry checks an index too, and may refuse it. Then the tag stays. */
function unlessRefused(error: unknown): void {
  if (!String(error).includes('MANIFEST_INVALID')) throw error;
}

type Wanted = { readonly digest: string; readonly configDigest: string; readonly version?: string };

function endOf(before: Inspected, now: Inspected | undefined, wanted: Wanted | undefined) {
  if (now === undefined) return 'broken';
  if (now.Id === before.Id)
    return now.State.StartedAt === before.State.StartedAt && now.State.Running ? 'unchanged' : 'broken';
  const { ImageManifestDescriptor } = now as Inspected & { readonly ImageManifestDescriptor?: { digest: string } };
  const runs = ImageManifestDescriptor?.digest ?? now.Image;
  const isWanted = runs === wanted?.digest || runs === wanted?.configDigest;
  return isWanted && JSON.stringify(now.Config['Env']).includes(`APP_VERSION=${wanted.version ?? ''}`)
    ? 'verified'
    : 'broken';
}

const digestOf = (text: string): Digest => `sha256:${createHash('sha256').update(text).digest('hex')}`;

function descriptorOf(version: string): Descriptor {
  const { mediaType, digest, bytes } = buildImage(webServer(version)).manifest;
  return { mediaType, digest, size: bytes.length };
}

const nothing = { mediaType: '', digest: '', size: 0 };
const placeholders: Images = { good: nothing, evil: nothing, nested: nothing };
const arm = { os: 'linux', architecture: 'arm64' };
