import { afterEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { forgeCa, startFakeForge, type FakeRepository } from '../../../test/support/forge/fake-forge.ts';
import type { Reply } from '../../../test/support/http/http-server.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import type { ForgeKind, Repository } from '../../domain/image/image-source.ts';
import type { NotesAnswer } from '../../domain/notes/notes.ts';
import type { Step } from '../../domain/notes/releases.ts';
import { createForges, type ForgeOptions } from './forges.ts';

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const web: Repository = { forge: 'github', host: 'github.com', path: 'acme/web' };
const step = (from: string, to: string): Step => ({ from, to, names: ['web'] });
const twoReleases: FakeRepository = {
  releases: [
    { tag: 'v2.1.0', body: '* Faster search', name: 'Speed', at: '2026-11-19T10:00:00Z' },
    { tag: 'v2.0.0', body: '## Breaking changes\n\n* The port moves' },
    { tag: 'v1.9.0', body: 'Old' },
  ],
};

async function forgesWith(repositories: Readonly<Record<string, FakeRepository>>, more: Partial<ForgeOptions> = {}) {
  const forge = await startFakeForge(repositories);
  const clock = createFakeClock();
  const log = createTestLog();
  const forges = createForges({
    clock,
    log,
    version: '1.2.3',
    tokens: new Map(),
    proxy: { https: forge.proxyUrl },
    trust: { tlsMinVersion: 'TLSv1.2', extraCa: [forgeCa], systemTrust: undefined },
    ...more,
  });
  open.push(async () => {
    await forges.close();
    await forge[Symbol.asyncDispose]();
  });
  const ask = (repository: Repository, ...steps: readonly Step[]) => forges.read({ repository, steps });
  return { forge, forges, clock, log, ask };
}

function tagsIn(answer: NotesAnswer): readonly (readonly string[] | string)[] | string {
  if (answer.kind !== 'read') return answer.kind === 'failed' ? answer.reason : answer.kind;
  return answer.steps.map((one) => (one.kind === 'found' ? one.releases.map(({ tag }) => tag) : one.url));
}

describe('createForges()', () => {
  const kinds: readonly (readonly [ForgeKind, string, string, string])[] = [
    ['github', 'github.com', 'acme/web', 'api.github.com /repos/acme/web/releases?per_page=30&page=1'],
    ['github', 'ghe.acme.example', 'acme/web', 'ghe.acme.example /api/v3/repos/acme/web/releases?per_page=30&page=1'],
    [
      'gitlab',
      'gitlab.com',
      'acme/team/web',
      'gitlab.com /api/v4/projects/acme%2Fteam%2Fweb/releases?per_page=20&page=1',
    ],
    ['gitea', 'codeberg.org', 'acme/web', 'codeberg.org /api/v1/repos/acme/web/releases?limit=30&page=1'],
    ['gitea', 'git.acme.example', 'acme/web', 'git.acme.example /api/v1/repos/acme/web/releases?limit=30&page=1'],
  ];

  test.each(kinds)('reads releases of %s at %s', async (forge, host, path, line) => {
    const { forge: fake, ask } = await forgesWith({ [`${host}/${path}`]: twoReleases });
    const answer = await ask({ forge, host, path }, step('1.9.0', '2.1.0'));
    expect(fake.lines()).toEqual([line]);
    const page = forge === 'gitlab' ? '-/releases/' : 'releases/tag/';
    expect(answer).toMatchObject({
      kind: 'read',
      etag: expect.stringMatching(/^W/) as unknown,
      steps: [
        {
          kind: 'found',
          more: 0,
          releases: [
            {
              ...{ tag: 'v2.1.0', title: 'Speed', publishedAtMs: Date.UTC(2026, 10, 19, 10), isPrerelease: false },
              url: `https://${host}/${path}/${page}v2.1.0`,
              blocks: [{ kind: 'list' }],
            },
            { tag: 'v2.0.0', publishedAtMs: undefined, blocks: [{ kind: 'heading' }, { kind: 'list' }] },
          ],
        },
      ],
    });
  });

  test.each(kinds)('reads CHANGELOG.md of %s at %s where a tag has no release', async (forge, host, path) => {
    const changelog = '## 2.1.0\n* Faster\n## 2.0.0\n* New\n## 1.9.0\n* Old';
    const { ask } = await forgesWith({ [`${host}/${path}`]: { tags: ['v2.1.0', 'v2.0.0', 'v1.9.0'], changelog } });
    expect(tagsIn(await ask({ forge, host, path }, step('1.9.0', '2.1.0')))).toEqual([['2.1.0', '2.0.0']]);
  });

  test.each([
    ['github', 'github.com', 'https://github.com/acme/web/compare/v1.9.0...v2.1.0'],
    ['gitlab', 'gitlab.com', 'https://gitlab.com/acme/web/-/compare/v1.9.0...v2.1.0'],
    ['gitea', 'codeberg.org', 'https://codeberg.org/acme/web/compare/v1.9.0...v2.1.0'],
  ] as const)('names the page of %s that compares the tags where nothing is written', async (forge, host, url) => {
    const { ask } = await forgesWith({ [`${host}/acme/web`]: { tags: ['v2.1.0', 'v1.9.0'] } });
    expect(
      tagsIn(await ask({ forge, host, path: 'acme/web' }, step('1.9.0', '2.1.0'), step('1.8.0', '3.0.0'))),
    ).toEqual([url, `https://${host}/acme/web${forge === 'gitlab' ? '/-/releases' : '/releases'}`]);
  });

  test('asks once for several steps, and for older pages until the running version is found, at most four', async () => {
    const releases = Array.from({ length: 300 }, (_, at) => ({ tag: `v1.${300 - at}.0`, body: '* One' }));
    const { forge, ask } = await forgesWith({ 'github.com/acme/web': { releases } });
    expect(tagsIn(await ask(web, step('1.299.0', '1.300.0'), step('1.298.0', '1.299.0')))).toEqual([
      ['v1.300.0'],
      ['v1.299.0'],
    ]);
    expect(forge.lines()).toHaveLength(1);
    await ask(web, step('1.250.0', '1.300.0'));
    expect(forge.lines()).toHaveLength(3);
    expect(await ask(web, step('1.0.0', '1.300.0'))).toMatchObject({
      steps: [{ more: 100, releases: { length: 20 } }],
    });
    expect(forge.lines()).toHaveLength(7);
  });

  test('says that older releases may be missing where four pages do not reach the running version', async () => {
    const releases = [
      { tag: 'v3.1.0', body: '* One' },
      ...Array.from({ length: 200 }, (_, at) => ({ tag: `cli/v1.${200 - at}.0`, body: '* Other' })),
      { tag: 'v3.0.0', body: '## Breaking changes\n\n* The port moves' },
    ];
    const { ask } = await forgesWith({ 'github.com/acme/web': { releases } });
    expect(await ask(web, step('2.9.0', '3.1.0'))).toMatchObject({ steps: [{ more: 0, lacksOlder: true }] });
    const few = await forgesWith({ 'github.com/acme/web': { releases: releases.slice(150) } });
    expect(await few.ask(web, step('2.9.0', '3.0.0'))).toMatchObject({ steps: [{ kind: 'found', more: 0 }] });
    expect(await few.ask(web, step('2.9.0', '3.0.0'))).not.toMatchObject({ steps: [{ lacksOlder: true }] });
  });

  test('keeps those with breaking changes of more than twenty releases', async () => {
    const bodies = Array.from({ length: 25 }, (_, at) => (at === 23 ? '* feat!: the port moves' : '* One'));
    const releases = bodies.map((body, at) => ({ tag: `v1.${25 - at}.0`, body }));
    const { ask } = await forgesWith({
      'github.com/acme/web': { releases },
      'codeberg.org/acme/web': {
        tags: ['v1.25.0'],
        changelog: releases.map(({ tag, body }) => `## ${tag}\n\n${body}\n`).join('\n'),
      },
    });
    for (const repository of [web, { forge: 'gitea', host: 'codeberg.org', path: 'acme/web' } as const]) {
      const answer = await ask(repository, step('1.0.0', '1.25.0'));
      expect(answer).toMatchObject({ steps: [{ more: 4, releases: { length: 21 } }] });
      expect(tagsIn(answer)[0]?.at(-1)).toMatch(/^v?1\.2\.0$/);
    }
  });

  test('says which texts it has read in part', async () => {
    const body = `${'* One more line\n'.repeat(5000)}\n## Breaking changes\n\n* The port moves\n`;
    const { ask } = await forgesWith({ 'github.com/acme/web': { releases: [{ tag: 'v2.1.0', body }] } });
    expect(await ask(web, step('2.0.0', '2.1.0'))).toMatchObject({ steps: [{ releases: [{ isCut: true }] }] });
  });

  test('leaves out drafts, and what is no release', async () => {
    const { forge, ask } = await forgesWith({
      'github.com/acme/web': { releases: [{ tag: 'v2.1.0', draft: true }, ...(twoReleases.releases ?? []).slice(1)] },
    });
    expect(tagsIn(await ask(web, step('1.9.0', '2.0.0')))).toEqual([['v2.0.0']]);
    forge.misbehave = () => ({
      body: JSON.stringify([
        null,
        7,
        { tag_name: 5 },
        { tag_name: 'v2.0.0\u0007' },
        { tag_name: 'v2.0.0', body: null, name: null },
      ]),
    });
    expect(await ask(web, step('1.9.0', '2.0.0'))).toMatchObject({
      steps: [{ releases: [{ tag: 'v2.0.0', title: '', blocks: [] }] }],
    });
  });

  test('sends the ETag, and knows an unchanged list', async () => {
    const { forge, forges, ask } = await forgesWith({ 'github.com/acme/web': twoReleases });
    const steps = [step('1.9.0', '2.1.0')];
    const first = await ask(web, ...steps);
    const etag = first.kind === 'read' ? first.etag : undefined;
    expect(await forges.read({ repository: web, steps, etag })).toEqual({ kind: 'unchanged' });
    forge.repositories.set('github.com/acme/web', {
      releases: [{ tag: 'v2.1.0', body: '* Edited' }, ...(twoReleases.releases ?? []).slice(1)],
    });
    expect(await forges.read({ repository: web, steps, etag })).toMatchObject({ kind: 'read' });
  });

  test('finds a changelog that came after the first look, although the list of releases is unchanged', async () => {
    const { forge, forges, ask } = await forgesWith({ 'github.com/acme/web': { tags: ['v1.9.0'] } });
    const steps = [step('1.9.0', '2.1.0')];
    const first = await ask(web, ...steps);
    const etag = first.kind === 'read' ? first.etag : undefined;
    forge.repositories.set('github.com/acme/web', { tags: ['v2.1.0', 'v1.9.0'], changelog: '## 2.1.0\n* Faster' });
    expect(tagsIn(await forges.read({ repository: web, steps, etag }))).toEqual([['2.1.0']]);
  });

  const faults: readonly (readonly [string, () => Reply, string])[] = [
    ['a repository that is missing or private', () => ({ status: 404 }), 'missing'],
    ['an error', () => ({ status: 502, body: 'no' }), 'github.com: it answered with status 502'],
    ['a page of HTML', () => ({ body: '<html>' }), 'github.com: its answer is not a list of releases'],
    ['an object', () => ({ body: '{}' }), 'github.com: its answer is not a list of releases'],
    [
      'a redirect to another host',
      () => ({ status: 301, headers: { location: 'https://evil.example/x' } }),
      'github.com: it redirects to another host',
    ],
    [
      'a redirect to http',
      () => ({ status: 302, headers: { location: 'http://api.github.com/x' } }),
      'github.com: it redirects to another host',
    ],
    [
      'a redirect to itself for ever',
      () => ({ status: 307, headers: { location: '/x' } }),
      'github.com: it redirects to another host',
    ],
    ['a lost connection', () => 'drop', 'github.com: '],
    ['silence', () => 'hang', 'github.com: it did not answer within 500ms'],
    [
      'an answer that stops in the middle',
      () => ({ headers: { 'content-length': '1000' }, body: '[' }),
      'github.com: it did not answer within 500ms',
    ],
    ['an empty answer', () => ({ body: '' }), 'github.com: its answer is not a list of releases'],
    [
      'a page to sign in',
      () => ({ status: 302, headers: { location: 'https://github.com/login' } }),
      'it redirects to another host',
    ],
    [
      'a flood',
      () => ({ body: `[${' '.repeat(3 * 1024 * 1024)}]` }),
      'github.com: it answered with more than 2097152 bytes',
    ],
  ];

  test.each(faults)('tells %s', async (_, reply, expected) => {
    const { forge, ask } = await forgesWith({}, expected.includes('500ms') ? { deadlineMs: 500 } : {});
    forge.misbehave = reply;
    expect(tagsIn(await ask(web, step('1.9.0', '2.1.0')))).toContain(expected);
    expect(forge.requests().length).toBeLessThanOrEqual(4);
    expect(forge.requests().every(({ host }) => host === 'api.github.com')).toBe(true);
  });

  test('follows a renamed repository on the same host', async () => {
    const { forge, ask } = await forgesWith({ 'github.com/acme/new': twoReleases });
    forge.misbehave = (_, path): Reply | undefined =>
      path.startsWith('/repos/acme/web/')
        ? { status: 301, headers: { location: path.replace('/web/', '/new/') } }
        : undefined;
    expect(tagsIn(await ask(web, step('1.9.0', '2.1.0')))).toEqual([['v2.1.0', 'v2.0.0']]);
  });

  test('tells of each request with the host of the repository and its result', async () => {
    const told: string[] = [];
    const onRequest = (host: string, result: string) => told.push(`${host} ${result}`);
    const { forge, ask } = await forgesWith({ 'github.com/acme/web': twoReleases }, { onRequest });
    await ask(web, step('1.9.0', '2.1.0'));
    expect(new Set(told)).toEqual(new Set(['github.com answered']));
    expect(told).toHaveLength(forge.lines().length);
    forge.misbehave = (): Reply | undefined => ({ status: 429 });
    await ask(web, step('1.9.0', '2.1.0'));
    expect(told.at(-1)).toBe('github.com limited');
    await ask(web, step('1.9.0', '2.1.0'));
    expect(told).toHaveLength(forge.lines().length);
  });

  test('asks for fewer releases if a page is too large', async () => {
    const big = 'x'.repeat(100_000);
    const releases = Array.from({ length: 30 }, (_, at) => ({ tag: `v1.${30 - at}.0`, body: `* One ${big}` }));
    const { forge, ask } = await forgesWith({ 'github.com/acme/web': { releases } });
    expect(tagsIn(await ask(web, step('1.29.0', '1.30.0')))).toEqual([['v1.30.0']]);
    expect(forge.lines().at(-1)).toBe('api.github.com /repos/acme/web/releases?per_page=8&page=1');
  });

  test('keeps the newer releases if an older page is too large', async () => {
    const big = 'x'.repeat(100_000);
    const releases = Array.from({ length: 60 }, (_, at) => ({ tag: `v1.${60 - at}.0`, body: at < 30 ? '* One' : big }));
    const { ask } = await forgesWith({ 'github.com/acme/web': { releases } });
    expect(await ask(web, step('1.10.0', '1.60.0'))).toMatchObject({ steps: [{ more: 10, lacksOlder: true }] });
  });

  test.each([
    ['retry-after', { status: 429, headers: { 'retry-after': '120' } }, 120_000],
    [
      'a reset',
      {
        status: 403,
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.UTC(2026, 0, 1, 0, 20) / 1000) },
      },
      1_200_000,
    ],
    ['no time', { status: 429 }, 60_000],
    ['a day', { status: 429, headers: { 'retry-after': '86400' } }, 3_600_000],
    ['a date', { status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:10:00 GMT' } }, 600_000],
    ['a date and no more', { status: 403, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:10:00 GMT' } }, 600_000],
    ['a date that is over', { status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' } }, 60_000],
    ['a negative time', { status: 429, headers: { 'retry-after': '-5' } }, 60_000],
  ] as const)('pauses a host that limits with %s, and only this one', async (_, reply, pauseMs) => {
    const { forge, clock, ask } = await forgesWith({
      'github.com/acme/web': twoReleases,
      'codeberg.org/acme/web': twoReleases,
    });
    forge.misbehave = (host): Reply | undefined => (host === 'api.github.com' ? reply : undefined);
    const untilMs = clock.nowMs() + pauseMs;
    expect(await ask(web, step('1.9.0', '2.1.0'))).toMatchObject({ kind: 'failed', retryAtMs: untilMs });
    forge.misbehave = (): Reply | undefined => undefined;
    expect(await ask(web, step('1.9.0', '2.1.0'))).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('set a token with --release-notes-token') as unknown,
    });
    expect(forge.lines()).toHaveLength(1);
    expect(
      tagsIn(await ask({ forge: 'gitea', host: 'codeberg.org', path: 'acme/web' }, step('1.9.0', '2.1.0'))),
    ).toHaveLength(1);
    clock.jumpWallClock(pauseMs + 1);
    expect(tagsIn(await ask(web, step('1.9.0', '2.1.0')))).toEqual([['v2.1.0', 'v2.0.0']]);
  });

  test('without a token, asks GitHub at most 30 times an hour, and leaves ten requests to others', async () => {
    const { forge, clock, ask } = await forgesWith({ 'github.com/acme/web': twoReleases });
    for (let times = 0; times < 40; times += 1) await ask(web, step('1.9.0', '2.1.0'));
    expect(forge.lines()).toHaveLength(30);
    clock.jumpWallClock(3_600_001);
    forge.misbehave = () => ({
      body: '[]',
      headers: { 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': String(clock.nowMs() / 1000 + 600) },
    });
    await ask(web, step('1.9.0', '2.1.0'));
    await ask(web, step('1.9.0', '2.1.0'));
    expect(forge.lines().length).toBeLessThanOrEqual(32);
  });

  describe('a token', () => {
    const tokens = new Map([
      ['github.com', 'gh-secret'],
      ['gitlab.com', 'gl-secret'],
      ['git.acme.example', 'gt-secret'],
    ]);

    test('reaches the API of its host only, in the form of its kind', async () => {
      const all = { tags: ['v2.1.0'], changelog: '## 2.1.0\n* One' };
      const { forge, ask } = await forgesWith(
        {
          'github.com/acme/web': all,
          'gitlab.com/acme/web': all,
          'git.acme.example/acme/web': all,
          'codeberg.org/acme/web': all,
        },
        { tokens },
      );
      for (const [kind, host] of [
        ['github', 'github.com'],
        ['gitlab', 'gitlab.com'],
        ['gitea', 'git.acme.example'],
        ['gitea', 'codeberg.org'],
      ] as const)
        await ask({ forge: kind, host, path: 'acme/web' }, step('1.9.0', '2.1.0'));
      const carried = new Map(
        forge.requests().map(({ host, headers }) => [host, headers.authorization ?? headers['private-token']]),
      );
      expect(Object.fromEntries(carried)).toEqual({
        'api.github.com': 'Bearer gh-secret',
        'raw.githubusercontent.com': undefined,
        'gitlab.com': 'gl-secret',
        'git.acme.example': 'token gt-secret',
        'codeberg.org': undefined,
      });
      const secrets = [...tokens.values()];
      for (const { host, headers, url } of forge.requests())
        for (const secret of secrets)
          if (JSON.stringify([headers, url]).includes(secret))
            expect(`${host} ${secret}`).toMatch(
              /^(?:api\.github\.com gh|gitlab\.com gl|git\.acme\.example gt)-secret$/,
            );
    });

    test('does not follow a redirect to another host', async () => {
      const { forge, ask } = await forgesWith({}, { tokens });
      forge.misbehave = () => ({ status: 302, headers: { location: 'https://evil.example/steal' } });
      await ask(web, step('1.9.0', '2.1.0'));
      expect(forge.requests().map(({ host }) => host)).toEqual(['api.github.com']);
    });

    test.each([401, 403])(
      'that is refused with %s is told, and the request is not repeated without it',
      async (status) => {
        const { forge, ask } = await forgesWith({}, { tokens });
        forge.misbehave = () => ({ status, body: '{"message":"Bad credentials gh-secret"}' });
        expect(tagsIn(await ask(web, step('1.9.0', '2.1.0')))).toBe('github.com: the token of github.com was refused');
        expect(forge.lines()).toHaveLength(1);
      },
    );
  });

  test('ends with its signal', async () => {
    const { forge, forges } = await forgesWith({});
    const stop = new AbortController();
    forge.misbehave = () => {
      stop.abort(new Error('stopped'));
      return 'hang';
    };
    await expect(forges.read({ repository: web, steps: [step('1', '2')] }, stop.signal)).rejects.toThrow('stopped');
  });
});
