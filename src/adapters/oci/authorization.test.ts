import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import type { Answer, HttpServer, SeenRequest } from '../../../test/support/http/http-server.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { emptyContent, putImage, serveContent, requireToken } from '../../../test/support/registry/registry-content.ts';
import type { Registry } from '../../domain/outside/registry.ts';
import type { Digest } from '../../domain/image/image-reference.ts';

const rig = createOciRig();

type Guarded = {
  readonly registry: HttpServer;
  readonly tokens: HttpServer;
  readonly digest: Digest;
  readonly revoke: () => void;
};

type GuardedOptions = {
  readonly tls?: boolean;
  readonly repositories?: number;
  readonly opens?: (token: string, path: string) => boolean;
  /** The answer to a token that does not open a path, with `REALM` for its token server; a challenge by default. */
  readonly refusal?: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
};

/** A registry with `team/app:1` … `team/app9:1` that accepts the tokens of its token server. */
async function guarded(
  issue: (request: SeenRequest, token: string) => object | number = (_, token) => ({ token }),
  { tls = false, repositories = 10, opens = () => true, refusal }: GuardedOptions = {},
): Promise<Guarded> {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  for (let i = 0; i < repositories; i += 1) content.tags.set(`team/app${i}:1`, digest);
  let issued = 0;
  let oldest = 1;
  const tokens = await rig.serve((request) => {
    issued += 1;
    const answer = issue(request, `token-${issued}`);
    return typeof answer === 'number'
      ? { status: answer, body: JSON.stringify({ details: 'incorrect username or password' }) }
      : { body: JSON.stringify(answer) };
  });
  const takes = (token: string, path: string): boolean =>
    Number(token.split('-')[1] ?? 0) >= oldest && (refusal !== undefined || opens(token, path));
  const realm = () => `${tokens.url}/token`;
  const answer = requireToken(serveContent(content), realm, takes);
  const refusing: Answer = (request) => {
    const token = request.headers.authorization?.slice('Bearer '.length);
    if (refusal === undefined || token === undefined || opens(token, request.url)) return answer(request);
    const headers = Object.entries(refusal.headers).map(([name, text]) => [name, text.replace('REALM', realm())]);
    return { ...refusal, headers: Object.fromEntries(headers) as Record<string, string> };
  };
  const registry = await rig.serve(refusing, { tls });
  return { registry, tokens, digest, revoke: () => (oldest = issued + 1) };
}

const scopesOf = ({ url }: SeenRequest) => new URL(url, 'http://tokens.test').searchParams.getAll('scope');

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

