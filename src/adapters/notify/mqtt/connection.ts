import * as net from 'node:net';
import * as tls from 'node:tls';
import { createSlots } from '../../../domain/concurrency.ts';
import { readNetworkError } from '../../http/exchange.ts';
import { Refused } from '../service/exchange.ts';
import {
  acknowledgement,
  connectPacket,
  disconnectPacket,
  keepAliveSeconds,
  packetTypes,
  pingPacket,
  publishPacket,
  subscribePacket,
  createPacketReader,
  type ConnectOptions,
  type MqttVersion,
  type Publication,
  type Allowance,
  type ReceivedPacket,
} from './packets.ts';
import type { SendFailure } from '../../../domain/notification/message.ts';

export type Broker = ConnectOptions & {
  readonly host: string;
  readonly port: number;
  /** Undefined: no TLS. */
  readonly secureContext: tls.SecureContext | undefined;
  readonly skipsVerification: boolean;
};

export type Incoming = { readonly topic: string; readonly payload: string; readonly isRetained: boolean };

export type MqttConnection = {
  /** Resolves when the broker has confirmed the message; with QoS 0, when it is sent. Rejects with `Refused`. */
  readonly publish: (publication: Publication) => Promise<void>;
  readonly subscribe: (topic: string) => Promise<void>;
  /** Resolves when either side has ended the connection. Never rejects. */
  readonly closed: Promise<Refused>;
  /** Ends the connection cleanly: the broker does not publish the will. */
  readonly close: () => Promise<void>;
};

/** Connects with MQTT 5, or with 3.1.1 if the broker rejects that. Rejects with `Refused`. The signal ends the connection. */
export async function connectMqtt(
  broker: Broker,
  signal: AbortSignal,
  onMessage: (message: Incoming) => void = () => undefined,
): Promise<MqttConnection> {
  try {
    return await connectAs(5, broker, signal, onMessage);
  } catch (error) {
    if (!(error instanceof Refused) || error.failure !== 'rejected') throw error;
    return connectAs(4, broker, signal, onMessage);
  }
}

const highestId = 0xffff;

async function connectAs(
  version: MqttVersion,
  broker: Broker,
  signal: AbortSignal,
  onMessage: (message: Incoming) => void,
): Promise<MqttConnection> {
  signal.throwIfAborted();
  const socket = openSocket(broker);
  const waiting = new Map<number, { readonly resolve: () => void; readonly reject: (error: Refused) => void }>();
  const opened = createDeferred<void>();
  const ended = createDeferred<Refused>();
  let lastId = 0;
  let isAccepted = false;
  let isAnswered = true;
  /** A broker ends the connection of a client that sends more unconfirmed messages than it allows. */
  const unconfirmedMessages = createSlots(0xffff);
  /** The oldest unconfirmed packet at the last ping. */
  let unconfirmed: number | undefined;

  const end = (why: Refused): void => {
    clearInterval(ping);
    signal.removeEventListener('abort', abort);
    socket.destroy();
    opened.reject(why);
    for (const { reject } of waiting.values()) reject(why);
    waiting.clear();
    ended.resolve(why);
  };
  const abort = (): void => end(new Refused('network', 'the connection was aborted'));
  const checkAndPing = (): void => {
    const [oldest] = waiting.keys();
    if (!isAccepted) return end(new Refused('network', 'the broker did not accept the connection in time'));
    if (!isAnswered) return end(new Refused('network', 'the broker no longer answers'));
    // A broker may answer pings alone.
    if (oldest !== undefined && oldest === unconfirmed)
      return end(new Refused('network', 'the broker no longer confirms messages'));
    unconfirmed = oldest;
    isAnswered = false;
    socket.write(pingPacket);
  };
  let ping = setInterval(checkAndPing, keepAliveSeconds * 1000).unref();
  signal.addEventListener('abort', abort, { once: true });

  const read = createPacketReader(version);
  socket.on('data', (chunk) => {
    try {
      for (const packet of read(chunk)) handlePacket(packet);
    } catch (error) {
      end(new Refused('rejected', error instanceof Error ? error.message : 'it does not speak MQTT'));
    }
  });
  socket.once('error', (error) => end(new Refused('network', readNetworkError(error, broker.host).message)));
  socket.once('close', () => end(new Refused('network', 'the connection was closed')));
  socket.once(broker.secureContext === undefined ? 'connect' : 'secureConnect', () =>
    socket.write(connectPacket(version, broker)),
  );
  await opened.promise;

  return {
    publish(publication) {
      if (publication.qos === 0) return written(publishPacket(version, publication, 0));
      return unconfirmedMessages.use(() => confirmed((id) => publishPacket(version, publication, id)));
    },
    subscribe: (topic) => confirmed((id) => subscribePacket(version, topic, id)),
    closed: ended.promise,
    async close() {
      if (!socket.destroyed) await written(disconnectPacket).catch(() => undefined);
      const isOver = new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        if (socket.destroyed) resolve();
      });
      socket.end();
      const late = setTimeout(() => socket.destroy(), lingerMs);
      await isOver;
      clearTimeout(late);
      end(new Refused('network', 'it was closed'));
    },
  };

  function handlePacket(packet: ReceivedPacket): void {
    isAnswered = true;
    switch (packet.kind) {
      case 'connack':
        if (packet.reason !== 0) return end(refusedBy(version, packet.reason));
        isAccepted = true;
        applyAllowance(packet.allows);
        return opened.resolve();
      case 'pubrec':
        if (packet.reason >= 0x80) return settle(packet.id, packet.reason);
        return answer(acknowledgement(packetTypes.pubrel, packet.id));
      case 'ack':
        return settle(packet.id, packet.reason);
      case 'pubrel':
        return answer(acknowledgement(packetTypes.pubcomp, packet.id));
      case 'disconnect':
        return end(refusedBy(version, packet.reason));
      case 'publish': {
        const type = packet.qos === 2 ? packetTypes.pubrec : packetTypes.puback;
        if (packet.qos > 0) answer(acknowledgement(type, packet.id));
        return onMessage({ topic: packet.topic, payload: packet.payload, isRetained: packet.retain });
      }
      case 'pong':
        return undefined;
    }
  }

  /** A broker that sends and does not read gets no further answers, and none of its messages is read meanwhile. */
  function answer(packet: Buffer): void {
    if (socket.write(packet) || socket.isPaused()) return;
    socket.pause();
    socket.once('drain', () => socket.resume());
  }

  function applyAllowance({ receiveMaximum, keepAliveSeconds: wanted = 0 }: Allowance): void {
    unconfirmedMessages.limit(receiveMaximum);
    if (wanted === 0 || wanted >= keepAliveSeconds) return;
    clearInterval(ping);
    ping = setInterval(checkAndPing, wanted * 1000).unref();
  }

  function settle(id: number, reason: number): void {
    const known = waiting.get(id);
    waiting.delete(id);
    if (reason < 0x80) known?.resolve();
    else known?.reject(refusedBy(version, reason));
  }

  function confirmed(packet: (id: number) => Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      if (socket.destroyed) return void reject(new Refused('network', 'the connection was closed'));
      do lastId = (lastId % highestId) + 1;
      while (waiting.has(lastId));
      waiting.set(lastId, { resolve, reject });
      socket.write(packet(lastId));
    });
  }

  function written(packet: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      socket.write(packet, (error) =>
        error ? reject(new Refused('network', 'the connection was closed')) : resolve(),
      );
    });
  }
}

