import { expect, test } from 'vitest';
import { serverCa, type Reply } from '../../../test/support/http/http-server.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { emptyContent, putImage, serveContent, requireToken } from '../../../test/support/registry/registry-content.ts';

const rig = createOciRig();
const login = { repoUser: 'jo', repoPass: 'secret' };
const challenge = { status: 401, headers: { 'www-authenticate': 'Basic realm="lab"' } };
const linux = { os: 'linux', architecture: 'amd64', variant: '' };

test('a blob may lie in a store, which sees nothing of our login', async () => {
  const content = emptyContent();
  const { digest, configDigest } = putImage(content, 'team/app:1');
  const store = await rig.serve(() => ({ body: content.blobs.get(configDigest) ?? '' }));
  const registry = await rig.serve((request) => {
    if (request.headers.authorization === undefined) return challenge;
    if (request.url.includes('/blobs/')) return { status: 307, headers: { location: `${store.url}/blob?signed=1` } };
    return serveContent(content)(request);
  });
  const found = await rig
    .registry({ ...login, repoHost: registry.host })
    .describe({ reference: at(registry), digest, platform: linux });
  expect(found.configDigest).toBe(configDigest);
  expect(store.seen.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([
    ['GET', '/blob?signed=1', undefined],
  ]);
});

test('a redirect within the host keeps the login, and HEAD stays HEAD', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'real/app:1');
  const registry = await rig.serve((request) => {
    if (request.headers.authorization === undefined) return challenge;
    if (request.url.includes('team'))
      return { status: 301, headers: { location: request.url.replace('team', 'real') } };
    return serveContent(content)(request);
  });
  expect(await rig.registry({ ...login, repoHost: registry.host }).resolve(at(registry))).toBe(digest);
  expect(registry.lines().at(-1)).toBe('HEAD /v2/real/app/manifests/1');
});

test('a user name in a redirect is not shown to where it leads', async () => {
  const store = await rig.serve(() => ({ status: 404 }));
  const registry = await rig.serve(() => ({ status: 302, headers: { location: `http://evil:evil@${store.host}/` } }));
  await failureOf(rig.registry().resolve(at(registry)));
  expect(store.seen[0]?.headers.authorization).toBeUndefined();
});

test.each(['Bearer', 'Basic'])('a %s challenge of where a redirect leads is not met with our login', async (scheme) => {
  const tokens = await rig.serve(() => ({ body: '{"token":"t"}' }));
  const elsewhere = await rig.serve(() => ({
    status: 401,
    headers: { 'www-authenticate': `${scheme} realm="${tokens.url}/token"` },
  }));
  const registry = await rig.serve(() => ({ status: 307, headers: { location: `${elsewhere.url}/` } }));
  const error = await failureOf(rig.registry({ ...login, repoHost: registry.host }).resolve(at(registry)));
  expect(error.code).toBe('registry-denied');
  expect(tokens.seen).toEqual([]);
  const shown = [...registry.seen, ...elsewhere.seen].map(({ headers }) => headers.authorization);
  expect(shown.filter((header) => header !== undefined)).toEqual([]);
});

test('a registry may be a name for another, which is shown the login for there and nothing else', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const tokens = await rig.serve(() => ({ body: '{"token":"good"}' }));
  const behind = await rig.serve(
    requireToken(
      serveContent(content),
      () => `${tokens.url}/token`,
      (token) => token === 'good',
    ),
    { tls: true },
  );
  const name = await rig.serve(({ url }) => ({ status: 307, headers: { location: behind.url + url } }));
  const password = (text: string) => ({ auth: Buffer.from(text).toString('base64') });
  const dockerConfigPath = rig.dockerConfig({
    auths: { [name.host]: password('name:one'), [behind.host]: password('behind:two') },
  });
  const insecureRegistries = () => Promise.resolve([tokens.host]);
  expect(await rig.registry({ dockerConfigPath, insecureRegistries }).resolve(at(name))).toBe(digest);
  expect(await rig.registry({ ...login, repoHost: name.host, insecureRegistries }).resolve(at(name))).toBe(digest);
  expect(tokens.seen.map(({ headers }) => headers.authorization)).toEqual([
    `Basic ${Buffer.from('behind:two').toString('base64')}`,
    undefined,
  ]);
  expect(name.seen.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
});

