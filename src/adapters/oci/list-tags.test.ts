import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { serverCa, type Answer, type HttpServer, type SeenRequest } from '../../../test/support/http/http-server.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import { createSharedRecords } from '../files/shared-records.ts';
import { compactListings, readStoredListing } from './list-tags.ts';

const rig = createOciRig();

const page = (tags: readonly unknown[], next?: string) => ({
  headers: next === undefined ? {} : { link: `<${next}>; rel="next"` },
  body: JSON.stringify({ name: 'team/app', tags }),
});

/** A registry with these tags, at most `most` per page. */
function paged(tags: readonly string[], most: number): Answer {
  return ({ url }) => {
    const last = new URL(url, 'http://host').searchParams.get('last');
    const from = last === null ? 0 : tags.indexOf(last) + 1;
    const found = tags.slice(from, from + most);
    const isLast = from + most >= tags.length;
    return page(found, isLast ? undefined : `/v2/team/app/tags/list?last=${found.at(-1) ?? ''}&n=${most}`);
  };
}

/** A listing, with its tags as a list. */
async function listing(server: HttpServer, registry = rig.registry()) {
  const { tags, isCut } = await registry.listTags(at(server));
  return { tags: tags === '' ? [] : tags.split('\n'), isCut };
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `1.${at}`);

