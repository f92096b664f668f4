import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';
import { tlsFile } from '../../../../test/support/engine/scripted-engine.ts';
import { explain } from './request.ts';

const client = { cert: tlsFile('client.pem'), key: tlsFile('client.key'), ca: tlsFile('ca.pem'), verify: true };

function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'engine-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

async function serverThat(act: (socket: net.Socket) => void, port = 0): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    act(socket);
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an engine that cannot be reached is told', () => {
  test('when there is no socket', async () => {
    await expect(engineAt('unix:///nowhere/docker.sock').info()).rejects.toMatchObject({
      code: 'engine-unreachable',
      message: 'Cannot reach the container engine at "unix:///nowhere/docker.sock": there is no such socket (ENOENT)',
      remedy: expect.stringContaining('-v /var/run/docker.sock'),
    });
  });

  test('when nobody listens on it, or it is a directory', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'file'), '');
    for (const host of [`unix://${dir}/file`, `unix://${dir}`, 'tcp://127.0.0.1:9']) {
      await expect(engineAt(host).info()).rejects.toMatchObject({
        code: 'engine-unreachable',
        message: expect.stringContaining('nothing listens there (ECONNREFUSED)'),
        remedy: expect.stringContaining('--host'),
      });
    }
  });

  test('when we may not use it', async () => {
    expect(explain(Object.assign(new Error('connect EACCES'), { code: 'EACCES' }))).toMatchObject({
      code: 'engine-denied',
      remedy: expect.stringContaining('group'),
    });
  });

  test.skipIf(process.getuid?.() === 0)('when its permissions say so', async () => {
    const { server } = await connectedEngine();
    chmodSync(server.socketPath, 0o000);
    await expect(engineAt(server.host).info()).rejects.toMatchObject({
      code: 'engine-denied',
      remedy: expect.stringContaining('--userns host'),
    });
  });

  test('when its host has no such name', () => {
    expect(explain(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })).why).toContain(
      'host name is unknown',
    );
  });

  test('when it is no engine', async () => {
    const { engine, server } = await connectedEngine({ version: (_, response) => void response.end('<html>') });
    await expect(engine.info()).rejects.toMatchObject({
      code: 'engine-unreachable',
      message: `Cannot reach the container engine at "${server.host}": the program at this address is not a container engine`,
    });
    const other = await connectedEngine({ version: { hello: 'world' } });
    await expect(other.engine.info()).rejects.toThrow('not a container engine');
    const none = await connectedEngine({ version: (_, response) => void response.writeHead(404).end() });
    await expect(none.engine.info()).rejects.toThrow('not a container engine');
    const proxy = await connectedEngine({ version: (_, response) => void response.writeHead(403).end('Forbidden') });
    await expect(proxy.engine.info()).rejects.toMatchObject({ code: 'engine-denied' });
  });

  test('when it does not speak HTTP, or hangs up', async () => {
    const ssh = await serverThat((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    await expect(engineAt(ssh).info()).rejects.toThrow('does not speak HTTP');
    const closing = await serverThat((socket) => socket.destroy());
    await expect(engineAt(closing).info()).rejects.toThrow('the connection broke off');
  });

  test('when it never answers', async () => {
    const host = await serverThat(() => undefined);
    await expect(engineAt(host, { deadlines: { readMs: 30 } }).info()).rejects.toMatchObject({ code: 'timeout' });
  });
});

describe('TLS', () => {
  test('works with a certificate of our own', async () => {
    const { engine } = await connectedEngine({ tls: {}, script: { '*': { Name: 'far' } } }, { tls: client });
    expect((await engine.info()).name).toBe('far');
  });

  test('uses a session again for the connections of changes', async () => {
    const { engine, server } = await connectedEngine({ tls: {}, script: { '*': {} } }, { tls: client });
    for (let n = 0; n < 3; n++) expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(server.connections()).toBe(4);
  });

  test('is refused without one', async () => {
    const { ca } = client;
    const { engine } = await connectedEngine({ tls: {} }, { tls: { ca, verify: true } });
    await expect(engine.info()).rejects.toMatchObject({
      code: 'engine-unreachable',
      remedy: expect.stringContaining('--cert-path'),
    });
  });

  test('is refused by us for a certificate of an unknown authority, or of another host', async () => {
    const { ca: _, ...noCa } = client;
    const unknown = await connectedEngine({ tls: {} }, { tls: noCa });
    await expect(unknown.engine.info()).rejects.toThrow('the certificates do not fit');
    const other = await connectedEngine({ tls: { certificate: 'elsewhere' } }, { tls: client });
    await expect(other.engine.info()).rejects.toThrow('its certificate is for another host');
  });

  test('believes anyone when told to', async () => {
    const { ca: _, ...noCa } = client;
    const options = { tls: { ...noCa, verify: false } };
    const { engine } = await connectedEngine({ tls: { certificate: 'elsewhere' }, script: { '*': {} } }, options);
    await expect(engine.info()).resolves.toMatchObject({ kind: 'docker' });
  });

  test('with an engine that does not speak it', async () => {
    const { server } = await connectedEngine({ tcp: true });
    await expect(engineAt(server.host, { tls: client }).info()).rejects.toThrow('does not speak TLS');
  });

  test('of an engine that we do not speak it with', async () => {
    const { server } = await connectedEngine({ tls: {} });
    await expect(engineAt(server.host).info()).rejects.toMatchObject({ code: 'engine-unreachable' });
    const inGo = await connectedEngine({
      version: (_, response) => void response.writeHead(400).end('Client sent an HTTP request to an HTTPS server.\n'),
    });
    await expect(inGo.engine.info()).rejects.toMatchObject({
      message: expect.stringContaining('it wants TLS'),
      remedy: expect.stringContaining('--tlsverify'),
    });
  });

  test('tells that a change was not sent when the handshake fails', async () => {
    const { engine, server } = await connectedEngine({ tls: {}, script: { '*': {} } }, { tls: client });
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    await server.close();
    const port = Number(new URL(server.host).port);
    await serverThat((socket) => socket.once('data', () => socket.resetAndDestroy()), port);
    expect(await engine.startContainer('id')).toMatchObject({ kind: 'refused', status: 503 });
  });
});
