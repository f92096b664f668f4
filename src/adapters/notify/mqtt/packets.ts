/** MQTT 5, and 3.1.1 for older brokers: https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html */
export type MqttVersion = 4 | 5;

export type Qos = 0 | 1 | 2;

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
