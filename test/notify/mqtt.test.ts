import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connectMqtt, createDeferred, type Incoming } from '../../src/adapters/notify/mqtt/connection.ts';
import { startRig } from '../support/notify/notify-rig.ts';
import { brokerAt } from '../support/notify/scripted-broker.ts';
import { startBroker } from './broker.ts';
import { describeWithReceivers as describe } from './describe-with-receivers.ts';
import type { Program } from './program.ts';

const password = 'br0ker-Pa55word';
const never = new AbortController().signal;
/** The next message that the watcher has seen. */
const next = (watcher: Program): Promise<string> => watcher.line((line) => /^\S+ [01] [012] /.test(line));

describe('a message to a broker', () => {
  test.each(['0', 'AtLeastOnce', 'exactly_once'])('arrives with a quality of service of %s', async (qos) => {
    await using server = await startBroker();
    const watcher = await server.watch();
    const rig = await startRig(() => 'drop');
    const outcome = await rig.send(`mqtt://127.0.0.1:${server.port}/docker/up keep?qos=${qos}`.replace(' ', '%20'), {
      text: 'über 🎉',
    });
    expect(outcome.kind).toBe('sent');
    expect(await watcher.line((line) => line.startsWith('docker/'))).toBe('docker/up keep 0 0 über 🎉');
  });

  test('is retained where that is wanted', async () => {
    await using server = await startBroker();
    const rig = await startRig(() => 'drop');
    await rig.send(`mqtt://127.0.0.1:${server.port}/a/b?retained=yes&qos=1&title=x`);
    expect(await next(await server.watch())).toBe('a/b 1 0 web was updated');
  });

  test('goes over TLS to whom we know, and to others only by order', async () => {
    await using server = await startBroker({ tls: true });
    const watcher = await server.watch();
    const rig = await startRig(() => 'drop');
    const url = `mqtts://localhost:${server.port}/a/b?qos=1`;
    expect(await rig.send(url)).toMatchObject({ kind: 'sent' });
    expect(await next(watcher)).toBe('a/b 0 0 web was updated');
    const stranger = await startRig(() => 'drop', {
      contextFor: async () => (await import('node:tls')).createSecureContext(),
    });
    expect(await stranger.send(url)).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('unknown authority'),
    });
    expect(await stranger.send(`${url}&disabletlsverification=yes`)).toMatchObject({ kind: 'sent' });
  });

  test('needs the right login', async () => {
    await using server = await startBroker({ passwords: { me: password } });
    const rig = await startRig(() => 'drop');
    const url = (login: string): string => `mqtt://${login}@127.0.0.1:${server.port}/a?qos=1`;
    expect(await rig.send(url(`me:${password}`))).toMatchObject({ kind: 'sent' });
    const wrong = await rig.send(url('me:wr0ng-Pa55word'));
    expect(wrong).toMatchObject({ kind: 'failed', failure: 'auth' });
    expect(JSON.stringify(wrong)).not.toContain('wr0ng');
    expect(await rig.send(`mqtt://127.0.0.1:${server.port}/a?qos=1`)).toMatchObject({
      kind: 'failed',
      failure: 'auth',
    });
  });

  test('that the user may not send is told as that', async () => {
    await using server = await startBroker({
      passwords: { me: password },
      rights: ['user me', 'topic write allowed/#'],
    });
    const rig = await startRig(() => 'drop');
    const url = `mqtt://me:${password}@127.0.0.1:${server.port}`;
    expect(await rig.send(`${url}/allowed/a?qos=1`)).toMatchObject({ kind: 'sent' });
    for (const qos of [1, 2])
      expect(await rig.send(`${url}/denied/a?qos=${qos}`)).toMatchObject({ kind: 'failed', failure: 'auth' });
  });

  test('fails as one of the network where nobody answers', async () => {
    const rig = await startRig(() => 'drop');
    const outcome = await rig.send('mqtt://127.0.0.1:1/a');
    expect(outcome).toEqual({ kind: 'failed', failure: 'network', reason: 'the connection was refused' });
  });

  test('fails at the deadline where the broker says nothing, and at once where it says nonsense', async () => {
    const silent = await startServer(() => undefined);
    const rig = await startRig(() => 'drop', { deadlineMs: 60 });
    expect(await rig.send(`mqtt://127.0.0.1:${silent}/a`)).toMatchObject({ failure: 'network' });
    const other = await startServer((socket) => void socket.write(Buffer.from([0x20, 0xff, 0xff, 0xff, 0xff, 0xff])));
    const patient = await startRig(() => 'drop');
    expect(await patient.send(`mqtt://127.0.0.1:${other}/a`)).toMatchObject({ failure: 'rejected' });
  });
});