describe('listTags()', () => {
  test('asks for a thousand at a time and follows the links', async () => {
    const server = await rig.serve(paged(numbered(2500), 1000));
    expect(await listing(server)).toEqual({ tags: numbered(2500), isCut: false });
    expect(server.lines()).toEqual([
      'GET /v2/team/app/tags/list?n=1000',
      'GET /v2/team/app/tags/list?last=1.999&n=1000',
      'GET /v2/team/app/tags/list?last=1.1999&n=1000',
    ]);
  });

  /** A registry that pages without saying so; `refuses`: it knows no `last`. */
  function unlinked(tags: readonly string[], most: number, answersLast: 'next' | 'same' | 'refuses' = 'next'): Answer {
    return ({ url }) => {
      const last = new URL(url, 'http://host').searchParams.get('last');
      if (last !== null && answersLast === 'refuses') return { status: 400 };
      const from = last === null || answersLast === 'same' ? 0 : tags.indexOf(last) + 1;
      return page(tags.slice(from, from + most));
    };
  }

  test.each([
    ['1,104 tags', 1104, 1000, 2],
    ['2,000 tags', 2000, 1000, 3],
    ['350 tags by the hundred', 350, 100, 4],
    ['600 tags by 256', 600, 256, 3],
    ['130 tags by 128', 130, 128, 2],
    ['999 tags', 999, 1000, 1],
    ['63 tags', 63, 1000, 1],
  ])('asks on behind a full page without a link: %s', async (_, count, most, requests) => {
    const server = await rig.serve(unlinked(numbered(count), most));
    expect(await listing(server)).toEqual({ tags: numbered(count), isCut: false });
    expect(server.seen).toHaveLength(requests);
  });

  test.each([
    ['one is no tag', 1],
    ['many are no tags', 60],
    ['the last one is no tag', 0],
  ])('also where %s of its entries', async (_, every) => {
    // An entry with a slash sorts as any other.
    const all = numbered(250);
    const isTag = (_tag: string, at: number) => (every === 1 ? at !== 7 : every === 0 ? at !== 99 : at % 100 >= every);
    const listed = all.map((tag, at) => (isTag(tag, at) ? tag : `${tag}/x`));
    const server = await rig.serve(({ url }) => {
      const last = new URL(url, 'http://host').searchParams.get('last');
      const from = last === null ? 0 : listed.indexOf(last) + 1;
      return page(listed.slice(from, from + 100));
    });
    expect(await listing(server)).toEqual({ tags: all.filter(isTag), isCut: false });
  });

  test.each([
    ['the first page', 0, 100],
    ['one between', 100, 200],
    ['two in a row', 0, 200],
  ])('also where %s has entries that are no tags only, with links and without', async (_, from, to) => {
    const all = numbered(350);
    const isTag = (_tag: string, at: number) => at < from || at >= to;
    const listed = all.map((tag, at) => (isTag(tag, at) ? tag : `${tag}/x y`));
    for (const links of [false, true]) {
      const server = await rig.serve(({ url }) => {
        const last = new URL(url, 'http://host').searchParams.get('last');
        const start = last === null ? 0 : listed.indexOf(last) + 1;
        const found = listed.slice(start, start + 100);
        const next = `/v2/team/app/tags/list?n=1000&last=${encodeURIComponent(found.at(-1) ?? '')}`;
        return page(found, links && start + 100 < listed.length ? next : undefined);
      });
      const registry = rig.registry();
      for (let times = 0; times < 2; times += 1)
        expect(await listing(server, registry)).toEqual({ tags: all.filter(isTag), isCut: false });
    }
  });

  test('also behind empty pages with a link, and not without end', async () => {
    const server = await rig.serve(({ url }) => {
      const at = Number(new URL(url, 'http://host').searchParams.get('last') ?? 0);
      return page(at === 3 ? ['1.0'] : [], at < 3 ? `/v2/team/app/tags/list?n=1000&last=${at + 1}` : undefined);
    });
    expect(await listing(server)).toEqual({ tags: ['1.0'], isCut: false });
    const endless = await rig.serve(({ url }) => page([], `${url}0`));
    expect(await listing(endless)).toEqual({ tags: [], isCut: true });
    expect(endless.seen).toHaveLength(50);
  });

  test.each([false, true])('and ends where a page without tags comes again and again (links: %s)', async (links) => {
    const entries = Array.from({ length: 100 }, (_, at) => `a/${at}`);
    const server = await rig.serve(({ url }) =>
      page(entries, links ? `/v2/team/app/tags/list?n=1000&last=${url.length}` : undefined),
    );
    expect(await listing(server)).toEqual({ tags: [], isCut: links });
    expect(server.seen).toHaveLength(2);
  });

  test('and where the known page had entries that are no tags', async () => {
    const listed = numbered(150).with(3, 'a/b');
    const server = await rig.serve(({ url, headers }) => {
      const last = new URL(url, 'http://host').searchParams.get('last');
      const from = last === null ? 0 : listed.indexOf(last) + 1;
      const etag = `"${from}"`;
      if (headers['if-none-match'] === etag) return { status: 304 };
      return { ...page(listed.slice(from, from + 100)), headers: { etag } };
    });
    const registry = rig.registry();
    const first = await registry.listTags(at(server));
    expect(first.tags.split('\n')).toHaveLength(149);
    expect(await registry.listTags(at(server))).toEqual(first);
  });

  test.each(['same', 'refuses'] as const)(
    'and has the whole list where the registry knows no further page (%s)',
    async (how) => {
      const server = await rig.serve(unlinked(numbered(100), 1000, how));
      expect(await listing(server)).toEqual({ tags: numbered(100), isCut: false });
    },
  );

  test('but not where that page fails for another reason', async () => {
    const first = unlinked(numbered(2000), 1000);
    const server = await rig.serve((request) => (request.url.includes('last') ? { status: 500 } : first(request)));
    expect(await failureOf(rig.registry().listTags(at(server)))).toMatchObject({ code: 'registry-unreachable' });
  });

  test('takes all at once from a registry that does not page', async () => {
    const server = await rig.serve(paged(numbered(30_000), Infinity));
    expect((await listing(server)).tags).toHaveLength(30_000);
  });

  test.each([
    ['120,000 tags at once', 120_000, Infinity, 50_000, 1],
    ['120,000 tags by the thousand', 120_000, 1000, 50_000, 50],
    ['10,000 tags by the hundred', 10_000, 100, 5000, 50],
  ])('ends with %s, and says so', async (_, count, most, expected, requests) => {
    const server = await rig.serve(paged(numbered(count), most));
    const { tags, isCut } = await listing(server);
    expect(tags).toHaveLength(expected);
    expect(isCut).toBe(true);
    expect(server.seen).toHaveLength(requests);
  });

  test.each([
    ['by the thousand', 1000, 17],
    ['at once', Infinity, 1],
  ])('ends with 2 MB of tags %s, and says so', async (_, most, requests) => {
    const long = (at: number) => `${at}.${'x'.repeat(120)}`;
    const server = await rig.serve(
      paged(
        Array.from({ length: 50_000 }, (__, at) => long(at)),
        most,
      ),
    );
    const { tags, isCut } = await rig.registry().listTags(at(server));
    expect(tags.length).toBeGreaterThan(2_000_000);
    expect(tags.length).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect(tags.startsWith(long(0))).toBe(true);
    expect(isCut).toBe(true);
    expect(server.seen).toHaveLength(requests);
  });

  test.each([
    ['names', `{${Array.from({ length: 500_000 }, (_, n) => `"${n}":0`).join(',')}}`],
    ['lists in lists', '['.repeat(500_000) + ']'.repeat(500_000)],
    ['lists in an object', `{"tags":[${'[],'.repeat(500_000)}[]]}`],
    ['tags that are too many for any registry', `{"tags":[${'"a",'.repeat(900_000)}"b"]}`],
  ])('does not parse an answer that would take long: %s', async (_, body) => {
    const server = await rig.serve(() => ({ body }));
    await expect(rig.registry().listTags(at(server))).rejects.toMatchObject({
      code: 'registry-invalid',
      message: expect.stringContaining('very many entries that are no tags'),
    });
  });

  test.each(['""', '"."', '1', 'null', '{}', '"same"'])(
    'gives up on a list of very many entries that are no other tags: %s',
    async (entry) => {
      const body = `{"tags":[${`${entry},`.repeat(500_000)}${entry}]}`;
      const server = await rig.serve(() => ({ body }));
      await expect(rig.registry().listTags(at(server))).rejects.toMatchObject({
        code: 'registry-invalid',
        message: expect.stringContaining('very many entries that are no tags'),
      });
    },
  );

  test('asks for a list of long tags anew, because its pages are too large to be kept', async () => {
    const tags = Array.from({ length: 4000 }, (_, at) => `${at}.${'x'.repeat(100)}`);
    const served = paged(tags, 1000);
    const server = await rig.serve(async (request) => {
      const reply = (await served(request)) as { headers: Record<string, string>; body: string };
      return { ...reply, headers: { ...reply.headers, etag: '"1"' } };
    });
    const registry = rig.registry();
    for (let time = 0; time < 2; time += 1) expect((await listing(server, registry)).tags).toEqual(tags);
    expect(server.seen.map(({ headers }) => headers['if-none-match'])).toEqual(
      Array.from({ length: 8 }, () => undefined),
    );
  });

  test.each([
    ['null', null],
    ['an empty list', []],
  ])('knows an empty repository, told as %s', async (_, tags) => {
    const server = await rig.serve(() => ({ body: JSON.stringify({ name: 'team/app', tags }) }));
    expect(await listing(server)).toEqual({ tags: [], isCut: false });
  });

  test('leaves out what cannot be a tag, and says each once', async () => {
    const tags = ['1.0', 1, null, '', '../x', 'a b', 'ü', '-x', 'x'.repeat(129), '1.0', {}];
    const server = await rig.serve(() => page(tags));
    expect((await listing(server)).tags).toEqual(['1.0']);
  });

  test('ends with a registry that gives the same page again, or leads in a circle', async () => {
    const same = await rig.serve(({ url }) => page(['a'], `${url.replace(/&x=.*/, '')}&x=${Math.random()}`));
    expect(await listing(same)).toEqual({ tags: ['a'], isCut: true });
    expect(same.seen).toHaveLength(2);
    const circle = await rig.serve(({ url }) =>
      url.includes('last')
        ? page(['b'], '/v2/team/app/tags/list?n=1000')
        : page(['a'], '/v2/team/app/tags/list?last=a'),
    );
    expect(await listing(circle)).toEqual({ tags: ['a', 'b'], isCut: true });
  });

  test('says which registry has no list, no such repository, or no sense', async () => {
    const unsupported = JSON.stringify({ errors: [{ code: 'UNSUPPORTED', message: 'no' }] });
    for (const [reply, code, why] of [
      [{ status: 405 }, 'registry-invalid', 'it does not list the tags of a repository'],
      [{ status: 404, body: unsupported }, 'registry-invalid', 'it does not list the tags of a repository'],
      [{ status: 404 }, 'registry-not-found', 'it has no such repository'],
      [{ status: 500 }, 'registry-unreachable', 'it answered with status 500'],
      [{ body: '<html>' }, 'registry-invalid', 'its answer is not a list of tags'],
      [{ body: '{"tags":"all"}' }, 'registry-invalid', 'its answer is not a list of tags'],
      [{ body: 'x'.repeat(17 * 1024 * 1024) }, 'registry-invalid', 'it answered with more than'],
    ] as const) {
      const server = await rig.serve(() => reply);
      const failure = await failureOf(rig.registry().listTags(at(server)));
      expect(failure.code).toBe(code);
      expect(failure.message).toContain(
        `Cannot list the tags of "${server.host}/team/app:1" at "${server.host}": ${why}`,
      );
    }
  });

  test('keeps no half of a list: a page that fails fails all', async () => {
    const whole = paged(numbered(2000), 1000);
    const server = await rig.serve((request) => (request.url.includes('last') ? { status: 404 } : whole(request)));
    expect(await failureOf(rig.registry().listTags(at(server)))).toMatchObject({ code: 'registry-not-found' });
  });

  test('ends a list whose pages come too slowly', async () => {
    const clock = createFakeClock({ auto: true });
    const whole = paged(numbered(3000), 100);
    const server = await rig.serve(async (request) => {
      await clock.sleep(20_000);
      return whole(request);
    });
    const failure = await failureOf(rig.registry({ clock }).listTags(at(server)));
    expect(failure).toMatchObject({ code: 'timeout', message: expect.stringContaining('within 2m') as unknown });
  });

  test('asks again with the ETag of each page, and believes no page that has changed', async () => {
    const tags = numbered(2500);
    const served = paged(tags, 1000);
    const answers: number[] = [];
    const server = await rig.serve(async (request: SeenRequest) => {
      const reply = (await served(request)) as { headers: Record<string, string>; body: string };
      const etag = `"${reply.body.length}"`;
      const isKnown = request.headers['if-none-match'] === etag;
      answers.push(isKnown ? 304 : 200);
      return isKnown ? { status: 304 } : { ...reply, headers: { ...reply.headers, etag } };
    });
    const registry = rig.registry();
    await registry.listTags(at(server));
    expect((await listing(server, registry)).tags).toEqual(numbered(2500));
    expect(answers).toEqual([200, 200, 200, 304, 304, 304]);
    tags.push('new');
    expect((await listing(server, registry)).tags).toEqual([...numbered(2500), 'new']);
    expect(answers.slice(6)).toEqual([304, 304, 200]);
  });

  test.each([400, 404])('lists anew where the page after an unchanged one has expired (%s)', async (status) => {
    let session = 1;
    const server = await rig.serve(({ url, headers }: SeenRequest) => {
      const query = new URL(url, 'http://host').searchParams;
      if (query.has('after')) return query.get('after') === `token${session}` ? page(['1.1']) : { status };
      if (headers['if-none-match'] === '"first"') return { status: 304 };
      const first = page(['1.0'], `/v2/team/app/tags/list?after=token${session}`);
      return { ...first, headers: { ...first.headers, etag: '"first"' } };
    });
    const registry = rig.registry();
    await registry.listTags(at(server));
    session = 2;
    for (const check of [1, 2])
      expect((await listing(server, registry)).tags, `check ${check}`).toEqual(['1.0', '1.1']);
  });

  test('asks with the ETags of an earlier process, and writes a list only when it has changed', async () => {
    const served = paged(numbered(1500), 1000);
    let version = 1;
    const server = await rig.serve(async (request: SeenRequest) => {
      const reply = (await served(request)) as { headers: Record<string, string>; body: string };
      const etag = `"${version}"`;
      if (request.headers['if-none-match'] === etag) return { status: 304 };
      return { ...reply, headers: { ...reply.headers, etag } };
    });
    const path = join(rig.folder(), 'tag-lists.jsonl');
    const kept = { path, what: 'lists of tags', version: 1, log: createTestLog() };
    const process = () =>
      rig.registry({ listings: createSharedRecords({ ...kept, read: readStoredListing, compact: compactListings }) });
    const list = async () => {
      const registry = process();
      const { tags } = await listing(server, registry);
      await registry.close();
      return tags;
    };
    const statuses = async () => {
      const before = server.seen.length;
      expect(await list()).toEqual(numbered(1500));
      return server.seen.slice(before).map(({ headers }) => headers['if-none-match']);
    };
    expect(await statuses()).toEqual([undefined, undefined]);
    const written = readFileSync(path, 'utf8');
    expect(written.trimEnd().split('\n')).toHaveLength(2);
    expect(await statuses()).toEqual(['"1"', '"1"']);
    expect(readFileSync(path, 'utf8')).toBe(written);
    version = 2;
    await statuses();
    expect(await statuses()).toEqual(['"2"', '"2"']);
    writeFileSync(
      path,
      `${written}{"place":"${server.host}/team/app","pages":[{"query":"?n=1000","etag":"a\\nb","tags":["x"]}]}\n`,
    );
    expect(await statuses()).toEqual(['"1"', '"1"']);
  });

  test('reads no list from a file that no registry can have given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(readStoredListing(value)).toBeUndefined();
      }),
    );
    const page = { query: '?n=1000', tags: ['1.0'], etag: '"x"' };
    const listing = (change: object) => readStoredListing({ place: 'host/app', pages: [{ ...page, ...change }] });
    expect(listing({})).toEqual({ place: 'host/app', pages: [{ ...page, next: undefined }] });
    for (const change of [{ tags: ['../x'] }, { etag: 'a\r\nb' }, { next: 'https://elsewhere' }, { query: '/x' }])
      expect(listing(change)).toBeUndefined();
  });

  test('follows a registry that is a name for another, page by page', async () => {
    const behind = await rig.serve(paged(numbered(150), 100));
    const front = await rig.serve(({ url }) => ({ status: 307, headers: { location: `${behind.url}${url}` } }));
    expect((await listing(front)).tags).toEqual(numbered(150));
    expect(front.lines()).toHaveLength(2);
  });

  test('goes nowhere else, whatever a link says, and shows its login to nobody else', async () => {
    const other = await rig.serve(() => page(['stolen']));
    for (const next of [
      `${other.url}/v2/team/app/tags/list?n=1`,
      '/v2/team/other/tags/list?n=1',
      '//[',
      '/admin?x=1',
    ]) {
      const server = await rig.serve(() => page(['a'], next));
      const failure = await failureOf(rig.registry().listTags(at(server)));
      expect(failure.code).toBe('registry-invalid');
      expect(failure.message).toContain('its list continues');
    }
    expect(other.seen).toEqual([]);
  });

  test('comes from Docker Hub itself before a mirror, which may know only some', async () => {
    const nginx = parseImageReference('nginx:1.27');
    const mirror = await rig.serve(() => page(['some']));
    let isDown = false;
    const hub = await rig.serve(() => (isDown ? { status: 503 } : page(['some', 'more'])), { tls: true });
    const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: hub.port });
    const registry = rig.registry({
      hubMirrors: () => Promise.resolve([mirror.url]),
      extraCa: [serverCa],
      proxy: { https: proxy.url },
    });
    expect((await registry.listTags(nginx)).tags).toBe('some\nmore');
    expect(mirror.seen).toEqual([]);
    isDown = true;
    expect((await registry.listTags(nginx)).tags).toBe('some');
  });
});
