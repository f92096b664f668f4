import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createEndpoints } from './hosts.ts';
import { serverCa, type HttpServer } from '../../../test/support/http/http-server.ts';
import { createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { emptyContent, putImage, serveContent, requireToken } from '../../../test/support/registry/registry-content.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import type { Login } from './credentials.ts';
import type { OciRegistryOptions } from './registry.ts';

const rig = createOciRig();
const nginx = parseImageReference('nginx:1.27');

/** Docker Hub behind a proxy, with `library/nginx:1.27`; requires tokens of `auth.docker.io`. */
async function hub(): Promise<{
  readonly server: HttpServer;
  readonly options: Partial<OciRegistryOptions>;
  readonly proxy: HttpServer;
}> {
  const content = emptyContent();
  putImage(content, 'library/nginx:1.27', { label: 'hub' });
  const answer = requireToken(
    serveContent(content),
    () => 'https://auth.docker.io/token',
    () => true,
  );
  const server = await rig.serve(
    (request) =>
      request.headers.host === 'auth.docker.io' ? { body: JSON.stringify({ token: 'hub-token' }) } : answer(request),
    { tls: true },
  );
  const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
  return { server, proxy, options: { extraCa: [serverCa], proxy: { https: proxy.url } } };
}

describe('Docker Hub', () => {
  test('is asked at its API, with a token of its token server, over verified TLS through the proxy', async () => {
    const { server, proxy, options } = await hub();
    const oci = rig.registry(options);
    await oci.resolve(nginx);
    expect(server.seen.map(({ method, headers, url }) => `${method} ${headers.host}${url}`)).toEqual([
      'HEAD registry-1.docker.io/v2/library/nginx/manifests/1.27',
      'GET auth.docker.io/token?service=test-registry&scope=repository%3Alibrary%2Fnginx%3Apull',
      'HEAD registry-1.docker.io/v2/library/nginx/manifests/1.27',
    ]);
    expect(proxy.tunnels.map(({ url }) => url)).toEqual(['registry-1.docker.io:443', 'auth.docker.io:443']);
  });

  test('is not believed without a certificate that proves it, however insecure the engine is', async () => {
    const { options } = await hub();
    const insecureRegistries = (): Promise<string[]> =>
      Promise.resolve(['docker.io', 'registry-1.docker.io', '0.0.0.0/0']);
    const error = await failureOf(rig.registry({ ...options, extraCa: [], insecureRegistries }).resolve(nginx));
    expect(error.code).toBe('registry-unreachable');
    expect(error.message).toBe(
      'Cannot check "nginx:1.27" at "registry-1.docker.io": its certificate is signed by an unknown authority',
    );
    expect(error.remedy).toContain('/etc/docker/certs.d/registry-1.docker.io/ca.crt');
  });

  test('is asked only when no mirror has the image', async () => {
    const { server, options } = await hub();
    const content = emptyContent();
    const { digest } = putImage(content, 'library/nginx:1.27', { label: 'mirror' });
    const first = await rig.serve(() => ({ status: 404 }));
    const second = await rig.serve(serveContent(content));
    const hubMirrors = (): Promise<string[]> => Promise.resolve(['not a url', `${first.url}/`, second.url]);
    expect(await rig.registry({ ...options, hubMirrors }).resolve(nginx)).toBe(digest);
    expect(server.seen).toEqual([]);
    expect(first.lines()).toEqual(['HEAD /v2/library/nginx/manifests/1.27', 'GET /v2/library/nginx/manifests/1.27']);
  });

  test.each(['drop', 'hang', { status: 500 }, { status: 429 }, { status: 401 }] as const)(
    'is asked when the mirror answers with %j, without a second try there',
    async (reply) => {
      const { server, options } = await hub();
      const mirror = await rig.serve(() => reply);
      const hubMirrors = (): Promise<string[]> => Promise.resolve([mirror.url]);
      // The deadline is the hub's too, which answers slowly on a busy machine.
      await rig.registry({ ...options, hubMirrors, requestDeadlineMs: 2000 }).resolve(nginx);
      expect(server.seen.length).toBe(3);
      expect(mirror.seen.length).toBeLessThanOrEqual(2);
    },
  );

  test('keeps its login from its mirrors, which are shown only what names them', async () => {
    const { options } = await hub();
    const content = emptyContent();
    putImage(content, 'library/nginx:1.27');
    const challenge = { status: 401, headers: { 'www-authenticate': 'Basic realm="mirror"' } };
    const mirror = await rig.serve((request) =>
      request.headers.authorization ? serveContent(content)(request) : challenge,
    );
    const hubMirrors = (): Promise<string[]> => Promise.resolve([mirror.url]);
    const auths = { 'https://index.docker.io/v1/': { username: 'hub', password: 'secret' } };
    const fallback = { repoUser: 'repo', repoPass: 'secret' };

    const without = rig.dockerConfig({ auths });
    await rig.registry({ ...options, hubMirrors, dockerConfigPath: without, ...fallback }).resolve(nginx);
    expect(mirror.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);

    const own = rig.dockerConfig({ auths: { ...auths, [mirror.host]: { username: 'me', password: 'too' } } });
    await rig.registry({ ...options, hubMirrors, dockerConfigPath: own, ...fallback }).resolve(nginx);
    expect(mirror.seen.at(-1)?.headers.authorization).toBe(`Basic ${Buffer.from('me:too').toString('base64')}`);
  });

  test('is asked itself when the engine cannot say which mirrors there are', async () => {
    const { server, options } = await hub();
    await rig.registry({ ...options, hubMirrors: () => Promise.reject(new Error('no engine')) }).resolve(nginx);
    expect(server.seen.length).toBe(3);
  });
});

test('a mirror is spoken to as its URL says, and not otherwise', async () => {
  const { options } = await hub();
  const plain = await rig.serve(serveContent(emptyContent()));
  const hubMirrors = (): Promise<string[]> => Promise.resolve([`https://${plain.host}`]);
  await rig.registry({ ...options, hubMirrors }).resolve(nginx);
  expect(plain.seen).toEqual([]);
});

test('mirrors do not stand in for other registries, and a mirror may live below a path', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  putImage(content, 'library/nginx:1.27');
  const server = await rig.serve((request) =>
    serveContent(content)({ ...request, url: request.url.replace('/proxy/hub', '') }),
  );
  const oci = rig.registry({ hubMirrors: () => Promise.resolve([`${server.url}/proxy/hub/`]) });
  expect(await oci.resolve(parseImageReference(`${server.host}/team/app:1`))).toBe(digest);
  await oci.resolve(nginx);
  expect(server.lines()).toEqual(['HEAD /v2/team/app/manifests/1', 'HEAD /proxy/hub/v2/library/nginx/manifests/1.27']);
});

test('an engine that refuses its info is asked once for many images, with one warning', async () => {
  let asked = 0;
  const warnings: string[] = [];
  const log = { debug: ignore, info: ignore, warn: (text: string) => void warnings.push(text), error: ignore };
  const endpointsOf = createEndpoints({
    clock: createFakeClock(),
    log,
    credentials: { find: noLogin, findOwn: noLogin, forget: ignore },
    hubMirrors: () => {
      asked += 1;
      return Promise.reject(new Error('403'));
    },
  });
  for (let at = 0; at < 20; at += 1) {
    const places = await endpointsOf(parseImageReference(`team/app${at}`));
    expect(places.map(({ host }) => host)).toEqual(['registry-1.docker.io']);
  }
  expect([asked, warnings]).toEqual([1, ['The mirrors of Docker Hub are unknown, so they are not used']]);
});

function ignore(): void {}

function noLogin(registry: string): Promise<Login> {
  return Promise.resolve({ registry, credential: undefined, origin: 'there is no login for it' });
}
