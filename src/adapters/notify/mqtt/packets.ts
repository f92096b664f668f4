/** MQTT 5, and 3.1.1 for older brokers: https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html */
export type MqttVersion = 4 | 5;

type Qos = 0 | 1 | 2;

export type Publication = {
  readonly topic: string;
  readonly payload: string;
  readonly qos: Qos;
  readonly retain: boolean;
};

/** The first four bits of a packet. */
export const packetTypes = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
} as const;

export type ConnectOptions = {
  readonly clientId: string;
  readonly user: string;
  readonly password: string;
  readonly cleanSession: boolean;
  /** The last will: the broker publishes it when the connection breaks. */
  readonly will?: Publication;
};

/** A broker publishes the will after one and a half of these intervals without a packet. */
export const keepAliveSeconds = 30;

export function connectPacket(version: MqttVersion, options: ConnectOptions): Buffer {
  const { clientId, user, password, cleanSession, will } = options;
  // In 3.1.1 a password without a user has no meaning, and brokers ignore it.
  const hasPassword = user !== '' && password !== '';
  const flags =
    (user === '' ? 0 : 0x80) |
    (hasPassword ? 0x40 : 0) |
    (will === undefined ? 0 : 0x04 | (will.qos << 3) | (will.retain ? 0x20 : 0)) |
    (cleanSession ? 0x02 : 0);
  return packet(packetTypes.connect, 0, [
    text('MQTT'),
    Buffer.from([version, flags]),
    uint16(keepAliveSeconds),
    noProperties(version),
    text(clientId),
    ...(will === undefined ? [] : [noProperties(version), text(will.topic), text(will.payload)]),
    ...(user === '' ? [] : [text(user)]),
    ...(hasPassword ? [text(password)] : []),
  ]);
}

/** `id` is only used with QoS 1 and 2. */
export function publishPacket(version: MqttVersion, { topic, payload, qos, retain }: Publication, id: number): Buffer {
  const flags = (qos << 1) | (retain ? 1 : 0);
  const numbered = qos === 0 ? [] : [uint16(id)];
  return packet(packetTypes.publish, flags, [text(topic), ...numbered, noProperties(version), Buffer.from(payload)]);
}

export function subscribePacket(version: MqttVersion, topic: string, id: number): Buffer {
  return packet(packetTypes.subscribe, 2, [uint16(id), noProperties(version), text(topic), Buffer.from([1])]);
}

/** Builds PUBACK, PUBREC, PUBREL and PUBCOMP. */
export function acknowledgement(type: 4 | 5 | 6 | 7, id: number): Buffer {
  return packet(type, type === packetTypes.pubrel ? 2 : 0, [uint16(id)]);
}

export const pingPacket = packet(packetTypes.pingreq, 0, []);
export const disconnectPacket = packet(packetTypes.disconnect, 0, []);

function packet(type: number, flags: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([(type << 4) | flags]), variableLength(body.length), body]);
}

function variableLength(length: number): Buffer {
  const digits: number[] = [];
  let rest = length;
  do {
    const digit = rest % 128;
    rest = Math.floor(rest / 128);
    digits.push(rest > 0 ? digit | 0x80 : digit);
  } while (rest > 0);
  return Buffer.from(digits);
}

function noProperties(version: MqttVersion): Buffer {
  return version === 5 ? Buffer.from([0]) : Buffer.alloc(0);
}

/** The length of a text in bytes, and its bytes. */
function text(value: string): Buffer {
  const content = Buffer.from(value);
  return Buffer.concat([uint16(content.length), content]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

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
      if (length.value > maxPacket) throw new Error('its packet is too long');
      const end = length.end + length.value;
      if (rest.length < end) return packets;
      const packet = readPacket(version, rest[0] ?? 0, rest.subarray(length.end, end));
      if (packet !== undefined) packets.push(packet);
      rest = rest.subarray(end);
    }
  };
}

const maxPacket = 262_144;

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

/** The limits of a broker: https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901080 */
export type Allowance = {
  /** Messages with QoS 1 and 2 that may be unconfirmed at a time. */
  readonly receiveMaximum: number;
  /** Undefined: the client's own. */
  readonly keepAliveSeconds: number | undefined;
};

/** Reads the properties of a CONNACK. MQTT 3.1.1 has none, and an unknown one ends the list. */
function readAllowance(version: MqttVersion, body: Buffer): Allowance {
  const numbers = new Map<number, number>();
  const length = version === 5 ? readVariable(body, 2) : undefined;
  const end = length === undefined ? 0 : Math.min(body.length, length.end + length.value);
  for (let at = length?.end ?? 0; at < end;) {
    const id = body[at] ?? 0;
    const texts = textsOf.get(id) ?? 0;
    const size = sizes.get(id) ?? 0;
    at += 1;
    if (size + texts === 0 || at + Math.max(size, 2 * texts) > end) break;
    if (size === 2) numbers.set(id, body.readUInt16BE(at));
    at += size;
    for (let text = 0; text < texts && at + 2 <= end; text += 1) at += 2 + body.readUInt16BE(at);
  }
  const receiveMaximum = numbers.get(0x21) ?? 0xffff;
  return { receiveMaximum: Math.max(1, receiveMaximum), keepAliveSeconds: numbers.get(0x13) };
}

/** Bytes of the properties with a fixed size. */
const sizes: ReadonlyMap<number, number> = new Map([
  [0x11, 4],
  [0x13, 2],
  [0x21, 2],
  [0x22, 2],
  [0x24, 1],
  [0x25, 1],
  [0x27, 4],
  [0x28, 1],
  [0x29, 1],
  [0x2a, 1],
]);

/** The number of texts, each with its length before it. */
const textsOf: ReadonlyMap<number, number> = new Map([
  [0x12, 1],
  [0x15, 1],
  [0x16, 1],
  [0x1a, 1],
  [0x1c, 1],
  [0x1f, 1],
  [0x26, 2],
]);

/** Reads a length of MQTT. Undefined: the packet is incomplete. Throws if it has more than four digits. */
function readVariable(from: Buffer, at: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let index = 0; index < 4; index += 1) {
    const digit = from[at + index];
    if (digit === undefined) return undefined;
    value += (digit & 0x7f) * 128 ** index;
    if ((digit & 0x80) === 0) return { value, end: at + index + 1 };
  }
  throw new Error('it does not speak MQTT');
}
