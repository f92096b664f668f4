import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Broker } from '../../../src/adapters/notify/mqtt/connection.ts';

/** A broker on this machine, as the MQTT adapter connects to it. */
export function brokerAt(port: number, more: Partial<Broker> = {}): Broker {
  return {
    host: '127.0.0.1',
    port,
    clientId: 'test',
    user: '',
    password: '',
    cleanSession: true,
    secureContext: undefined,
    skipsVerification: false,
    ...more,
  };
}

/** A packet of MQTT: its type with flags, and its body. */
export type RawPacket = { readonly head: number; readonly body: Buffer };

export type ScriptedBroker = {
  readonly port: number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Calls back for every packet of every client; the test alone decides what is answered. */
export async function startScriptedBroker(
  onPacket: (packet: RawPacket, socket: Socket) => void,
): Promise<ScriptedBroker> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let packet = firstPacket(rest); packet !== undefined; packet = firstPacket(rest)) {
        rest = rest.subarray(packet.end);
        onPacket(packet, socket);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The answer of a broker that accepts everything, in MQTT 5; undefined: none is needed. */
export function acceptance({ head, body }: RawPacket): Buffer | undefined {
  switch (head & 0xf0) {
    case 0x10:
      return Buffer.from([0x20, 3, 0, 0, 0]);
    case 0x30: {
      const at = 2 + body.readUInt16BE(0);
      return (head & 6) === 0 ? undefined : Buffer.from([0x40, 2, ...body.subarray(at, at + 2)]);
    }
    case 0x80:
      return Buffer.from([0x90, 4, ...body.subarray(0, 2), 0, 1]);
    case 0xc0:
      return pong;
    default:
      return undefined;
  }
}

export const pong = Buffer.from([0xd0, 0]);

/** A message to a client, in MQTT 5 and with a quality of service of 0. */
export function publication(topic: string, payload: string): Buffer {
  const name = Buffer.from(topic);
  const body = Buffer.concat([
    Buffer.from([name.length >> 8, name.length & 0xff]),
    name,
    Buffer.of(0),
    Buffer.from(payload),
  ]);
  return Buffer.concat([Buffer.of(0x30), variableLength(body.length), body]);
}

/** The topic and payload of a client's message in MQTT 5; undefined for another packet. */
export function published({ head, body }: RawPacket): { readonly topic: string; readonly payload: string } | undefined {
  if ((head & 0xf0) !== 0x30) return undefined;
  const end = 2 + body.readUInt16BE(0);
  const properties = end + ((head & 6) === 0 ? 0 : 2);
  return {
    topic: body.toString('utf8', 2, end),
    payload: body.toString('utf8', properties + 1 + (body[properties] ?? 0)),
  };
}

function firstPacket(bytes: Buffer): (RawPacket & { readonly end: number }) | undefined {
  let length = 0;
  for (let index = 1; index < bytes.length; index += 1) {
    const digit = bytes[index] ?? 0;
    length += (digit & 0x7f) * 128 ** (index - 1);
    if (digit >= 0x80) continue;
    const end = index + 1 + length;
    return end > bytes.length ? undefined : { head: bytes[0] ?? 0, body: bytes.subarray(index + 1, end), end };
  }
  return undefined;
}

function variableLength(length: number): Buffer {
  const digits: number[] = [];
  for (let left = length; digits.length === 0 || left > 0; left = Math.floor(left / 128))
    digits.push((left % 128) + (left >= 128 ? 0x80 : 0));
  return Buffer.from(digits);
}
