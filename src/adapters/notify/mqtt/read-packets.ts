import { type Allowance, readAllowance } from './connack.ts';
import { packetTypes, type MqttVersion, type Publication, type Qos } from './packets.ts';
import { readVariable } from './variable-length.ts';

/** The packets that Upkeep handles. A reason code below 0x80 is a success. */
export type ReceivedPacket =
  | { readonly kind: 'connack'; readonly reason: number; readonly allows: Allowance }
  /** PUBACK, PUBCOMP or SUBACK: the broker has processed the packet with this id. */
  | { readonly kind: 'ack'; readonly id: number; readonly reason: number }
  | { readonly kind: 'pubrec'; readonly id: number; readonly reason: number }
  | { readonly kind: 'pubrel'; readonly id: number }
  | ({ readonly kind: 'publish'; readonly id: number } & Publication)
  | { readonly kind: 'disconnect'; readonly reason: number }
  | { readonly kind: 'pong' };

/** Splits a stream into packets. Throws when it is not MQTT, or when a packet is longer than 256 kB. */
export function createPacketReader(version: MqttVersion): (chunk: Buffer) => readonly ReceivedPacket[] {
  let rest: Buffer = Buffer.alloc(0);
  return function read(chunk) {
    rest = Buffer.concat([rest, chunk]);
    const packets: ReceivedPacket[] = [];
    for (;;) {
      const length = readVariable(rest, 1);
      if (length === undefined) return packets;
      if (length.value > longestPacket) throw new Error('its packet is too long');
      const end = length.end + length.value;
      if (rest.length < end) return packets;
      const packet = readPacket(version, rest[0] ?? 0, rest.subarray(length.end, end));
      if (packet !== undefined) packets.push(packet);
      rest = rest.subarray(end);
    }
  };
}

const longestPacket = 262_144;

function readPacket(version: MqttVersion, head: number, body: Buffer): ReceivedPacket | undefined {
  const id = body.length >= 2 ? body.readUInt16BE(0) : 0;
  switch (head >> 4) {
    case packetTypes.connack:
      return { kind: 'connack', reason: body[1] ?? 0xff, allows: readAllowance(version, body) };
    case packetTypes.puback:
    case packetTypes.pubcomp:
      return { kind: 'ack', id, reason: body[2] ?? 0 };
    case packetTypes.pubrec:
      return { kind: 'pubrec', id, reason: body[2] ?? 0 };
    case packetTypes.pubrel:
      return { kind: 'pubrel', id };
    case packetTypes.suback:
      return { kind: 'ack', id, reason: body[afterProperties(version, body, 2)] ?? 0xff };
    case packetTypes.publish:
      return readPublish(version, head, body);
    case packetTypes.disconnect:
      return { kind: 'disconnect', reason: body[0] ?? 0 };
    case packetTypes.pingresp:
      return { kind: 'pong' };
    default:
      return undefined;
  }
}

function readPublish(version: MqttVersion, head: number, body: Buffer): ReceivedPacket {
  const qos = ((head >> 1) & 3) as Qos;
  const topicEnd = 2 + (body.length >= 2 ? body.readUInt16BE(0) : 0);
  const idEnd = topicEnd + (qos === 0 ? 0 : 2);
  if (qos > 2 || idEnd > body.length) throw new Error('its packet is malformed');
  return {
    kind: 'publish',
    topic: body.subarray(2, topicEnd).toString(),
    payload: body.subarray(afterProperties(version, body, idEnd)).toString(),
    qos,
    retain: (head & 1) === 1,
    id: qos === 0 ? 0 : body.readUInt16BE(topicEnd),
  };
}

function afterProperties(version: MqttVersion, body: Buffer, at: number): number {
  if (version === 4) return at;
  const length = readVariable(body, at);
  return length === undefined ? body.length : length.end + length.value;
}
