import type { Message } from '../../../domain/notification/message.ts';
import { choice, define, flag, text, type Parameter } from '../service/parameters.ts';
import { cutText, basicLogin } from '../service/requests.ts';
import { serverOf, InvalidUrlError, endpointOf, required } from '../service/url.ts';
import { defineService, type Part } from '../service/service.ts';

/** https://containrrr.dev/shoutrrr/v0.8/services/generic/ */
export const generic = defineService({
  schemes: ['generic'],
  variants: ['http', 'https'],
  title: 'Webhook of your own',
  form: 'generic://HOST[:PORT]/PATH, generic+https://… or generic+http://…',
  about:
    'Keys that are not listed here are forwarded; write `__title` to forward a `title`. `@Name=value` is a header, `$name=value` a further field of the JSON object. A plain `https://…` means `generic+https://…`.',
  example: 'generic+https://hooks.example.com/api/upkeep?template=json&@X-Api-Key=key-90210-abcdef&$node=vm1&room=7',
  parameters: {
    template: choice('`json`: send a JSON object of all fields; without it, the text alone', ['json'], undefined),
    messagekey: text('field of the text', { fallback: 'message' }),
    titlekey: text('field of the title', { fallback: 'title' }),
    contenttype: text('used with a template', { fallback: 'application/json' }),
    method: method('of the request'),
    disabletls: flag('plain http', false),
    title: text('no effect'),
  },
  otherKeys: 'forwarded',
  readAddress(parts) {
    return { server: serverOf(parts), user: parts.user, password: parts.password, path: parts.path };
  },
  secrets: ({ parts, others }) => [
    ...[parts.password, ...others.map(([, value]) => value)],
    ...parts.segments.filter(looksRandom),
  ],
  hidden: ({ parts }) => parts.segments,
  open({ address: { server, user, password, path }, parts, values, others }) {
    const isPlain = parts.variant === 'http' || values.disabletls;
    const url = new URL(`${isPlain ? 'http' : 'https'}://${server}${path}`);
    for (const [key, value] of others.filter(([name]) => !/^[@$]/.test(name))) url.searchParams.append(key, value);
    const own = others.filter(([key]) => key.startsWith('@')).map(([key, value]) => [headerName(key), value] as const);
    return { requests: (message) => [requestOf(message)] };

    function requestOf(message: Message): Part {
      const isJson = values.template === 'json';
      const type = isJson ? values.contenttype : 'text/plain';
      const headers = {
        'content-type': type,
        ...(isJson ? { accept: type } : {}),
        ...(user + password === '' ? {} : { authorization: basicLogin(user, password) }),
        ...Object.fromEntries(own),
      };
      const { method } = values;
      const body = isJson ? JSON.stringify(sorted(fieldsOf(message))) : message.text;
      if (method !== 'GET' && method !== 'HEAD') return { method, url, headers, body };
      // Shoutrrr sends a body with GET, which many servers do not read. HEAD has none.
      const asked = new URL(url);
      for (const [key, value] of Object.entries(fieldsOf(message)))
        if (!asked.searchParams.has(key)) asked.searchParams.append(key, cutText(value, queryLimit));
      return method === 'HEAD' ? { method, url: asked, headers } : { method, url: asked, headers, body };
    }

    function fieldsOf(message: Message): Readonly<Record<string, string>> {
      const extra = others.filter(([key]) => key.startsWith('$')).map(([key, value]) => [key.slice(1), value] as const);
      const title = message.title === '' ? {} : { [values.titlekey]: message.title };
      return { ...Object.fromEntries(extra), ...title, [values.messagekey]: message.text };
    }
  },
});

/** Percent-encoding may triple it, and servers accept addresses of 8 kB. */
const queryLimit = { max: 2000, unit: 'bytes' } as const;

function method(about: string): Parameter<string> {
  return define({
    kind: 'method of HTTP',
    about,
    fallback: 'POST',
    print: (value) => value,
    read(given) {
      if (/^[a-z]{1,16}$/i.test(given.trim())) return given.trim().toUpperCase();
      throw new Error('is no method of HTTP');
    },
  });
}

/** `@acceptLanguage` becomes `accept-language`. A name with a dash is used as written. */
function headerName(key: string): string {
  const name = key.slice(1);
  const dashed = name.includes('-') ? name : name.replaceAll(/(?<=.)[A-Z]/g, (letter) => `-${letter}`);
  return dashed.toLowerCase();
}

function sorted(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** True for a part of a path that cannot be guessed, such as the id of a webhook. */
function looksRandom(segment: string): boolean {
  return segment.length >= 24 || (segment.length >= 8 && /\d/.test(segment));
}

const parameters = {
  clientid: text('of the connection; random by default'),
  qos: choice('2: exactly once', ['0', '1', '2'], '0', {
    AtMostOnce: '0',
    at_most_once: '0',
    AtLeastOnce: '1',
    at_least_once: '1',
    ExactlyOnce: '2',
    exactly_once: '2',
  }),
  retained: flag('for later subscribers', false),
  cleansession: flag('the broker keeps no session', true),
  disabletls: flag('turn TLS off for mqtts', false),
  disabletlsverification: flag('accept any certificate', false),
  title: text('no effect'),
};

export const mqtt = defineService({
  schemes: ['mqtt', 'mqtts'],
  title: 'MQTT',
  form: 'mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC or mqtts://…',
  about: '`mqtts://` uses TLS. The text is the payload. The broker confirms a message only with QoS 1 or 2.',
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
      const { connectMqtt } = await import('../mqtt/connection.ts');
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

export const logger = defineService({
  schemes: ['logger'],
  title: 'The log',
  form: 'logger://',
  about: 'Writes each message to the log of Upkeep.',
  example: 'logger://',
  parameters: {},
  otherKeys: 'ignored',
  readAddress: () => undefined,
  secrets: () => [],
  open: (_, { writeLog }) => ({
    deliver(message) {
      writeLog(message.text, message.level);
      return Promise.resolve('written');
    },
  }),
});