describe('with a token server', () => {
  test('an anonymous token is asked for once the registry wants one, for the repository alone', async () => {
    const { registry, tokens, digest } = await guarded();
    expect(await rig.registry().resolve(at(registry))).toBe(digest);
    expect(tokens.lines()).toEqual(['GET /token?service=test-registry&scope=repository%3Ateam%2Fapp%3Apull']);
    expect(tokens.seen[0]?.headers.authorization).toBeUndefined();
    expect(registry.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, 'Bearer token-1']);
  });

  test.each([
    ['', ['repository:team/app:pull']],
    [' ', ['repository:team/app:pull']],
    ['repository:team/app:pull  repository:base:pull', ['repository:team/app:pull', 'repository:base:pull']],
  ])('the scopes of a challenge are its words: %j', async (scope, expected) => {
    const tokens = await rig.serve(() => ({ body: '{"token":"t"}' }));
    const challenge = `Bearer realm="${tokens.url}/token",scope="${scope}"`;
    const registry = await rig.serve(() => ({ status: 401, headers: { 'www-authenticate': challenge } }), {
      tls: true,
    });
    await failureOf(rig.registry().resolve(at(registry)));
    expect(scopesOf(tokens.seen[0]!)).toEqual(expected);
  });

  test('only the first request of all is refused: the others bring a token, and one suffices for a repository', async () => {
    const { registry, tokens } = await guarded();
    const oci = rig.registry();
    const names = Array.from({ length: 10 }, (_, i) => `team/app${i}:1`);
    await Promise.all(names.map((name) => oci.resolve(at(registry, name))));
    // The others are sent as soon as plain HTTP is detected.
    const refused = registry.seen.filter(({ headers }) => headers.authorization === undefined).length;
    await Promise.all(names.map((name) => oci.resolve(at(registry, name))));
    expect(registry.seen.filter(({ headers }) => headers.authorization === undefined).length).toBe(refused);
    expect(tokens.seen.length).toBe(10);
  });

  const names = (count: number) => Array.from({ length: count }, (_, index) => `team/app${index}:1`);

  async function checkAll(registry: HttpServer, oci: Registry, count = 10): Promise<readonly unknown[]> {
    const references = names(count).map((name) => at(registry, name));
    await oci.prepare?.(references);
    return Promise.all(references.map((reference) => oci.resolve(reference)));
  }

  test('a check of N images costs N + 2 requests over https: one refusal, one token, one answer for each', async () => {
    const { tokens, registry, digest } = await guarded((_, token) => ({ token }), { tls: true });
    expect(await checkAll(registry, rig.registry())).toEqual(names(10).map(() => digest));
    expect(registry.seen.length).toBe(11);
    expect(tokens.seen.map((request) => scopesOf(request).length)).toEqual([10]);
    expect(scopesOf(tokens.seen[0]!).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, index) => `repository:team/app${index}:pull`),
    );
  });

  test('a token carries fifty scopes at most', async () => {
    const { tokens, registry, digest } = await guarded((_, token) => ({ token }), { tls: true, repositories: 120 });
    expect(await checkAll(registry, rig.registry(), 120)).toEqual(names(120).map(() => digest));
    expect(tokens.seen.map((request) => scopesOf(request).length)).toEqual([50, 50, 20]);
  });

  test.each([
    ['denies', 403],
    ['does not understand', 400],
    ['breaks at', 500],
  ])('a token server that %s several scopes is asked for one after the other, also next time', async (_, status) => {
    const issue = (request: SeenRequest, token: string) => (scopesOf(request).length > 1 ? status : { token });
    const { tokens, registry, digest } = await guarded(issue, { tls: true });
    const clock = createFakeClock({ auto: true });
    const oci = rig.registry({ clock });
    expect(await checkAll(registry, oci)).toEqual(names(10).map(() => digest));
    const many = tokens.seen.filter((request) => scopesOf(request).length > 1).length;
    expect(tokens.seen.length - many).toBe(10);
    await clock.sleep(60_000);
    expect(await checkAll(registry, oci)).toEqual(names(10).map(() => digest));
    expect(tokens.seen.filter((request) => scopesOf(request).length > 1).length).toBe(many);
  });

  test('a token that does not open one of its repositories costs that one another token, the others none', async () => {
    const issue = (request: SeenRequest, token: string) => ({
      token: scopesOf(request).length > 1 ? `${token}-most` : token,
    });
    const opens = (token: string, path: string) => !(token.endsWith('-most') && path.includes('/app7/'));
    const { tokens, registry, digest } = await guarded(issue, { tls: true, opens });
    const oci = rig.registry();
    expect(await checkAll(registry, oci)).toEqual(names(10).map(() => digest));
    expect(tokens.seen.map((request) => scopesOf(request).length).toSorted((a, b) => a - b)).toEqual([1, 10]);
    expect(scopesOf(tokens.seen[1]!)).toEqual(['repository:team/app7:pull']);
  });

  test.each([
    ['without a challenge', {}],
    ['with a challenge', { 'www-authenticate': 'Bearer realm="REALM",error="insufficient_scope"' }],
  ])('also where the registry refuses it with 403 (%s)', async (_, headers) => {
    const issue = (request: SeenRequest, token: string) => ({
      token: scopesOf(request).length > 1 ? `${token}-most` : token,
    });
    const opens = (token: string, path: string) => !(token.endsWith('-most') && path.includes('/app7/'));
    const { tokens, registry, digest } = await guarded(issue, { tls: true, opens, refusal: { status: 403, headers } });
    const oci = rig.registry();
    for (let times = 0; times < 2; times += 1)
      expect(await checkAll(registry, oci)).toEqual(names(10).map(() => digest));
    expect(tokens.seen.map((request) => scopesOf(request).length)).toEqual([10, 1]);
    expect(scopesOf(tokens.seen[1]!)).toEqual(['repository:team/app7:pull']);
  });

  test('a token of many scopes that is too long for a header is not used', async () => {
    const issue = (request: SeenRequest, token: string) => ({
      token: scopesOf(request).length > 1 ? `${token}-${'x'.repeat(8000)}` : token,
    });
    const { tokens, registry, digest } = await guarded(issue, { tls: true });
    expect(await checkAll(registry, rig.registry())).toEqual(names(10).map(() => digest));
    expect(tokens.seen.length).toBe(11);
  });

  test('the first request over https goes alone, so that only it is refused', async () => {
    const { tokens, digest } = await guarded();
    const content = emptyContent();
    putImage(content, 'team/app:1');
    for (let i = 0; i < 10; i += 1) content.tags.set(`team/app${i}:1`, digest);
    const registry = await rig.serve(
      requireToken(
        serveContent(content),
        () => `${tokens.url}/token`,
        () => true,
      ),
      { tls: true },
    );
    const oci = rig.registry();
    await Promise.all(Array.from({ length: 10 }, (_, i) => oci.resolve(at(registry, `team/app${i}:1`))));
    expect(registry.seen.filter(({ headers }) => headers.authorization === undefined).length).toBe(1);
    expect(registry.seen.length).toBe(11);
  });

  test('the others go on while the first waits for its token', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/a:1');
    content.tags.set('team/b:1', digest);
    const tokens = await rig.serve(({ url }) => (url.includes('slow') ? 'hang' : { body: '{"token":"t"}' }));
    const taking = requireToken(
      serveContent(content),
      () => `${tokens.url}/token`,
      () => true,
    );
    const registry = await rig.serve(taking, { tls: true });
    const oci = rig.registry();
    const leaving = new AbortController();
    const first = oci.resolve(at(registry, 'team/slow:1'), leaving.signal).catch(() => 'left');
    const others = await Promise.all(['a', 'b'].map((name) => oci.resolve(at(registry, `team/${name}:1`))));
    expect(others).toEqual([digest, digest]);
    leaving.abort(new Error('enough'));
    expect(await first).toBe('left');
  });

  test('a token is used until shortly before it expires', async () => {
    const { registry, tokens } = await guarded((_, token) => ({ token, expires_in: 300 }));
    const clock = createFakeClock();
    const oci = rig.registry({ clock });
    await oci.resolve(at(registry));
    await clock.advance(289_000);
    await oci.resolve(at(registry));
    expect(tokens.seen.length).toBe(1);
    await clock.advance(2_000);
    await oci.resolve(at(registry));
    expect(tokens.seen.length).toBe(2);
  });

  test('a token that says nothing of its life is good for a minute', async () => {
    const { registry, tokens } = await guarded((_, token) => ({ access_token: token }));
    const clock = createFakeClock();
    const oci = rig.registry({ clock });
    await oci.resolve(at(registry));
    await clock.advance(49_000);
    await oci.resolve(at(registry));
    expect(tokens.seen.length).toBe(1);
    await clock.advance(2_000);
    await oci.resolve(at(registry));
    expect(tokens.seen.length).toBe(2);
  });

  test('a token that the registry no longer takes is replaced, once', async () => {
    const { registry, tokens, digest, revoke } = await guarded();
    const oci = rig.registry();
    await oci.resolve(at(registry));
    revoke();
    expect(await oci.resolve(at(registry))).toBe(digest);
    expect(tokens.seen.length).toBe(2);
  });

  test('a registry that takes no token at all is asked twice in each way, and denies', async () => {
    const { registry, revoke, tokens } = await guarded((_, token) => ({ token: `${token}-old`, expires_in: 300 }));
    revoke();
    const takesNone = await rig.serve(
      requireToken(
        () => ({}),
        () => `${tokens.url}/token`,
        () => false,
      ),
    );
    const error = await failureOf(rig.registry().resolve(at(takesNone)));
    expect(error.code).toBe('registry-denied');
    expect(error.message).toContain(
      'access is denied, or there is no such repository (authentication required); there is no login for it',
    );
    expect(error.remedy).toBe(
      `run "docker login ${takesNone.host}" and give Upkeep its config.json, or set REPO_USER and REPO_PASS, and REPO_HOST to ${takesNone.host}`,
    );
    expect(takesNone.seen.map(({ method }) => method)).toEqual(['HEAD', 'HEAD', 'GET', 'GET']);
    expect(registry.seen).toEqual([]);
  });

  test('a login goes to the token server, not to the registry', async () => {
    const { registry, tokens } = await guarded();
    const dockerConfigPath = rig.dockerConfig({
      auths: { [registry.host]: { auth: Buffer.from('jo:pass:wörd').toString('base64') } },
    });
    await rig.registry({ dockerConfigPath }).resolve(at(registry));
    expect(tokens.seen[0]?.headers.authorization).toBe(basic('jo:pass:wörd'));
    expect(tokens.seen[0]?.url).toContain('account=jo');
    expect(registry.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, 'Bearer token-1']);
  });

  test('an identity token is exchanged by POST, and is in no URL', async () => {
    const { registry, tokens } = await guarded((_, token) => ({ access_token: token }));
    const dockerConfigPath = rig.dockerConfig({
      auths: { [registry.host]: { auth: Buffer.from('jo:').toString('base64'), identitytoken: 'identity' } },
    });
    await rig.registry({ dockerConfigPath }).resolve(at(registry));
    const [{ method, url, body } = { method: '', url: '', body: '' }] = tokens.seen;
    expect([method, url]).toEqual(['POST', '/token']);
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      grant_type: 'refresh_token',
      service: 'test-registry',
      client_id: 'upkeep',
      refresh_token: 'identity',
      scope: 'repository:team/app:pull',
    });
  });

  test('an identity token does not follow a redirect', async () => {
    const elsewhere = await rig.serve(() => ({ body: '{"token":"t"}' }));
    const tokens = await rig.serve(() => ({ status: 307, headers: { location: elsewhere.url } }));
    const registry = await rig.serve(
      requireToken(
        () => ({}),
        () => `${tokens.url}/token`,
        () => false,
      ),
    );
    const dockerConfigPath = rig.dockerConfig({ auths: { [registry.host]: { identitytoken: 'identity' } } });
    const error = await failureOf(rig.registry({ dockerConfigPath }).resolve(at(registry)));
    expect(error.code).toBe('registry-invalid');
    expect(elsewhere.seen).toEqual([]);
  });

  test('a registry token is shown as it is', async () => {
    const { registry, tokens, digest } = await guarded();
    const dockerConfigPath = rig.dockerConfig({ auths: { [registry.host]: { registrytoken: 'token-7' } } });
    expect(await rig.registry({ dockerConfigPath }).resolve(at(registry))).toBe(digest);
    expect(tokens.seen).toEqual([]);
  });

  test('a login that the token server refuses is denied, never fresh, and does not show its secret', async () => {
    const { registry, tokens } = await guarded(() => 401);
    const dockerConfigPath = rig.dockerConfig({ auths: { [registry.host]: { username: 'jo', password: 'geheim' } } });
    const error = await failureOf(rig.registry({ dockerConfigPath }).resolve(at(registry)));
    expect(error.code).toBe('registry-denied');
    expect(error.message).toBe(
      `Cannot check "${registry.host}/team/app:1" at "${tokens.host}": the login in "${dockerConfigPath}" is refused: incorrect username or password`,
    );
    expect(JSON.stringify([error, error.message, String(error.cause)])).not.toContain('geheim');
  });

  test('a login that has changed gets a token of its own', async () => {
    const { registry, tokens } = await guarded((_, token) => ({ token, expires_in: 3600 }));
    const dockerConfigPath = rig.dockerConfig({ auths: { [registry.host]: { username: 'jo', password: 'x' } } });
    const clock = createFakeClock();
    const oci = rig.registry({ clock, dockerConfigPath });
    await oci.resolve(at(registry));
    writeFileSync(dockerConfigPath, JSON.stringify({ auths: { [registry.host]: { username: 'ann', password: 'x' } } }));
    await clock.advance(1000);
    await oci.resolve(at(registry));
    expect(tokens.seen.map(({ headers }) => headers.authorization)).toEqual([basic('jo:x'), basic('ann:x')]);
  });

  test('another login gets a token of its own', async () => {
    const { registry, tokens } = await guarded();
    for (const repoUser of ['jo', 'jo', 'ann'])
      await rig.registry({ repoUser, repoPass: 'x', repoHost: registry.host }).resolve(at(registry));
    expect(tokens.seen.map(({ headers }) => headers.authorization)).toEqual([
      basic('jo:x'),
      basic('jo:x'),
      basic('ann:x'),
    ]);
  });

  test.each<[string, object | number]>([
    ['no token', {}],
    ['a token that is no text', { token: 17 }],
    ['a token with a line break', { token: 'a\r\nx-evil: 1' }],
    ['an odd status', 302],
  ])('a token server that answers with %s is no token server', async (_, answer) => {
    const { registry } = await guarded(() => answer);
    const error = await failureOf(rig.registry().resolve(at(registry)));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('and no token');
  });

  test('a login does not leave a registry with TLS for a token server without', async () => {
    const tokens = 'http://tokens.example/token';
    const registry = await rig.serve(
      requireToken(
        () => ({}),
        () => tokens,
        () => false,
      ),
      { tls: true },
    );
    const error = await failureOf(
      rig.registry({ repoUser: 'jo', repoPass: 'x', repoHost: registry.host }).resolve(at(registry)),
    );
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('the URL of its token server, "http://tokens.example/token", is not encrypted');
  });
});