test.each([true, false])(
  'set-up registry that redirects: it may be a name for a repository of another (tls: %s)',
  async (tls) => {
    const content = emptyContent();
    const { digest } = putImage(content, 'acme/app:1');
    for (const tag of ['2', '3']) content.tags.set(`acme/app:${tag}`, digest);
    const tokens = await rig.serve(() => ({ body: '{"token":"good"}' }));
    const behind = await rig.serve(
      requireToken(
        ({ url, ...request }) => {
          if (!url.includes('/tags/list')) return serveContent(content)({ url, ...request });
          const isLast = url.includes('last=');
          const headers = {
            'content-type': 'application/json',
            ...(!isLast && { link: '</v2/acme/app/tags/list?last=1>; rel="next"' }),
          };
          return { headers, body: JSON.stringify({ name: 'acme/app', tags: isLast ? ['2', '3'] : ['1'] }) };
        },
        () => `${tokens.url}/token`,
        (token) => token === 'good',
      ),
      { tls },
    );
    const name = await rig.serve(({ url }) => ({
      status: 307,
      headers: { location: behind.url + url.replace('/v2/team/', '/v2/acme/') },
    }));
    const password = { auth: Buffer.from('behind:two').toString('base64') };
    const dockerConfigPath = rig.dockerConfig({ auths: { [name.host]: password } });
    const insecureRegistries = () => Promise.resolve([tokens.host, name.host, ...(tls ? [] : [behind.host])]);
    const registry = rig.registry({ dockerConfigPath, insecureRegistries });
    expect(await registry.resolve(at(name))).toBe(digest);
    expect((await registry.listTags(at(name))).tags.split('\n').toSorted()).toEqual(['1', '2', '3']);
    const scopes = tokens.seen.map(({ url }) => new URL(url, tokens.url).searchParams.getAll('scope'));
    expect(scopes.flat()).not.toContain('repository:team/app:pull');
    expect(scopes.flat()).toContain('repository:acme/app:pull');
    expect([...tokens.seen, ...name.seen].flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
  },
);

test('a redirect to another tag of a registry that wants a token is a refusal', async () => {
  const tokens = await rig.serve(() => ({ body: '{"token":"good"}' }));
  const behind = await rig.serve(
    requireToken(
      () => ({ status: 404 }),
      () => `${tokens.url}/token`,
      (token) => token === 'good',
    ),
    { tls: true },
  );
  const name = await rig.serve(() => ({
    status: 307,
    headers: { location: `${behind.url}/v2/acme/app/manifests/other` },
  }));
  expect((await failureOf(rig.registry().resolve(at(name)))).code).toBe('registry-denied');
  expect(tokens.seen).toEqual([]);
});

test('registries that lead to each other, and want a login, come to an end', async () => {
  const challenged = { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
  let asked = 0;
  const one = await rig.serve(({ url }) => answer(url, other.url), { tls: true });
  const other = await rig.serve(({ url }) => answer(url, one.url), { tls: true });
  function answer(url: string, next: string): Reply {
    asked += 1;
    return asked % 2 === 1 ? { status: 307, headers: { location: next + url } } : challenged;
  }
  expect((await failureOf(rig.registry().resolve(at(one)))).code).toBe('registry-denied');
  expect(asked).toBeLessThan(10);
});

test('nothing leads from https to http', async () => {
  const store = await rig.serve(() => ({}));
  const registry = await rig.serve(() => ({ status: 302, headers: { location: `${store.url}/` } }), { tls: true });
  const error = await failureOf(rig.registry({ extraCa: [serverCa] }).resolve(at(registry)));
  expect(error.code).toBe('registry-invalid');
  expect(error.message).toContain('it redirects from https: to http:');
  expect(store.seen).toEqual([]);
});

test.each([
  ['http://[', 'it redirects to "http://["'],
  ['file:///etc/passwd', 'it redirects from http: to file:'],
  ['/again', 'it redirects more than 5 times'],
])('a redirect to %j is refused', async (location, why) => {
  const registry = await rig.serve(() => ({ status: 302, headers: { location } }));
  const error = await failureOf(rig.registry().resolve(at(registry)));
  expect(error.code).toBe('registry-invalid');
  expect(error.message).toContain(why);
  expect(registry.seen.length).toBeLessThanOrEqual(6);
});
