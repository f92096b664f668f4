import type { MqttVersion } from './packets.ts';
import { readVariable } from './variable-length.ts';

/** The limits of a broker: https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901080 */
export type Allowance = {
  /** Messages with QoS 1 and 2 that may be unconfirmed at a time. */
  readonly receiveMaximum: number;
  /** Undefined: the client's own. */
  readonly keepAliveSeconds: number | undefined;
};

/** Reads the properties of a CONNACK. MQTT 3.1.1 has none, and an unknown one ends the list. */
export function readAllowance(version: MqttVersion, body: Buffer): Allowance {
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
