import type { SendFailure } from '../../../domain/notification/message.ts';
import { Refused } from '../wire/refused.ts';
import type { MqttVersion } from './packets.ts';

/** The failure for a reason code of a broker. */
export function refusedBy(version: MqttVersion, reason: number): Refused {
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
