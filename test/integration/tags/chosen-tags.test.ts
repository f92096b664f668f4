import { afterEach, expect, onTestFinished, test } from 'vitest';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushIndex } from '../../lab/registry/push.ts';
import { type FrontCall, type Said, startFront } from '../../lab/registry/registry-front.ts';
import { createRequestLimit } from '../../lab/registry/request-limit.ts';
import { tagsScene, type TagsScene } from './scene.ts';

const minor = { 'upkeep.policy': 'minor' };

describeInLab('the tags that a registry has', (lab) => {
  afterEach(() => lab.engine.clear());

  /** With a proxy before the registry. */
  async function behindFront(says: (call: FrontCall) => Said): Promise<TagsScene> {
    const front = await startFront({ upstreams: {}, otherwise: lab.registry.url, says });
    onTestFinished(() => front.close());
    return tagsScene(lab, `127.0.0.1:${front.port}`);
  }

  test('only tags of --tag-include, and none of --tag-exclude, are moved to; labels override them', async () => {
    const { push, run, update, check, tag } = tagsScene(lab);
    for (const each of ['1.0', '1.1', '1.2', '1.3', '1.4']) await push(each);
    await run('1.0', minor);
    expect(await update('--tag-include', '[12]$', '--tag-exclude', '2$')).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.1');
    expect(await update('--tag-include', '[12]$', '--tag-exclude', '2$')).toMatchObject({ outcome: 'fresh' });
    await lab.engine.clear();
    await run('1.0', { ...minor, 'upkeep.tag-include': '[0-3]$', 'upkeep.tag-exclude': '3$' });
    expect(await update('--tag-exclude', '.')).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.2');
    expect(await check()).toMatchObject({ status: 'fresh' });
  });

  test('set-up old numbers: a higher tag whose image is older is not moved to, and is named', async () => {
    const { push, run, update, check, tag } = tagsScene(lab);
    const built = (version: string, created: string) => push(version, { ...webServer(version), created });
    await built('4.6.5', '2024-06-12T00:00:00Z');
    await built('14.3.9', '2021-02-01T00:00:00Z');
    await built('20.1.1', '2020-08-01T00:00:00Z');
    await run('4.6.5', { 'upkeep.policy': 'major' });
    const checked = await check();
    expect(checked).toMatchObject({ status: 'fresh' });
    expect(checked.reason).toContain('"20.1.1" is higher, but its image is older: built on 2020-08-01');
    await built('5.0.1', '2024-10-01T00:00:00Z');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('5.0.1');
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test('set-up versions of other programs: that at the end of a tag stays, and the check says which tag it did not take', async () => {
    const { push, run, update, check, tag } = tagsScene(lab);
    for (const each of ['4.0.1-18', '4.0.2-20', '4.0.2-22']) await push(each);
    await run('4.0.1-18', { 'upkeep.policy': 'patch' });
    expect(await update()).toMatchObject({ outcome: 'fresh' });
    expect((await check()).reason).toContain('"4.0.2-22" is higher, but the number 22 at its end may be the version');
    await push('4.0.2-18');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('4.0.2-18');
  });

  test('a tag without an image for the platform gives way to the next lower one', async () => {
    const { push, run, update, tag, repository } = tagsScene(lab);
    await push('1.0');
    await push('1.1');
    const platforms = [{ os: 'linux', architecture: 's390x' }];
    await pushIndex(lab.registry, repository, '1.2', webServer('1.2'), { platforms });
    await run('1.0', minor);
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.1');
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test('a tag that is deleted after the listing gives way to the next lower one', async () => {
    const isDeleted = ({ path }: FrontCall) => path.endsWith('/manifests/1.2');
    const unknown = JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' }] });
    const scene = await behindFront((call) => (isDeleted(call) ? { refusal: { status: 404, body: unknown } } : {}));
    for (const each of ['1.0', '1.1', '1.2']) await scene.push(each);
    await scene.run('1.0', minor);
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.tag()).toBe('1.1');
    expect(await scene.update()).toMatchObject({ outcome: 'fresh' });
  });

  test('an image that is deleted before its pull leaves the container as it is, until the next run', async () => {
    let isDeleted = false;
    const unknown = JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' }] });
    const scene = await behindFront(({ agent, path }) =>
      isDeleted && agent.startsWith('docker/') && path.includes('/manifests/')
        ? { refusal: { status: 404, body: unknown } }
        : {},
    );
    for (const each of ['1.0', '1.1']) await scene.push(each);
    await scene.run('1.0', minor);
    isDeleted = true;
    expect(await scene.update()).toMatchObject({ outcome: 'failed' });
    expect(await scene.tag()).toBe('1.0');
    isDeleted = false;
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.update()).toMatchObject({ outcome: 'fresh' });
  });

  test('of 120,000 tags 50,000 are read, and that no higher one was among them is not called up to date', async () => {
    const all = Array.from({ length: 120_000 }, (_, at) => `0.${at}.0`);
    let pages = 0;
    const scene = await behindFront(({ path }) => {
      if (!path.includes('/tags/list')) return {};
      pages += 1;
      const query = new URL(path, 'http://registry').searchParams;
      const from = Number(query.get('last') ?? 0);
      const body = JSON.stringify({ name: 'app', tags: all.slice(from, from + 1000) });
      const next = `</v2/${scene.repository}/tags/list?n=1000&last=${from + 1000}>; rel="next"`;
      return { refusal: { status: 200, body }, headers: { link: next } };
    });
    await scene.push('1.0.0');
    await scene.push('0.49999.0');
    await scene.run('1.0.0', minor);
    const checked = await scene.check();
    expect(checked).toMatchObject({ status: 'unknown' });
    expect(checked.error).toContain(
      'No higher tag is among those that the registry lists, 50,000 tags or 2 MB at most',
    );
    expect(pages).toBe(50);
    await lab.engine.clear();
    await scene.push('0.5.0');
    await scene.run('0.5.0', minor);
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.tag()).toBe('0.49999.0');
  });

  test('a full page of tags without a link is not the end of the list', async () => {
    const all = Array.from({ length: 1104 }, (_, at) => `1.${String(at).padStart(4, '0')}.0`);
    const scene = await behindFront(({ path }) => {
      if (!path.includes('/tags/list')) return {};
      const last = new URL(path, 'http://registry').searchParams.get('last') ?? '';
      const tags = all.filter((tag) => tag > last).slice(0, 1000);
      return { refusal: { status: 200, body: JSON.stringify({ name: 'app', tags }) } };
    });
    await scene.push('1.0999.0');
    await scene.push('1.1103.0');
    await scene.run('1.0999.0', minor);
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.tag()).toBe('1.1103.0');
  });

  test.each(['.1/sha', '#x'])('nor is a page whose entries are no tags at all (%s)', async (end) => {
    const all = Array.from({ length: 250 }, (_, at) => `1.${String(at).padStart(4, '0')}`);
    const listed = all.map((tag, at) => (at < 100 || at === 220 || at === 249 ? `${tag}.0` : tag + end));
    const scene = await behindFront(({ path }) => {
      if (!path.includes('/tags/list')) return {};
      const last = new URL(path, 'http://registry').searchParams.get('last') ?? '';
      const tags = listed.filter((tag) => tag > last).slice(0, 100);
      return { refusal: { status: 200, body: JSON.stringify({ name: 'app', tags }) } };
    });
    await scene.push('1.0099.0');
    await scene.push('1.0249.0');
    await scene.run('1.0099.0', minor);
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.tag()).toBe('1.0249.0');
  });

  test('a registry that limits requests during the listing leaves it unknown, until it answers again', async () => {
    const isListing = ({ path }: FrontCall) => path.includes('/tags/list');
    const limit = createRequestLimit({ limit: 0, windowMs: 3_600_000, counts: isListing });
    let isLimited = true;
    const scene = await behindFront((call) => (isLimited ? limit.says(call) : {}));
    for (const each of ['1.0', '1.1']) await scene.push(each);
    await scene.run('1.0', minor);
    expect(await scene.check()).toMatchObject({ status: 'unknown', hold: 'rate-limited' });
    expect(await scene.update()).toMatchObject({ outcome: 'unknown' });
    expect(await scene.tag()).toBe('1.0');
    isLimited = false;
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.update()).toMatchObject({ outcome: 'fresh' });
  });

  test('a registry that lists no tags leaves it unknown, and says so', async () => {
    const scene = await behindFront(({ path }) =>
      path.includes('/tags/list') ? { refusal: { status: 405, body: '{}' } } : {},
    );
    for (const each of ['1.0', '1.1']) await scene.push(each);
    await scene.run('1.0', minor);
    const checked = await scene.check();
    expect(checked).toMatchObject({ status: 'unknown' });
    expect(checked.error).toContain('it does not list the tags of a repository');
    await scene.push('1.0', webServer('1.0 again'));
    expect(await scene.update()).toMatchObject({ outcome: 'updated' });
    expect(await scene.update()).toMatchObject({ outcome: 'unknown' });
  });
});
