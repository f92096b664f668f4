import { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  acceptance,
  brokerAt,
  pong,
  publication,
  startScriptedBroker,
} from '../../../../test/support/notify/scripted-broker.ts';
import { connectMqtt, createDeferred } from './connection.ts';
import { keepAliveSeconds } from './packets.ts';

const never = new AbortController().signal;

/** Lets the time between two pings pass at once. */
function pass(): void {
  vi.advanceTimersByTime(keepAliveSeconds * 1000);
}

function stopPings(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

test('a broker that answers pings but never accepts the connection is left', async () => {
  stopPings();
  const asked = createDeferred<void>();
  await using broker = await startScriptedBroker((_, socket) => {
    socket.write(pong);
    asked.resolve();
  });
  const connected = expect(connectMqtt(brokerAt(broker.port), never)).rejects.toMatchObject({
    failure: 'network',
    message: 'the broker did not accept the connection in time',
  });
  await asked.promise;
  pass();
  await connected;
});

test('a broker that answers pings but confirms no message is left', async () => {
  stopPings();
  await using broker = await startScriptedBroker((packet, socket) => {
    if ((packet.head & 0xf0) === 0x30) return;
    socket.write(acceptance(packet) ?? '');
    // Tells the test that the client has the answer to its ping.
    if (packet.head === 0xc0) socket.write(publication('pinged', ''));
  });
  let isPinged = createDeferred<void>();
  const connection = await connectMqtt(brokerAt(broker.port), never, () => isPinged.resolve());
  for (let pings = 0; pings < 3; pings += 1) {
    isPinged = createDeferred();
    pass();
    await isPinged.promise;
  }
  const published = connection.publish({ topic: 'a', payload: 'b', qos: 1, retain: false });
  isPinged = createDeferred();
  pass();
  await isPinged.promise;
  pass();
  await expect(published).rejects.toMatchObject({ message: 'the broker no longer confirms messages' });
  expect((await connection.closed).failure).toBe('network');
});

test('a broker that confirms messages late, but each in time, is kept', async () => {
  stopPings();
  let confirm: () => void = () => undefined;
  const arrivals: (() => void)[] = [];
  await using broker = await startScriptedBroker((packet, socket) => {
    const answer = acceptance(packet) ?? '';
    if ((packet.head & 0xf0) !== 0x30) return void socket.write(answer);
    confirm = () => socket.write(answer);
    arrivals.shift()?.();
  });
  const connection = await connectMqtt(brokerAt(broker.port), never);
  for (let messages = 0; messages < 4; messages += 1) {
    const arrived = new Promise<void>((resolve) => arrivals.push(resolve));
    const published = connection.publish({ topic: 'a', payload: 'b', qos: 1, retain: false });
    await arrived;
    pass();
    confirm();
    await published;
  }
  await connection.close();
});

/** The answer to CONNECT with a text and other properties before the ones of the test. */
function accepting(...properties: readonly number[]): Buffer {
  const all = [0x1f, 0, 1, 0x78, 0x26, 0, 1, 0x61, 0, 1, 0x62, 0x25, 1, ...properties];
  return Buffer.from([0x20, 3 + all.length, 0, 0, all.length, ...all]);
}

test('at most as many messages are unconfirmed as the broker allows', async () => {
  const unconfirmed: Buffer[] = [];
  let [most, all] = [0, 0];
  await using broker = await startScriptedBroker((packet, socket) => {
    if ((packet.head & 0xf0) === 0x10) return void socket.write(accepting(0x21, 0, 2));
    const answer = acceptance(packet);
    if (answer === undefined) return;
    unconfirmed.push(answer);
    all += 1;
    most = Math.max(most, unconfirmed.length);
    // Messages beyond the allowance would arrive before the answers.
    if (unconfirmed.length >= 2 || all === 7)
      setImmediate(() => unconfirmed.splice(0).forEach((each) => socket.write(each)));
  });
  const connection = await connectMqtt(brokerAt(broker.port), never);
  const message = { topic: 'a', payload: 'b', qos: 1, retain: false } as const;
  await Promise.all(Array.from({ length: 7 }, () => connection.publish(message)));
  expect(most).toBe(2);
  const last = Array.from({ length: 3 }, () => connection.publish(message));
  await broker[Symbol.asyncDispose]();
  for (const each of last) await expect(each).rejects.toMatchObject({ failure: 'network' });
});

test('the broker is pinged as often as it asks', async () => {
  stopPings();
  const pinged = createDeferred<void>();
  await using broker = await startScriptedBroker((packet, socket) => {
    if (packet.head === 0xc0) pinged.resolve();
    socket.write((packet.head & 0xf0) === 0x10 ? accepting(0x13, 0, 10) : pong);
  });
  const connection = await connectMqtt(brokerAt(broker.port), never);
  vi.advanceTimersByTime(10_000);
  await pinged.promise;
  await connection.close();
});

/** A message with QoS 1 and an empty payload, in MQTT 5. */
const numbered = Buffer.from([0x32, 6, 0, 1, 0x61, 0, 1, 0]);

test.each([
  ['QoS 1', numbered, 0x40],
  ['QoS 2', Buffer.from([0x34, ...numbered.subarray(1)]), 0x50],
])(
  'a broker that sends messages of %s and does not read is not read either, until it reads again',
  async (_, message, head) => {
    const write = Reflect.get(Socket.prototype, 'write') as (...args: unknown[]) => boolean;
    const paused = createDeferred<Socket>();
    let isFull = false;
    vi.spyOn(Socket.prototype, 'write').mockImplementation(function full(this: Socket, ...args: unknown[]) {
      const isWritten = Reflect.apply(write, this, args);
      const [bytes] = args;
      if (isFull || !Buffer.isBuffer(bytes) || bytes.length !== 4 || bytes[0] !== head) return isWritten;
      // The broker reads nothing, so the buffers of the kernel are full.
      isFull = true;
      setImmediate(() => paused.resolve(this));
      return false;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    let acknowledged = 0;
    let heard = 0;
    const second = createDeferred<void>();
    let send: (bytes: Buffer) => Promise<unknown> = () => Promise.resolve();
    await using broker = await startScriptedBroker((packet, socket) => {
      if (packet.head !== head) socket.write(acceptance(packet) ?? '');
      else if ((acknowledged += 1) === 2) second.resolve();
      send = (bytes) => new Promise((resolve) => socket.write(bytes, resolve));
    });
    const connection = await connectMqtt(brokerAt(broker.port), never, () => (heard += 1));
    await send(message);
    const client = await paused.promise;
    expect(client.isPaused()).toBe(true);
    await send(message);
    expect(heard).toBe(1);
    client.emit('drain');
    expect(client.isPaused()).toBe(false);
    await second.promise;
    expect(heard).toBe(2);
    await connection.close();
  },
);
