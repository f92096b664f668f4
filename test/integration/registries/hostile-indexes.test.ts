import { randomUUID } from 'node:crypto';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createOciRegistry } from '../../../src/adapters/oci/registry.ts';
import { createProber } from '../../../src/adapters/probe/prober.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { createInstance } from '../../../src/adapters/process/instance.ts';
import { readVerificationKeys } from '../../../src/adapters/process/verification-keys.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import { defaultSettings } from '../../../src/domain/settings/service-settings.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { buildImage } from '../../lab/registry/image.ts';
import { pushArtifact, pushImage } from '../../lab/registry/push.ts';
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

/** Names of indexes. */
type Ends = Readonly<Record<'verified' | 'unchanged' | 'broken', string[]>>;

describeInLab('an index from which an engine chooses by rules of its own', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  async function begin(keys: readonly CosignKey[]) {
    const clock = createSystemClock();
    const docker = createDockerEngine({ host: `unix://${engine.socket}`, clock });
    const insecureRegistries = () => Promise.resolve(['127.0.0.0/8']);
    const oci = createOciRegistry({ clock, version: 'test', insecureRegistries });
    onTestFinished(async () => {
      await Promise.all([docker.close(), oci.close()]);
    });
    const verificationKeys = await readVerificationKeys(keys.map(({ file }) => file));
    return createApplication(
      {
        ...{ engine: docker, registry: oci, prober: createProber(), clock, log: silentLog, newId: randomUUID },
        ...{ instance: createInstance(), verificationKeys },
      },
      { ...defaultSettings, gateWindowMs: 0, stopTimeoutMs: 1000, updateConcurrency: 8 },
    );
  }

  /** Each index is behind the tag of a container of its own, and one run updates all of them. */
  async function updateTo(makers: readonly ((images: Images) => HostileIndex)[]): Promise<Ends> {
    const key = makeCosignKey('team');
    const application = await begin([key]);
    const ends: Ends = { verified: [], unchanged: [], broken: [] };
    for (let at = 0; at < makers.length; at += inOneRun) {
      const scenes = [];
      for (const maker of makers.slice(at, at + inOneRun)) scenes.push(await setScene(maker, key));
      await application.update({ trigger: 'command', images: [], containers: [] });
      for (const { name, before, index, good } of scenes)
        ends[endOf(before, await engine.inspect(name), good)].push(index.name);
      await engine.clear();
    }
    return ends;
  }

  let scenes = 0;
  async function setScene(maker: (images: Images) => HostileIndex, key: CosignKey) {
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
    const artifact = signatureArtifact([key.signImage(good.digest, image)]);
    await pushArtifact(registry, repository, `${good.digest.replace(':', '-')}.sig`, artifact);
    return { name, before, index, good };
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
    if (isSigned) {
      const artifact = signatureArtifact([key.signImage(digest, image)]);
      await pushArtifact(registry, repository, `${digest.replace(':', '-')}.sig`, artifact);
    }
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

  test(
    'runs the signed image, or nothing was stopped, after random changes',
    async () => {
      const make = createHostileIndexes(Number(HOSTILE_SEED));
      const ends = await updateTo(Array.from({ length: Number(HOSTILE_INDEXES) }, () => make));
      expect(ends.broken).toEqual([]);
      expect(ends.verified).not.toEqual([]);
    },
    60_000 + Number(HOSTILE_INDEXES) * 5000,
  );
});

/** The registry checks an index too, and may refuse it. Then the tag stays. */
function unlessRefused(error: unknown): void {
  if (!String(error).includes('MANIFEST_INVALID')) throw error;
}

function endOf(before: Inspected, now: Inspected | undefined, good: { digest: string; configDigest: string }) {
  if (now === undefined) return 'broken';
  if (now.Id === before.Id)
    return now.State.StartedAt === before.State.StartedAt && now.State.Running ? 'unchanged' : 'broken';
  const { ImageManifestDescriptor } = now as Inspected & { readonly ImageManifestDescriptor?: { digest: string } };
  const runs = ImageManifestDescriptor?.digest ?? now.Image;
  const isGood = runs === good.digest || runs === good.configDigest;
  return isGood && JSON.stringify(now.Config['Env']).includes('APP_VERSION=good ') ? 'verified' : 'broken';
}

function descriptorOf(version: string): Descriptor {
  const { mediaType, digest, bytes } = buildImage(webServer(version)).manifest;
  return { mediaType, digest, size: bytes.length };
}

const nothing = { mediaType: '', digest: '', size: 0 };
const placeholders: Images = { good: nothing, evil: nothing, nested: nothing };