/** Time to send the last packet. */
const lingerMs = 1000;

function openSocket({ host, port, secureContext, skipsVerification }: Broker): net.Socket {
  if (secureContext === undefined) return net.connect({ host, port });
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  return tls.connect({ host, port, secureContext, rejectUnauthorized: !skipsVerification, ...servername });
}

/** The failure for a reason code of a broker. */
function refusedBy(version: MqttVersion, reason: number): Refused {
  const known = (version === 4 ? reasonsOfMqtt311[reason] : undefined) ?? reasons[reason];
  const [failure, words] = known ?? ['rejected', 'the broker refused'];
  return new Refused(failure, `${words} (reason ${reason})`);
}

type Meaning = readonly [SendFailure, string];

/** https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901031 */
const reasons: Readonly<Record<number, Meaning>> = {
  0x00: ['network', 'the broker closed the connection'],
  0x80: ['rejected', 'the broker refused'],
  0x85: ['rejected', 'the broker does not accept the client id'],
  0x86: ['auth', 'user or password is wrong'],
  0x87: ['auth', 'the user may not do that'],
  0x88: ['network', 'the broker is not available'],
  0x89: ['network', 'the broker is busy'],
  0x8b: ['network', 'the broker is shutting down'],
  0x8e: ['network', 'another client took over the client id'],
  0x90: ['rejected', 'the broker does not accept the topic'],
  0x95: ['rejected', 'the message is too long for the broker'],
  0x97: ['rate', 'a quota of the broker is used up'],
  0x9a: ['rejected', 'the broker does not support retained messages'],
  0x9b: ['rejected', 'the broker does not offer that quality of service'],
  0x9f: ['rate', 'too many connections for the broker'],
};

/** Of CONNACK and SUBACK in https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html */
const reasonsOfMqtt311: Readonly<Record<number, Meaning>> = {
  1: ['rejected', 'the broker does not speak MQTT 3.1.1'],
  2: ['rejected', 'the broker does not accept the client id'],
  3: ['network', 'the broker is not available'],
  4: ['auth', 'user or password is wrong'],
  5: ['auth', 'the user may not do that'],
  0x80: ['auth', 'the user may not do that'],
};

type Deferred<Value> = {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
};

/** A promise with its resolve and reject functions. An unhandled rejection is ignored. */
export function createDeferred<Value>(): Deferred<Value> {
  let [resolve, reject]: [Deferred<Value>['resolve'], Deferred<Value>['reject']] = [() => undefined, () => undefined];
  const promise = new Promise<Value>((...both) => {
    [resolve, reject] = both;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
