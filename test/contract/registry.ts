import type { Registry, RegistryCredentials } from '../../src/domain/outside/registry.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parseImageReference, type Digest, type ImageReference } from '../../src/domain/image/image-reference.ts';
import type { Platform } from '../../src/domain/image/platform.ts';
import { allSignatures, type SimpleSigning } from '../support/registry/cosign.ts';

/** Fixture of the rows, without the registry under test. */
export type RegistryFixture = {
  readonly registry: Registry;
  /** The same registries for another process, without any cache. */
  readonly connect: () => Registry;
  /** As `connect`, without credentials and with wrong ones; undefined if the registry needs none. */
  readonly strangers: { readonly nobody: Registry; readonly impostor: Registry } | undefined;
  /** Login for an engine's pull. */
  readonly credentials: RegistryCredentials | undefined;
  /** Host and port. */
  readonly host: string;
  readonly publish: (repository: string, tag: string, image: RegistryImage) => Promise<RegistryPublished>;
  /** Puts signatures beside a manifest, as cosign does. */
  readonly sign: (repository: string, digest: Digest, found: readonly SimpleSigning[]) => Promise<void>;
  /** Requests for manifests since the start. */
  readonly requests: () => number;
  /** Requests for lists of tags since the start. */
  readonly listings: () => number;
  /** Refuses every request, with this time until the next try. */
  readonly limit: (retryAfterS: number) => void;
  readonly goDown: () => Promise<void>;
  readonly comeUp: () => Promise<void>;
  /** Ends the limit and the down time. */
  readonly reset: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export type RegistryImage = {
  readonly version: string;
  readonly platforms?: readonly Platform[];
  /** RFC 3339. */
  readonly created?: string;
};

export type RegistryPublished = {
  readonly digest: Digest;
  /** Of the first platform. */
  readonly configDigest: string;
  /** In the order of the platforms. */
  readonly manifestDigests: readonly string[];
};

const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };
const arm64 = { os: 'linux', architecture: 'arm64', variant: '' };
const arm64v8 = { ...arm64, variant: 'v8' };
const unknown = `sha256:${'0'.repeat(64)}` as const;

