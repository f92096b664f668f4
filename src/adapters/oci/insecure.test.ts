import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { serverCa } from '../../../test/support/http-server.ts';
import { at, createOciRig, failureOf } from '../../../test/support/oci-rig.ts';
import { emptyContent, putImage, serveContent } from '../../../test/support/registry-content.ts';
import { parseImageReference } from '../../domain/image-reference.ts';
import { createInsecure } from './insecure.ts';

const rig = createOciRig();
const listed = ['registry.lan:5000', '10.0.0.0/8', '127.0.0.0/8'];

test.each([
  ['localhost', true],
  ['localhost:5000', true],
  ['127.1.2.3:5000', true],
  ['[::1]:5000', true],
  ['registry.lan:5000', true],
  ['Registry.LAN:5000', true],
  ['registry.lan', false],
  ['10.2.3.4', true],
  ['11.2.3.4', false],
  ['registry-1.docker.io', false],
  ['no-such-host.invalid', false],
])('the registry %s may be insecure: %s', async (host, expected) => {
  const isInsecure = createInsecure({
    clock: createFakeClock(),
    tlsSkip: false,
    insecureRegistries: () => Promise.resolve(listed),
  });
  expect(await isInsecure(host)).toBe(expected);
});

test('a list that cannot be had is an empty one', async () => {
  const isInsecure = createInsecure({
    clock: createFakeClock(),
    tlsSkip: false,
    insecureRegistries: () => Promise.reject(new Error('no engine')),
  });
  expect([await isInsecure('10.2.3.4'), await isInsecure('localhost')]).toEqual([false, true]);
});

test('with tlsSkip every registry may', async () => {
  const isInsecure = createInsecure({
    clock: createFakeClock(),
    tlsSkip: true,
    insecureRegistries: () => Promise.resolve([]),
  });
  expect(await isInsecure('registry-1.docker.io')).toBe(true);
});

test('an insecure registry is tried with https, and then is what it was', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const secure = await rig.serve(serveContent(content), { tls: true });
  const plain = await rig.serve(serveContent(content));
  const oci = rig.registry();
  expect(await oci.resolve(at(secure))).toBe(digest);
  expect(await oci.resolve(at(plain))).toBe(digest);
  await oci.resolve(at(plain));
  expect(plain.connections()).toBe(2);
});

test('one that changes from https to http, and back, is found again', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const secure = await rig.serve(serveContent(content), { tls: true });
  const { port } = secure;
  const oci = rig.registry();
  await oci.resolve(at(secure));
  await secure[Symbol.asyncDispose]();
  const plain = await rig.serve(serveContent(content), { port });
  expect(await oci.resolve(at(plain))).toBe(digest);
  await plain[Symbol.asyncDispose]();
  const again = await rig.serve(serveContent(content), { port, tls: true });
  await oci.resolve(at(again)).catch(() => undefined);
  expect(await oci.resolve(at(again))).toBe(digest);
});

test('one that sends plain requests away as a server with TLS does is asked with TLS the next time', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const secure = await rig.serve(serveContent(content), { tls: true });
  const plain = await rig.serve(() => ({ status: 400, body: 'Client sent an HTTP request to an HTTPS server.' }));
  // One port for both, by the first byte of a connection; TLS comes later.
  let hasTls = false;
  const front = createServer((socket) =>
    socket.once('data', (first: Buffer) => {
      if (first[0] === 0x16 && !hasTls) return void socket.destroy();
      const behind = connect(first[0] === 0x16 ? secure.port : plain.port, '127.0.0.1');
      behind.write(first);
      socket.pipe(behind).pipe(socket);
      for (const end of [socket, behind]) end.on('error', () => behind.destroy());
    }),
  );
  await new Promise<void>((resolve) => {
    front.listen(0, '127.0.0.1', resolve);
  });
  const { port } = front.address() as AddressInfo;
  const image = parseImageReference(`127.0.0.1:${port}/team/app:1`);
  const oci = rig.registry();
  expect((await failureOf(oci.resolve(image))).message).toContain('it answered with status 400');
  hasTls = true;
  expect(await oci.resolve(image)).toBe(digest);
  front.close();
});

test('one that is not insecure gets no plain request, and no unverified one', async () => {
  const content = emptyContent();
  putImage(content, 'team/app:1');
  const server = await rig.serve(serveContent(content), { tls: true });
  const plain = await rig.serve(serveContent(content));
  // Not a loopback address by its name, but there is no other server to be had: the list is empty, so no name is looked up.
  for (const [{ port }, why] of [
    [server, 'unknown authority'],
    [plain, 'does not speak TLS'],
  ] as const) {
    const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: port });
    const oci = rig.registry({ proxy: { https: proxy.url } });
    const error = await failureOf(oci.resolve(parseImageReference('registry.test/team/app:1')));
    expect(error.code).toBe('registry-unreachable');
    expect(error.message).toContain(why);
  }
  expect([server.seen, plain.seen]).toEqual([[], []]);
});

test('an authority of our own makes a registry trusted', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const server = await rig.serve(serveContent(content), { tls: true });
  const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
  const oci = rig.registry({ proxy: { https: proxy.url }, extraCa: [serverCa] });
  expect(await oci.resolve(parseImageReference('registry.test/team/app:1'))).toBe(digest);
});
