import { connect, createServer, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { serverCa, type Answer } from '../../../test/support/http/http-server.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { emptyContent, putImage, serveContent } from '../../../test/support/registry/registry-content.ts';
import { type ImageReference, parseImageReference } from '../../domain/image/image-reference.ts';
import { createInsecure } from './hosts.ts';

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
    insecureRegistries: () => Promise.resolve(listed),
  });
  expect(await isInsecure(host)).toBe(expected);
});

test('a list that cannot be had is an empty one', async () => {
  const isInsecure = createInsecure({
    clock: createFakeClock(),
    insecureRegistries: () => Promise.reject(new Error('no engine')),
  });
  expect([await isInsecure('10.2.3.4'), await isInsecure('localhost')]).toEqual([false, true]);
});

test('an abort ends the wait for the addresses of a name', async () => {
  const isInsecure = createInsecure({
    clock: createFakeClock(),
    insecureRegistries: () => Promise.resolve(listed),
  });
  await isInsecure('10.2.3.4');
  const reason = new Error('enough');
  await expect(isInsecure('no-such-host.invalid', AbortSignal.abort(reason))).rejects.toBe(reason);
});

describe('with tlsSkip', () => {
  /**
   * A registry that requires the login of `auths` over plain HTTP. It is also the proxy, so that its name is not a
   * loopback address.
   */
  async function plainRegistry(challenge: string) {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const serve = serveContent(content);
    const server = await rig.serve(
      (request) => {
        const url = request.url.replace('http://registry.test', '');
        if (url.startsWith('/token')) return { body: JSON.stringify({ token: 'token' }) };
        if (request.headers.authorization !== undefined) return serve({ ...request, url });
        return { status: 401, headers: { 'www-authenticate': challenge } };
      },
      { onConnect: (_, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n') },
    );
    return { server, digest, proxy: { http: server.url, https: server.url } };
  }
  const image = parseImageReference('registry.test/team/app:1');
  const auths = { auths: { 'registry.test': { username: 'jo', password: 'secret' } } };
  const bearer = 'Bearer realm="http://registry.test/token",service="registry.test"';

  test('any certificate will do', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const server = await rig.serve(serveContent(content), { tls: true });
    const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
    const oci = rig.registry({ tlsSkip: true, proxy: { https: proxy.url } });
    expect(await oci.resolve(image)).toBe(digest);
  });

  test('plain HTTP will do for whoever has no login', async () => {
    const { digest, proxy } = await plainRegistry(bearer);
    expect(await rig.registry({ tlsSkip: true, proxy }).resolve(image)).toBe(digest);
  });

  test.each(['Basic realm="x"', bearer])('no login goes over plain HTTP, and that is said (%s)', async (challenge) => {
    const { server, proxy } = await plainRegistry(challenge);
    const oci = rig.registry({ tlsSkip: true, proxy, dockerConfigPath: rig.dockerConfig(auths) });
    const error = await failureOf(oci.resolve(image));
    expect(error.code).toBe('registry-denied');
    expect(error.message).toMatch(/the login in ".*" is not sent, because the registry uses plain HTTP$/);
    expect(error.remedy).toContain('add registry.test to the engine');
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test('a login goes over plain HTTP where the engine lists the registry', async () => {
    const { server, digest, proxy } = await plainRegistry('Basic realm="x"');
    const insecureRegistries = () => Promise.resolve(['registry.test']);
    const dockerConfigPath = rig.dockerConfig(auths);
    const oci = rig.registry({ tlsSkip: true, proxy, dockerConfigPath, insecureRegistries });
    expect(await oci.resolve(image)).toBe(digest);
    expect(server.seen.at(-1)?.headers.authorization).toMatch(/^Basic /);
  });

  test('a registry that turns to plain HTTP when it knows that we have a login does not get it', async () => {
    const content = emptyContent();
    putImage(content, 'team/app:1');
    const wanting: Answer = ({ headers }) =>
      headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }
        : { status: 404, body: '{}' };
    const secure = await rig.serve(wanting, { tls: true });
    let isPlain = false;
    const front = await rig.serve(wanting, {
      onConnect: (_, socket) => {
        if (isPlain) socket.end('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n');
        else tunnel(secure.port, socket);
      },
    });
    const proxy = { http: front.url, https: front.url };
    const oci = rig.registry({ tlsSkip: true, proxy, dockerConfigPath: rig.dockerConfig(auths) });
    expect((await failureOf(oci.resolve(image))).code).toBe('registry-not-found');
    expect(secure.seen.at(-1)?.headers.authorization).toMatch(/^Basic /);
    isPlain = true;
    secure.dropConnections();
    expect((await failureOf(oci.resolve(image))).code).toBe('registry-denied');
    expect(front.seen.length).toBeGreaterThan(0);
    expect(front.seen.map(({ headers }) => headers.authorization)).not.toContainEqual(expect.stringContaining('Basic'));
  });
});

describe('a registry that the engine has removed from its insecure ones', () => {
  test.each([true, false])('needs a valid certificate within two minutes (it speaks TLS: %s)', async (tls) => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const serve = serveContent(content);
    const server = await rig.serve(
      (request) => serve({ ...request, url: request.url.replace(/^http:\/\/[^/]+/, '') }),
      {
        tls,
      },
    );
    const front = await rig.serve(() => 'drop', { tunnelTo: server.port });
    let names = ['registry.test'];
    const clock = createFakeClock({ auto: true });
    const oci = rig.registry({
      clock,
      proxy: { http: tls ? front.url : server.url, https: front.url },
      insecureRegistries: () => Promise.resolve(names),
    });
    const image = parseImageReference('registry.test/team/app:1');
    expect(await oci.resolve(image)).toBe(digest);
    const asked = server.seen.length;
    names = [];
    await clock.sleep(120_000);
    expect((await failureOf(oci.resolve(image))).code).toBe('registry-unreachable');
    expect(server.seen.length).toBe(asked);
  });
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

test('one that closes plain connections gets no advice to list it as insecure: it is listed', async () => {
  const plain = await rig.serve(() => {
    plain.dropConnections();
    return { status: 500 };
  });
  const { message, remedy } = await failureOf(rig.registry().resolve(at(plain)));
  expect(message).toMatch(/over https, it does not speak TLS; over http, the connection was closed/);
  expect(remedy).toBeUndefined();
});

test('one that changes from https to http, and back, is found again', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const secure = await rig.serve(serveContent(content), { tls: true });
  const plain = await rig.serve(serveContent(content));
  let server = secure;
  await using front = await openFront(() => server.port);
  const oci = rig.registry();
  await oci.resolve(front.image);
  server = plain;
  front.disconnect();
  expect(await oci.resolve(front.image)).toBe(digest);
  server = secure;
  front.disconnect();
  await oci.resolve(front.image).catch(() => undefined);
  expect(await oci.resolve(front.image)).toBe(digest);
});

test('one that sends plain requests away as a server with TLS does is asked with TLS the next time', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const secure = await rig.serve(serveContent(content), { tls: true });
  const plain = await rig.serve(() => ({ status: 400, body: 'Client sent an HTTP request to an HTTPS server.' }));
  // One port for both protocols; TLS comes later.
  let hasTls = false;
  await using front = await openFront((isTls) => {
    if (!isTls) return plain.port;
    return hasTls ? secure.port : undefined;
  });
  const oci = rig.registry();
  expect((await failureOf(oci.resolve(front.image))).message).toContain('it answered with status 400');
  hasTls = true;
  expect(await oci.resolve(front.image)).toBe(digest);
});

test('one that is not insecure gets no plain request, and no unverified one', async () => {
  const content = emptyContent();
  putImage(content, 'team/app:1');
  const server = await rig.serve(serveContent(content), { tls: true });
  const plain = await rig.serve(serveContent(content));
  // The name of the host is not a loopback address. The list is empty, so the name is not looked up.
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

function tunnel(port: number, socket: Duplex): void {
  const through = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.pipe(through).pipe(socket);
  });
  for (const end of [socket, through]) end.on('error', () => through.destroy());
}

type Front = AsyncDisposable & { readonly image: ImageReference; readonly disconnect: () => void };

/** A port that passes each connection to the server of `portFor`, or closes it. The first byte tells TLS from HTTP. */
async function openFront(portFor: (isTls: boolean) => number | undefined): Promise<Front> {
  const sockets = new Set<Duplex>();
  const front = createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket)));
    socket.once('data', (first: Buffer) => {
      const port = portFor(first[0] === 0x16);
      if (port === undefined) return void socket.destroy();
      const behind = connect(port, '127.0.0.1').on('error', () => socket.destroy());
      behind.write(first);
      socket
        .on('close', () => behind.destroy())
        .pipe(behind)
        .pipe(socket);
    });
  });
  await new Promise<void>((resolve) => {
    front.listen(0, '127.0.0.1', resolve);
  });
  const { port } = front.address() as AddressInfo;
  const disconnect = () => sockets.forEach((socket) => socket.destroy());
  return {
    image: parseImageReference(`127.0.0.1:${port}/team/app:1`),
    disconnect,
    async [Symbol.asyncDispose]() {
      disconnect();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}
