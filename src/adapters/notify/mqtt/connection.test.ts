import { expect, onTestFinished, test, vi } from 'vitest';
import {
  acceptance,
  brokerAt,
  pong,
  publication,
  startScriptedBroker,
} from '../../../../test/support/notify/scripted-broker.ts';
import { connectMqtt } from './connection.ts';
import { createDeferred } from './deferred.ts';
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
