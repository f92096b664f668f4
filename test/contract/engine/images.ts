import type { PullProgress } from '../../../src/domain/run/event.ts';
import { describe, expect, test } from 'vitest';
import { create, inspect, run, statusOf, type GetFixture } from './fixture.ts';

const absent = { architecture: 's390x', os: 'linux', variant: '' };

export function imageRows(fixture: GetFixture): void {
  async function pulled(tag: string, version: string) {
    const { engine, publish } = fixture();
    const published = await publish(tag, { version });
    await engine.pullImage({ reference: published.reference });
    const image = await engine.inspectImage(published.reference);
    if (image === undefined) throw new Error(`"${published.reference}" did not arrive`);
    return { ...published, id: image.id };
  }

  describe('pullImage()', () => {
    test('brings the image with its tag and its digest', async () => {
      const { reference, repository, digest, id } = await pulled('by-tag', '1');
      const image = (await fixture().engine.listImages()).find((image) => image.id === id);
      const [labels, createdAtMs] = [expect.any(Object), expect.any(Number)];
      const digests = [`${repository}@${digest}`];
      expect(image).toEqual({ id, tags: [reference], digests, labels, createdAtMs });
    });

    test('has labels that the list and its containers tell apart from their own', async () => {
      const { engine } = fixture();
      const labels = { from: 'image', both: 'image' };
      const container = await create(fixture(), 'labelled', 'defaults', { Labels: { both: 'own' } });
      const inspected = await inspect(fixture(), container);
      expect(inspected.imageLabels).toEqual(labels);
      expect(inspected.settings.Config.Labels).toMatchObject({ from: 'image', both: 'own' });
      const listed = (await engine.listImages()).find(({ id }) => id === inspected.imageId);
      expect(listed?.labels).toEqual(labels);
    });

    test('tells its progress, up to all layers and all bytes', async () => {
      const { engine, publish } = fixture();
      const { reference } = await publish('with-progress', { version: 'progress' });
      const seen: PullProgress[] = [];
      await engine.pullImage({ reference, onProgress: (progress) => seen.push(progress) });
      expect(seen.length).toBeGreaterThan(0);
      const last = seen.at(-1);
      expect(last?.layers).toBeGreaterThan(0);
      expect(last?.layersDone).toBe(last?.layers);
      expect(last?.bytes).toBe(last?.totalBytes);
      for (const [index, { layersDone }] of seen.entries())
        expect(layersDone).toBeGreaterThanOrEqual(seen[index - 1]?.layersDone ?? 0);
    });

    test('of what is there already changes nothing', async () => {
      const { reference, id } = await pulled('twice', '1');
      await fixture().engine.pullImage({ reference });
      expect((await fixture().engine.inspectImage(reference))?.id).toBe(id);
    });

    test('by digest creates no tag', async () => {
      const { engine, publish } = fixture();
      const { repository, digest } = await publish('by-digest', { version: 'digest' });
      await engine.pullImage({ reference: `${repository}@${digest}` });
      expect(await engine.inspectImage(`${repository}@${digest}`)).toMatchObject({
        tags: [],
        digests: [`${repository}@${digest}`],
      });
      expect(await engine.inspectImage(`${repository}:by-digest`)).toBeUndefined();
    });

    test('moves the tag; the old image keeps its digest', async () => {
      const old = await pulled('moves', '1');
      const next = await pulled('moves', '2');
      expect(next.id).not.toBe(old.id);
      expect((await fixture().engine.inspectImage(next.reference))?.id).toBe(next.id);
      expect(await fixture().engine.inspectImage(old.id)).toMatchObject({
        tags: [],
        digests: [`${old.repository}@${old.digest}`],
      });
    });

    test('takes the image of its own platform out of an index, and keeps the digest of the index', async () => {
      const { engine, publish } = fixture();
      const { platform } = await engine.info();
      const { reference, repository, digest } = await publish('index', { platforms: [absent, platform] });
      await engine.pullImage({ reference });
      const image = await engine.inspectImage(reference);
      expect(image).toMatchObject({
        os: platform.os,
        architecture: platform.architecture,
        digests: [`${repository}@${digest}`],
      });
    });

    test('takes another platform when asked to', async () => {
      const { engine, publish } = fixture();
      const { platform } = await engine.info();
      const { repository, digest } = await publish('other-platform', { platforms: [platform, absent] });
      await engine.pullImage({ reference: `${repository}@${digest}`, platform: absent });
      expect((await engine.inspectImage(`${repository}@${digest}`))?.architecture).toBe('s390x');
    });

    test('fails when there is no such tag', async () => {
      const { engine, publish } = fixture();
      const { repository } = await publish('exists', {});
      await expect(engine.pullImage({ reference: `${repository}:missing` })).rejects.toMatchObject({
        code: 'pull-failed',
      });
    });

    test('fails when nothing in the index is for this platform', async () => {
      const { engine, publish } = fixture();
      const { reference } = await publish('foreign', { platforms: [absent] });
      await expect(engine.pullImage({ reference })).rejects.toMatchObject({ code: 'pull-failed' });
    });

    test('fails when the registry is out of reach', async () => {
      const reference = '127.0.0.1:9/nobody/listens:1';
      await expect(fixture().engine.pullImage({ reference })).rejects.toMatchObject({ code: 'pull-failed' });
    });

    test('fails when it breaks off in the middle, and leaves nothing', async () => {
      const { engine, publish } = fixture();
      const { reference } = await publish('broken', { version: 'broken', broken: true });
      await expect(engine.pullImage({ reference })).rejects.toMatchObject({ code: 'pull-failed' });
      expect(await engine.inspectImage(reference)).toBeUndefined();
    });
  });

  describe('inspectImage()', () => {
    test('finds an image by tag, id and short id, with the defaults that containers inherit', async () => {
      const { engine, image } = fixture();
      const found = await engine.inspectImage(image('defaults'));
      expect(found).toMatchObject({
        os: 'linux',
        config: {
          Env: ['PATH=/bin', 'FROM_IMAGE=1', 'BOTH=image'],
          Labels: { from: 'image', both: 'image' },
          StopSignal: 'SIGTERM',
        },
      });
      expect(found?.createdAtMs).toBeGreaterThan(Date.UTC(2000, 0, 1));
      for (const key of [found?.id ?? '', (found?.id ?? '').slice(7, 19)])
        expect(await engine.inspectImage(key)).toEqual(found);
    });

    test('is undefined when the engine does not have it', async () => {
      expect(await fixture().engine.inspectImage('nowhere.test/nothing:1')).toBeUndefined();
      expect(await fixture().engine.inspectImage(`sha256:${'0'.repeat(64)}`)).toBeUndefined();
    });
  });

  describe('tagImage()', () => {
    test('points a tag at an image, away from the one that had it', async () => {
      const { engine } = fixture();
      const old = await pulled('tagged', '1');
      const next = await pulled('tagged', '2');
      expect(await engine.tagImage(old.id, old.reference)).toEqual({ kind: 'done' });
      expect((await engine.inspectImage(old.reference))?.id).toBe(old.id);
      expect((await engine.inspectImage(next.id))?.tags).toEqual([]);
    });

    test('is done by each of several calls at once', async () => {
      const { engine } = fixture();
      const old = await pulled('tagged', '1');
      await pulled('tagged', '2');
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => engine.tagImage(old.id, old.reference)));
      expect(outcomes).toEqual(Array.from({ length: 4 }, () => ({ kind: 'done' })));
      expect((await engine.inspectImage(old.reference))?.id).toBe(old.id);
    });

    test('is refused for an image that is not there', async () => {
      const { repository } = await pulled('tagged', '1');
      const outcome = await fixture().engine.tagImage(`sha256:${'0'.repeat(64)}`, `${repository}:x`);
      expect(statusOf(outcome)).toBe('refused 404');
    });

    test.each(['', 'Upper/Case:1', 'no spaces:1', `by/digest@sha256:${'0'.repeat(64)}`])(
      'is refused for %j, which no tag can be called',
      async (reference) => {
        const { id } = await pulled('tagged', '1');
        expect(statusOf(await fixture().engine.tagImage(id, reference))).toBe('refused 400');
      },
    );
  });

  describe('removeImage()', () => {
    test('takes the image away when nothing uses it', async () => {
      const { id, reference } = await pulled('unused', '1');
      expect(await fixture().engine.removeImage(id)).toEqual({ kind: 'done' });
      expect(await fixture().engine.inspectImage(reference)).toBeUndefined();
      expect(await fixture().engine.removeImage(id)).toEqual({ kind: 'noop' });
    });

    test('is refused with 409 while a container uses it, running or not', async () => {
      const { engine, image } = fixture();
      const { id } = await inspect(fixture(), await run(fixture(), 'one', 'service'));
      const imageId = (await inspect(fixture(), id)).imageId;
      expect(statusOf(await engine.removeImage(imageId))).toBe('refused 409');
      expect(statusOf(await engine.removeImage(image('service')))).toBe('refused 409');
      await engine.stopContainer(id, { timeoutSeconds: 5 });
      expect(statusOf(await engine.removeImage(imageId))).toBe('refused 409');
      expect(await engine.inspectImage(imageId)).toBeDefined();
    });

    test('is refused with 409 by id while several tags name it; by tag it takes the tag only', async () => {
      const { engine } = fixture();
      const { id, reference, repository } = await pulled('two-tags', '1');
      await engine.tagImage(id, `${repository}:second`);
      expect(statusOf(await engine.removeImage(id))).toBe('refused 409');
      expect(await engine.removeImage(`${repository}:second`)).toEqual({ kind: 'done' });
      expect(await engine.inspectImage(id)).toMatchObject({ tags: [reference] });
    });

    test('takes a tag of another repository from an image that a container runs, and nothing else', async () => {
      const { engine } = fixture();
      const { id, reference } = await pulled('marked', '1');
      const created = await engine.createContainer('one', { body: { Image: reference }, laterEndpoints: [] });
      expect(created.kind).toBe('done');
      const tag = `upkeep-quarantine:${'0123456789abcdef'.repeat(4)}-0123456789abcdef-20260131T120000Z`;
      expect(await engine.tagImage(id, tag)).toEqual({ kind: 'done' });
      expect((await engine.listImages()).find((image) => image.id === id)?.tags).toContainEqual(
        expect.stringMatching(new RegExp(`${tag}$`)),
      );
      expect((await engine.inspectImage(tag))?.id).toBe(id);
      expect(await engine.removeImage(tag)).toEqual({ kind: 'done' });
      expect(await engine.inspectImage(tag)).toBeUndefined();
      expect(await engine.inspectImage(id)).toMatchObject({ tags: [reference] });
    });

    test('takes an image without tags, and the old one of a moved tag', async () => {
      const old = await pulled('abandoned', '1');
      await pulled('abandoned', '2');
      expect(await fixture().engine.removeImage(old.id)).toEqual({ kind: 'done' });
      expect(await fixture().engine.inspectImage(old.id)).toBeUndefined();
    });

    test('leaves an image that only a created container still holds', async () => {
      const { engine, image } = fixture();
      await create(fixture(), 'one', 'service');
      expect(statusOf(await engine.removeImage(image('service')))).toBe('refused 409');
    });
  });
}