describe('a connection', () => {
  test('that ends cleanly leaves no will, and one that breaks does', async () => {
    await using server = await startBroker();
    const watcher = await server.watch();
    const will = { topic: 'status', payload: 'offline', qos: 1, retain: true } as const;
    const polite = await connectMqtt(brokerAt(server.port, { will }), never);
    await polite.publish({ ...will, payload: 'bye' });
    await polite.close();
    expect(await next(watcher)).toBe('status 0 0 bye');
    const cut = new AbortController();
    const broken = await connectMqtt(brokerAt(server.port, { will, clientId: 'other' }), cut.signal);
    cut.abort();
    expect((await broken.closed).failure).toBe('network');
    expect(await next(watcher)).toBe('status 0 0 offline');
  });

  test('hears what it has subscribed to, and whether it was kept for it', async () => {
    await using server = await startBroker();
    const heard: Incoming[] = [];
    const both = createDeferred<void>();
    const connection = await connectMqtt(brokerAt(server.port), never, (message) => {
      heard.push(message);
      if (heard.length === 2) both.resolve();
    });
    await connection.publish({ topic: 'a/1', payload: 'kept', qos: 1, retain: true });
    await connection.subscribe('a/+');
    await connection.publish({ topic: 'a/2', payload: 'new', qos: 2, retain: false });
    await both.promise;
    expect(heard).toEqual([
      { topic: 'a/1', payload: 'kept', isRetained: true },
      { topic: 'a/2', payload: 'new', isRetained: false },
    ]);
  });

  test('has many messages under way at once', async () => {
    await using server = await startBroker({ more: ['max_inflight_messages 0', 'max_queued_messages 0'] });
    const connection = await connectMqtt(brokerAt(server.port), never);
    const numbers = Array.from({ length: 300 }, (_, number) => number);
    await Promise.all(
      numbers.map((number) =>
        connection.publish({ topic: `n/${number}`, payload: 'x'.repeat(500), qos: 1, retain: false }),
      ),
    );
    await connection.close();
  });

  test('speaks 3.1.1 with a broker that knows no better', async () => {
    const versions: number[] = [];
    const port = await startServer((socket) =>
      socket.on('data', (chunk: Buffer) => {
        if (chunk[0] !== 0x10) return;
        versions.push(chunk[8] ?? 0);
        socket.write(Buffer.from([0x20, 2, 0, chunk[8] === 5 ? 1 : 0]));
      }),
    );
    const connection = await connectMqtt(brokerAt(port), never);
    expect(versions).toEqual([5, 4]);
    await connection.close();
  });

  test('tells a subscription that is refused', async () => {
    const port = await startServer((socket) =>
      socket.on('data', (chunk: Buffer) => {
        if (chunk[0] === 0x10) socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        if (chunk[0] === 0x82) socket.write(Buffer.from([0x90, 4, chunk[2]!, chunk[3]!, 0, 0x87]));
      }),
    );
    const connection = await connectMqtt(brokerAt(port), never);
    await expect(connection.subscribe('a')).rejects.toMatchObject({ failure: 'auth' });
    await connection.close();
  });

  test('is over when the broker goes', async () => {
    await using server = await startBroker();
    const connection = await connectMqtt(brokerAt(server.port), never);
    await server.restart();
    expect((await connection.closed).failure).toBe('network');
    await expect(connection.publish({ topic: 'a', payload: '', qos: 1, retain: false })).rejects.toThrow('closed');
  });
});

async function startServer(onSocket: (socket: Socket) => unknown): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
