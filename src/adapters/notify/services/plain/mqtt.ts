import { choice, flag, text } from '../../url/parameters.ts';
import { InvalidUrlError } from '../../url/invalid-url-error.ts';
import { endpointOf, required } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';

const parameters = {
  clientid: text('of the connection; random by default'),
  qos: choice('0: at most once, 1: at least once, 2: exactly once', ['0', '1', '2'], '0', {
    AtMostOnce: '0',
    at_most_once: '0',
    AtLeastOnce: '1',
    at_least_once: '1',
    ExactlyOnce: '2',
    exactly_once: '2',
  }),
  retained: flag('the broker keeps the message for later subscribers', false),
  cleansession: flag('the broker keeps no session', true),
  disabletls: flag('turn TLS off for mqtts', false),
  disabletlsverification: flag('accept any certificate', false),
  title: text('no effect: an MQTT message has no title'),
};

export const mqtt = defineService({
  schemes: ['mqtt', 'mqtts'],
  title: 'MQTT',
  form: 'mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC, or mqtts:// for TLS',
  about: 'The text is the payload. The broker confirms a message only with QoS 1 or 2.',
  example: 'mqtts://upkeep:br0ker-Pa55@broker.example.com/docker/upkeep?qos=1',
  parameters,
  readAddress(parts, values) {
    const isSecure = parts.scheme === 'mqtts' && !values.disabletls;
    const endpoint = endpointOf(parts, isSecure ? 8883 : 1883);
    const topic = required(parts.segments.join('/'), 'the topic');
    if (/[+#\0]/.test(topic)) throw new InvalidUrlError('the topic', 'contains a wildcard');
    return { ...endpoint, topic, isSecure, user: parts.user, password: parts.password };
  },
  secrets: ({ address }) => [address.password],
  open: ({ address, values }, { contextFor }) => ({
    async deliver(message, _, signal) {
      const { connectMqtt } = await import('../../mqtt/connection.ts');
      const { host, port, topic, isSecure } = address;
      const broker = {
        ...address,
        clientId: values.clientid === '' ? `upkeep-${randomDigits()}` : values.clientid,
        cleanSession: values.cleansession,
        secureContext: isSecure ? await contextFor(`${host}:${port}`) : undefined,
        skipsVerification: values.disabletlsverification,
      };
      const connection = await connectMqtt(broker, signal);
      try {
        const qos = Number(values.qos) as 0 | 1 | 2;
        await connection.publish({ topic, payload: message.text, qos, retain: values.retained });
        return qos === 0 ? 'sent; the broker does not confirm QoS 0' : 'confirmed by the broker';
      } finally {
        await connection.close();
      }
    },
  }),
});

/** A broker disconnects a client when another one uses its id. */
function randomDigits(): string {
  return Math.random().toString(16).slice(2, 10);
}
