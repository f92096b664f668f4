import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { startHttpServer } from '../../../test/support/http/http-server.ts';
import { createAgents, createAuthorities, type Agents } from './agents.ts';
import { createExchange, createSentSecrets, HttpFailure, type Exchange, type WireRequest } from './exchange.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function create(deadlineMs = 5000): { readonly exchange: Exchange; readonly agents: Agents } {
  const agents = createAgents({
    clock: createFakeClock(),
    isInsecure: () => Promise.resolve(false),
    contextFor: createAuthorities({
      tlsMinVersion: 'TLSv1.2',
      extraCa: [],
      systemTrust: undefined,
      certsFolder: undefined,
    }),
    proxyFor: () => undefined,
    maxSocketsPerOrigin: 64,
    deadlineMs,
  });
  closing.push(() => agents.close());
  return { agents, exchange: createExchange(agents, { deadlineMs, userAgent: 'test', sent: createSentSecrets() }) };
}

/** A raw TCP server that sends a fixed text to every connection. */
async function raw(serve: (socket: Socket, connection: number) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    connections += 1;
    serve(socket, connections);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function get(url: string, more: Partial<WireRequest> = {}): WireRequest {
  return { method: 'GET', url: new URL(url), headers: {}, maxBytes: 1000, ...more };
}

async function failureOf(work: Promise<unknown>): Promise<HttpFailure> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (error instanceof HttpFailure) return error;
  throw new Error('no failure', { cause: error });
}

describe('exchange()', () => {
  test('asks again on a new connection, when the kept one is closed under it', async () => {
    // Answers once per connection, and closes it when the next request has arrived.
    const url = await raw((socket) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (requests > 1) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      });
    });
    const { exchange } = create();
    for (let i = 0; i < 5; i += 1) expect((await exchange(get(url))).body.toString()).toBe('ok');
  });

  test('does not ask again when a new connection is closed', async () => {
    let connections = 0;
    const url = await raw((socket, connection) => {
      connections = connection;
      socket.on('data', () => socket.destroy());
    });
    const error = await failureOf(create().exchange(get(url)));
    expect(error).toMatchObject({ code: 'unreachable', isTransient: true });
    expect(connections).toBe(1);
  });

  test.each([
    ['before the headers are complete', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['in the middle of the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
    ['in the middle of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\nhalf'],
  ])('takes no answer that ends %s', async (_, text) => {
    const url = await raw((socket) => socket.on('data', () => socket.end(text)));
    const error = await failureOf(create().exchange(get(url)));
    expect(error.code).toMatch(/^(?:unreachable|invalid)$/);
  });

  test('says that what answers does not speak HTTP', async () => {
    const url = await raw((socket) => socket.end('220 mail.example ESMTP\r\n'));
    expect(await failureOf(create().exchange(get(url)))).toMatchObject({
      code: 'invalid',
      message: 'its answer is not HTTP',
    });
  });

  test('reads no more than it may, and ends the connection', async () => {
    let ended = (): void => undefined;
    const closed = new Promise<void>((resolve) => (ended = resolve));
    const url = await raw((socket) => {
      socket.on('close', ended);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const pour = (): void => void (socket.destroyed || socket.write('x'.repeat(1000), pour));
      socket.once('data', pour);
    });
    const error = await failureOf(create().exchange(get(url)));
    expect(error).toMatchObject({ code: 'invalid', message: 'it answered with more than 1000 bytes' });
    await closed;
  });

  test.each([
    ['never answers', ''],
    ['never ends its answer', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
  ])('waits for a server that %s until the deadline', async (_, text) => {
    const url = await raw((socket) => socket.on('data', () => void socket.write(text)));
    expect((await failureOf(create(50).exchange(get(url)))).code).toBe('timeout');
  });

  test('stops when the signal aborts, with its reason, and leaves no listener behind', async () => {
    const server = await startHttpServer(() => 'hang');
    closing.push(() => server[Symbol.asyncDispose]());
    const { exchange } = create();
    const leaving = new AbortController();
    const asked = exchange(get(server.url), leaving.signal);
    const reason = new Error('enough');
    while (server.seen.length < 1) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await expect(exchange(get(server.url), leaving.signal)).rejects.toBe(reason);
    expect(server.seen.length).toBe(1);
  });

  test('keeps a connection for the next request, until close() ends it and all that is under way', async () => {
    const server = await startHttpServer(({ url }) => (url === '/slow' ? 'hang' : { body: 'ok' }));
    closing.push(() => server[Symbol.asyncDispose]());
    const { exchange, agents } = create();
    await exchange(get(server.url));
    await exchange(get(server.url));
    expect(server.connections()).toBe(1);
    const underWay = failureOf(exchange(get(`${server.url}/slow`)));
    while (server.seen.length < 3) await new Promise((resolve) => setImmediate(resolve));
    await agents.close();
    expect((await underWay).code).toBe('unreachable');
    expect((await failureOf(exchange(get(server.url)))).message).toBe('the service is stopping');
    expect(server.connections()).toBe(1);
  });
});
