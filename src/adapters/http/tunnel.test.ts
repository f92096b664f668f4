import { expect, test } from 'vitest';
import { serverCa, startHttpServer } from '../../../test/support/http/http-server.ts';
import { createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { emptyContent, putImage, serveContent } from '../../../test/support/registry/registry-content.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';

const rig = createOciRig();
const image = parseImageReference('registry.test:5000/team/app:1');
const login = `Basic ${Buffer.from('jo:p@ss').toString('base64')}`;

test('TLS goes through the proxy unseen, on connections that are kept', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const server = await rig.serve(serveContent(content), { tls: true });
  const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
  const oci = rig.registry({ proxy: { https: `http://jo:p%40ss@${proxy.host}` }, extraCa: [serverCa] });
  expect(await oci.resolve(image)).toBe(digest);
  await oci.resolve(image);
  expect(proxy.tunnels.map(({ url, headers }) => [url, headers['proxy-authorization']])).toEqual([
    ['registry.test:5000', login],
  ]);
  expect(server.seen.every(({ headers }) => headers['proxy-authorization'] === undefined)).toBe(true);
});

test('a plain registry is asked for in whole URLs', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const proxy = await rig.serve((request) => serveContent(content)({ ...request, url: new URL(request.url).pathname }));
  const oci = rig.registry({
    proxy: { http: `http://jo:p%40ss@${proxy.host}` },
    insecureRegistries: () => Promise.resolve(['registry.test:5000']),
    hubMirrors: () => Promise.resolve(['http://registry.test:5000']),
  });
  putImage(content, 'library/nginx:1');
  expect(await oci.resolve(parseImageReference('nginx:1'))).toBeDefined();
  const [{ url, headers } = { url: '', headers: {} as Record<string, unknown> }] = proxy.seen;
  expect([url, headers['proxy-authorization'], headers['host']]).toEqual([
    'http://registry.test:5000/v2/library/nginx/manifests/1',
    login,
    'registry.test:5000',
  ]);
  expect(digest).toBeDefined();
});

test.each([
  [407, 'asks for a login'],
  [403, 'refused with status 403'],
])('a proxy that answers with %i is named, without its login', async (status, why) => {
  const proxy = await rig.serve(() => ({}), {
    onConnect: (_, socket) => void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`),
  });
  const oci = rig.registry({ proxy: { https: `http://jo:geheim@${proxy.host}` } });
  const error = await failureOf(oci.resolve(image));
  expect(error.code).toBe('registry-unreachable');
  expect(error.message).toBe(
    `Cannot check "registry.test:5000/team/app:1" at "registry.test:5000": the proxy "${proxy.host}" ${why}`,
  );
});

test('a proxy that is not there is named', async () => {
  const gone = await startHttpServer(() => ({}));
  await gone[Symbol.asyncDispose]();
  const error = await failureOf(rig.registry({ proxy: { https: gone.url } }).resolve(image));
  expect(error.message).toContain(`the proxy "${gone.host}" cannot be reached`);
});

test('a proxy that is silent costs no more than the deadline', async () => {
  const proxy = await rig.serve(() => ({}), { onConnect: () => undefined });
  const error = await failureOf(rig.registry({ proxy: { https: proxy.url }, requestDeadlineMs: 50 }).resolve(image));
  expect(['timeout', 'registry-unreachable']).toContain(error.code);
});

test('the proxy gets an IPv6 address in brackets', async () => {
  const proxy = await rig.serve(() => ({}), {
    onConnect: (_, socket) => void socket.end('HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n'),
  });
  const oci = rig.registry({ proxy: { https: proxy.url } });
  await failureOf(oci.resolve(parseImageReference('[fd00::5]:5000/team/app:1')));
  expect(proxy.tunnels.map(({ url }) => url)).toEqual(['[fd00::5]:5000']);
});