/** Contract of every `Registry`. */
export function registryContract(name: string, setup: () => Promise<RegistryFixture>): void {
  describe(`${name} is a Registry`, () => {
    let fixture: RegistryFixture;
    beforeAll(async () => {
      fixture = await setup();
    });
    afterEach(() => fixture.reset());
    afterAll(() => fixture?.close());

    const reference = (path: string): ImageReference => parseImageReference(`${fixture.host}/contract/${path}`);
    const publish = (repository: string, tag: string, image: RegistryImage) =>
      fixture.publish(`contract/${repository}`, tag, image);

    describe('resolve()', () => {
      test('tells the digest behind a tag', async () => {
        const { digest } = await publish('app', 'one', { version: '1' });
        expect(await fixture.registry.resolve(reference('app:one'))).toBe(digest);
      });

      test('tells the digest of the index where there is one', async () => {
        const { digest, manifestDigests } = await publish('app', 'index', {
          version: '1',
          platforms: [amd64, arm64v8],
        });
        expect(await fixture.registry.resolve(reference('app:index'))).toBe(digest);
        expect(manifestDigests).not.toContain(digest);
      });

      test('means "latest" where the reference says nothing', async () => {
        const { digest } = await publish('app', 'latest', { version: 'latest' });
        expect(await fixture.registry.resolve(reference('app'))).toBe(digest);
      });

      test('sees at once that a tag has moved, and that it has moved back', async () => {
        const { digest: first } = await publish('app', 'moving', { version: '1' });
        expect(await fixture.registry.resolve(reference('app:moving'))).toBe(first);
        const { digest: second } = await publish('app', 'moving', { version: '2' });
        expect(second).not.toBe(first);
        expect(await fixture.registry.resolve(reference('app:moving'))).toBe(second);
        await publish('app', 'moving', { version: '1' });
        expect(await fixture.registry.resolve(reference('app:moving'))).toBe(first);
      });

      test('tells tags and repositories apart', async () => {
        const { digest: one } = await publish('app', 'same', { version: '1' });
        const { digest: two } = await publish('app', 'other', { version: '2' });
        const { digest: three } = await publish('tool/deep/down', 'same', { version: '3' });
        const resolve = (path: string) => fixture.registry.resolve(reference(path));
        const digests = await Promise.all(['app:same', 'app:other', 'tool/deep/down:same'].map(resolve));
        expect(digests).toEqual([one, two, three]);
      });

      test('knows a digest without asking', async () => {
        const before = fixture.requests();
        expect(await fixture.registry.resolve(reference(`app@${unknown}`))).toBe(unknown);
        expect(fixture.requests()).toBe(before);
      });

      test('asks for the tag where a reference has both', async () => {
        const { digest } = await publish('app', 'both', { version: '1' });
        expect(await fixture.registry.resolve(reference(`app:both@${unknown}`))).toBe(digest);
      });

      test('asks once, when ten callers want the same', async () => {
        const { digest } = await publish('app', 'popular', { version: '1' });
        await fixture.registry.resolve(reference('app:popular'));
        const before = fixture.requests();
        const ten = Array.from({ length: 10 }, () => fixture.registry.resolve(reference('app:popular')));
        expect(new Set(await Promise.all(ten))).toEqual(new Set([digest]));
        expect(fixture.requests() - before).toBe(1);
      });

      test('throws registry-not-found for a tag, and for a repository, that is not there', async () => {
        await publish('app', 'one', { version: '1' });
        const { registry } = fixture;
        await expect(registry.resolve(reference('app:missing'))).rejects.toMatchObject({ code: 'registry-not-found' });
        await expect(registry.resolve(reference('nothing:here'))).rejects.toMatchObject({ code: 'registry-not-found' });
      });

      test('lets one caller give up and answers the others', async () => {
        const { digest } = await publish('app', 'patience', { version: '1' });
        const abort = new AbortController();
        const impatient = fixture.registry.resolve(reference('app:patience'), abort.signal);
        const patient = fixture.registry.resolve(reference('app:patience'));
        abort.abort(new Error('enough'));
        await expect(impatient).rejects.toThrow('enough');
        expect(await patient).toBe(digest);
      });
    });

    describe('listTags()', () => {
      const sorted = async (path: string) => {
        const { tags, isCut } = await fixture.registry.listTags(reference(path));
        return { tags: tags.split('\n').sort(), isCut };
      };

      test('tells all tags of a repository, whatever tag the reference has', async () => {
        for (const tag of ['1.0', '1.1', 'latest', 'v2.0.0-rc.1_x']) await publish('listed', tag, { version: tag });
        const all = { tags: ['1.0', '1.1', 'latest', 'v2.0.0-rc.1_x'], isCut: false };
        expect(await sorted('listed:1.0')).toEqual(all);
        expect(await sorted(`listed@${unknown}`)).toEqual(all);
      });

      test('sees at once that a tag is new', async () => {
        await publish('growing', 'one', { version: '1' });
        expect((await sorted('growing')).tags).toEqual(['one']);
        await publish('growing', 'two', { version: '2' });
        expect((await sorted('growing')).tags).toEqual(['one', 'two']);
      });

      test('tells repositories apart, of which one may lie below the other', async () => {
        await publish('outer', 'a', { version: '1' });
        await publish('outer/inner', 'b', { version: '2' });
        expect((await sorted('outer')).tags).toEqual(['a']);
        expect((await sorted('outer/inner')).tags).toEqual(['b']);
      });

      test('asks once, when ten callers want the tags of one repository', async () => {
        await publish('shared', 'one', { version: '1' });
        await fixture.registry.listTags(reference('shared'));
        const before = fixture.listings();
        const ten = Array.from({ length: 10 }, (_, at) => fixture.registry.listTags(reference(`shared:${at}`)));
        for (const { tags } of await Promise.all(ten)) expect(tags).toBe('one');
        expect(fixture.listings() - before).toBe(1);
      });

      test('throws registry-not-found for a repository that is not there', async () => {
        const listing = fixture.registry.listTags(reference('nothing:here'));
        await expect(listing).rejects.toMatchObject({ code: 'registry-not-found' });
      });

      test('lets one caller give up and answers the others', async () => {
        await publish('patience', 'one', { version: '1' });
        const abort = new AbortController();
        const impatient = fixture.registry.listTags(reference('patience'), abort.signal);
        const patient = fixture.registry.listTags(reference('patience'));
        abort.abort(new Error('enough'));
        await expect(impatient).rejects.toThrow('enough');
        expect((await patient).tags).toBe('one');
      });

      test('sent away is registry-rate-limited', async () => {
        await publish('popular', 'one', { version: '1' });
        const registry = fixture.connect();
        fixture.limit(3600);
        const listing = registry.listTags(reference('popular'));
        await expect(listing).rejects.toMatchObject({ code: 'registry-rate-limited' });
      });

      test('without credentials is registry-denied', async () => {
        await publish('app', 'private', { version: '1' });
        for (const stranger of Object.values(fixture.strangers ?? {})) {
          const listing = stranger.listTags(reference('app:private'));
          await expect(listing).rejects.toMatchObject({ code: 'registry-denied' });
        }
      });
    });

    describe('describe()', () => {
      const describeTag = (path: string, digest: Digest, platform: Platform) =>
        fixture.registry.describe({ reference: reference(path), digest, platform });

      test('tells what an image is', async () => {
        const created = '2025-06-01T12:00:00Z';
        const { digest, configDigest } = await publish('app', 'described', { version: '1', created });
        expect(await describeTag('app:described', digest, amd64)).toMatchObject({
          digest,
          manifestDigest: digest,
          configDigest,
          platform: { os: 'linux', architecture: 'amd64' },
          createdAtMs: Date.parse(created),
        });
      });

      test('finds the image for a platform in an index', async () => {
        const published = await publish('app', 'index', { version: '1', platforms: [arm64v8, amd64] });
        const { digest, manifestDigests } = published;
        expect(await describeTag('app:index', digest, amd64)).toMatchObject({
          digest,
          manifestDigest: manifestDigests[1],
        });
        expect(await describeTag('app:index', digest, arm64)).toMatchObject({
          digest,
          manifestDigest: manifestDigests[0],
          configDigest: published.configDigest,
        });
      });

      test('throws registry-not-found when the index has nothing for the platform', async () => {
        const { digest } = await publish('app', 'foreign', { version: '1', platforms: [arm64v8] });
        await expect(describeTag('app:foreign', digest, amd64)).rejects.toMatchObject({ code: 'registry-not-found' });
      });

      test('takes an image without an index as it is, whatever its platform', async () => {
        const { digest } = await publish('app', 'plain', { version: '1' });
        expect(await describeTag('app:plain', digest, arm64)).toMatchObject({ platform: { architecture: 'amd64' } });
      });

      test('knows no date where the build wrote none that is one', async () => {
        const { digest } = await publish('app', 'timeless', { version: '1', created: '1970-01-01T00:00:00Z' });
        expect((await describeTag('app:timeless', digest, amd64)).createdAtMs).toBeUndefined();
      });

      test('reaches an old image after its tag has moved', async () => {
        const { digest, configDigest } = await publish('app', 'history', { version: '1' });
        await publish('app', 'history', { version: '2' });
        expect(await describeTag('app:history', digest, amd64)).toMatchObject({ digest, configDigest });
      });

      test('throws registry-not-found for a digest that is not there', async () => {
        await publish('app', 'one', { version: '1' });
        await expect(describeTag('app:one', unknown, amd64)).rejects.toMatchObject({ code: 'registry-not-found' });
      });
    });

    describe('configOf()', () => {
      test('gives the configuration of what describe() has found', async () => {
        const created = '2025-06-01T12:00:00Z';
        const { digest } = await publish('app', 'index', { version: '1', platforms: [arm64v8, amd64], created });
        const at = reference('app:index');
        const image = await fixture.registry.describe({ reference: at, digest, platform: amd64 });
        expect(await fixture.registry.configOf(at, image)).toMatchObject({
          ...amd64,
          createdAtMs: Date.parse(created),
          config: expect.any(Object),
        });
      });
    });

    describe('platformsOf()', () => {
      test('lists those of an index', async () => {
        const { digest } = await publish('app', 'index', { version: '1', platforms: [arm64v8, amd64] });
        expect(await fixture.registry.platformsOf(reference('app:index'), digest)).toEqual([arm64, amd64]);
      });

      test('lists that of an image without an index', async () => {
        const { digest } = await publish('app', 'plain', { version: '1' });
        expect(await fixture.registry.platformsOf(reference('app:plain'), digest)).toEqual([amd64]);
      });

      test('throws registry-not-found for a digest that is not there', async () => {
        await publish('app', 'one', { version: '1' });
        const listing = fixture.registry.platformsOf(reference('app:one'), unknown);
        await expect(listing).rejects.toMatchObject({ code: 'registry-not-found' });
      });
    });

    describe('signaturesOf()', () => {
      const signature = (text: string): SimpleSigning => ({
        kind: 'simple-signing',
        payload: Buffer.from(text),
        signature: Buffer.from(text).toString('base64'),
      });

      test('finds the signatures beside a digest, and none beside another', async () => {
        const { digest } = await publish('signed', 'one', { version: '1' });
        const { digest: other } = await publish('signed', 'two', { version: '2' });
        await fixture.sign('contract/signed', digest, [signature('first'), signature('second')]);
        const found = await allSignatures(fixture.registry.signaturesOf(reference('signed:one'), digest));
        const shown = found.map((each) => 'payload' in each && [Buffer.from(each.payload).toString(), each.signature]);
        expect(shown).toEqual([
          ['first', signature('first').signature],
          ['second', signature('second').signature],
        ]);
        expect(await allSignatures(fixture.registry.signaturesOf(reference('signed:two'), other))).toEqual([]);
      });

      test('without credentials is registry-denied, never an image without a signature', async () => {
        const { digest } = await publish('app', 'private', { version: '1' });
        for (const stranger of Object.values(fixture.strangers ?? {})) {
          const finding = stranger.signaturesOf(reference('app:private'), digest);
          await expect(finding).rejects.toMatchObject({ code: 'registry-denied' });
        }
      });
    });

    describe('credentialsFor()', () => {
      test('tells what the engine needs, and nothing where it needs nothing', async () => {
        expect(await fixture.registry.credentialsFor(reference('app'))).toEqual(fixture.credentials);
        expect(await fixture.registry.credentialsFor(parseImageReference('elsewhere.test/app'))).toBeUndefined();
      });
    });

    describe('trouble', () => {
      test('without credentials, or with wrong ones, is registry-denied, and no secret is told', async () => {
        await publish('app', 'private', { version: '1' });
        for (const stranger of Object.values(fixture.strangers ?? {})) {
          const error: unknown = await stranger.resolve(reference('app:private')).catch((thrown: unknown) => thrown);
          expect(error).toMatchObject({ code: 'registry-denied' });
          expect(String(error)).not.toContain('secret');
        }
      });

      test('out of reach is registry-unreachable, and passes', async () => {
        const { digest } = await publish('app', 'lost', { version: '1' });
        const registry = fixture.connect();
        await fixture.goDown();
        await expect(registry.resolve(reference('app:lost'))).rejects.toMatchObject({ code: 'registry-unreachable' });
        await fixture.comeUp();
        expect(await fixture.connect().resolve(reference('app:lost'))).toBe(digest);
      });

      test('sent away is registry-rate-limited, and tells how long', async () => {
        await publish('app', 'popular', { version: '1' });
        const registry = fixture.connect();
        fixture.limit(3600);
        const error: unknown = await registry.resolve(reference('app:popular')).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'registry-rate-limited' });
        const { retryAfterMs = 0 } = error as { readonly retryAfterMs?: number };
        expect(retryAfterMs).toBeGreaterThan(3_500_000);
        expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
      });

      test('names the registry and the repository', async () => {
        const { registry, host } = fixture;
        const error: unknown = await registry.resolve(reference('app:missing')).catch((thrown: unknown) => thrown);
        expect(String(error)).toContain(host);
        expect(String(error)).toContain('contract/app');
      });
    });
  });
}
