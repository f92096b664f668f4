import { readFileSync } from 'node:fs';
import { startHttpServer, type Reply, type SeenRequest } from '../http/http-server.ts';

const fixture = (name: string): Buffer => readFileSync(new URL(`../../fixtures/forge-tls/${name}`, import.meta.url));

/** The authority of the fake forges. */
export const forgeCa = fixture('ca.pem');

export type FakeRelease = {
  readonly tag: string;
  readonly body?: string | null;
  readonly name?: string;
  readonly prerelease?: boolean;
  readonly draft?: boolean;
  readonly at?: string;
};

export type FakeRepository = {
  /** As the forge lists them: the newest first. */
  readonly releases?: readonly FakeRelease[];
  /** Tags besides those of releases. */
  readonly tags?: readonly string[];
  /** CHANGELOG.md at every tag. */
  readonly changelog?: string;
};

/**
 * Imitates github.com, gitlab.com, codeberg.org and hosts below acme.example on the loopback: the documented lists with
 * their pages, ETags and limits. Requests reach it through a proxy, as with `HTTPS_PROXY`. Repositories are named
 * `HOST/PATH`.
 */
export type FakeForge = {
  readonly proxyUrl: string;
  /** `HOST PATH?QUERY` of each request. */
  readonly lines: () => readonly string[];
  readonly requests: () => readonly (SeenRequest & { readonly host: string })[];
  readonly repositories: Map<string, FakeRepository>;
  /** Answers in place of the forge; undefined: the forge answers. */
  misbehave: (host: string, path: string, request: SeenRequest) => Reply | undefined;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function startFakeForge(repositories: Readonly<Record<string, FakeRepository>>): Promise<FakeForge> {
  const requests: (SeenRequest & { readonly host: string })[] = [];
  const known = new Map(Object.entries(repositories));
  const forge: Pick<FakeForge, 'misbehave'> = { misbehave: () => undefined };
  const secure = await startHttpServer(
    (request) => {
      const host = (request.headers.host ?? '').replace(/:443$/, '');
      requests.push({ ...request, host });
      return forge.misbehave(host, request.url, request) ?? answer(known, host, request);
    },
    { tls: true, identity: { cert: fixture('server.pem'), key: fixture('server.key') } },
  );
  const proxy = await startHttpServer(() => ({ status: 400 }), { tunnelTo: secure.port });
  return Object.assign(forge, {
    proxyUrl: proxy.url,
    repositories: known,
    requests: () => requests,
    lines: () => requests.map(({ host, url }) => `${host} ${url}`),
    [Symbol.asyncDispose]: async () => {
      await secure[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  });
}

function answer(repositories: ReadonlyMap<string, FakeRepository>, host: string, request: SeenRequest): Reply {
  const url = new URL(`https://${host}${request.url}`);
  const asked = read(host, url.pathname);
  const repository = asked && repositories.get(asked.name);
  if (repository === undefined) return { status: 404, body: '{"message":"Not Found"}' };
  const size = Number(url.searchParams.get('per_page') ?? url.searchParams.get('limit') ?? 30);
  const from = (Number(url.searchParams.get('page') ?? 1) - 1) * size;
  const { releases = [], tags = [], changelog } = repository;
  if (asked?.list === 'changelog') return changelog === undefined ? { status: 404 } : { body: changelog };
  const list =
    asked?.list === 'tags'
      ? [...releases.map(({ tag }) => tag), ...tags].map((name) => ({ name }))
      : releases.map(asked?.shown ?? gitHubRelease);
  const body = JSON.stringify(list.slice(from, from + size));
  const etag = `W/"${Buffer.from(body).toString('base64').slice(-20)}${body.length}"`;
  if (request.headers['if-none-match'] === etag) return { status: 304 };
  return { headers: { etag, 'content-type': 'application/json; charset=utf-8' }, body };
}

type Asked = {
  readonly name: string;
  readonly list: 'releases' | 'tags' | 'changelog';
  readonly shown: (release: FakeRelease) => object;
};

function read(host: string, path: string): Asked | undefined {
  const [, raw] = /^\/([^/]+\/[^/]+)\/[^/]+\/CHANGELOG\.md$/.exec(path) ?? [];
  if (host === 'raw.githubusercontent.com')
    return raw === undefined ? undefined : { name: `github.com/${raw}`, list: 'changelog', shown: gitHubRelease };
  const [, gitHub, gitHubList] =
    /^(?:\/api\/v3)?\/repos\/([^/]+\/[^/]+)\/(releases|tags|contents\/CHANGELOG\.md)$/.exec(path) ?? [];
  if (gitHub !== undefined) {
    const name = `${host === 'api.github.com' ? 'github.com' : host}/${gitHub}`;
    return { name, list: listOf(gitHubList), shown: gitHubRelease };
  }
  const [, gitLab, gitLabList] =
    /^\/api\/v4\/projects\/([^/]+)\/(releases|repository\/tags|repository\/files\/CHANGELOG\.md\/raw)$/.exec(path) ??
    [];
  if (gitLab !== undefined)
    return { name: `${host}/${decodeURIComponent(gitLab)}`, list: listOf(gitLabList), shown: gitLabRelease };
  const [, gitea, giteaList] =
    /^\/api\/v1\/repos\/([^/]+\/[^/]+)\/(releases|tags|raw\/CHANGELOG\.md)$/.exec(path) ?? [];
  return gitea === undefined ? undefined : { name: `${host}/${gitea}`, list: listOf(giteaList), shown: gitHubRelease };
}

function listOf(path = ''): Asked['list'] {
  return path.includes('CHANGELOG') ? 'changelog' : path.endsWith('tags') ? 'tags' : 'releases';
}

/** GitHub and Gitea: https://docs.github.com/en/rest/releases/releases#list-releases */
function gitHubRelease({ tag, body = '', name = '', prerelease = false, draft = false, at }: FakeRelease): object {
  const [author, assets] = [{ login: 'ann' }, []];
  return {
    ...{ author, assets, body, draft, name, prerelease },
    tag_name: tag,
    published_at: at ?? null,
    html_url: 'https://evil.example/',
  };
}

/** https://docs.gitlab.com/api/releases/ */
function gitLabRelease({ tag, body = '', name = '', draft = false, at }: FakeRelease): object {
  return {
    tag_name: tag,
    name,
    description: body,
    released_at: at ?? null,
    upcoming_release: draft,
    _links: { self: 'https://evil.example/' },
  };
}