describe('with a password', () => {
  const wantingPassword =
    (answer: Answer): Answer =>
    (request) =>
      request.headers.authorization === basic('jo:secret')
        ? answer(request)
        : { status: 401, headers: { 'www-authenticate': 'Basic realm="lab"' } };

  test('the login is shown to the registry, from the second request on at once', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const registry = await rig.serve(wantingPassword(serveContent(content)));
    const oci = rig.registry({ repoUser: 'jo', repoPass: 'secret', repoHost: registry.host });
    expect(await oci.resolve(at(registry))).toBe(digest);
    expect(await oci.resolve(at(registry))).toBe(digest);
    expect(registry.seen.length).toBe(3);
  });

  test('a wrong one is denied without being tried twice', async () => {
    const registry = await rig.serve(wantingPassword(() => ({})));
    const oci = rig.registry({ repoUser: 'jo', repoPass: 'wrong', repoHost: registry.host });
    const error = await failureOf(oci.resolve(at(registry)));
    expect(error.code).toBe('registry-denied');
    expect(error.message).toContain('the login of REPO_USER and REPO_PASS does not give access');
    expect(registry.seen.length).toBe(2);
    await failureOf(oci.resolve(at(registry)));
    expect(registry.seen.length).toBe(3);
  });

  test('403 is denied, whoever asks', async () => {
    const registry = await rig.serve(() => ({ status: 403 }));
    expect((await failureOf(rig.registry().resolve(at(registry)))).code).toBe('registry-denied');
  });
});
