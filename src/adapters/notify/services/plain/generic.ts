import type { Message } from '../../../../domain/notification/message.ts';
import { choice, define, flag, text, type Parameter } from '../../url/parameters.ts';
import { cutText } from '../../wire/split.ts';
import { basicLogin } from '../../wire/headers.ts';
import { serverOf } from '../../service/address.ts';
import { defineService, type Part } from '../../service/service.ts';

/** https://containrrr.dev/shoutrrr/v0.8/services/generic/ */
export const generic = defineService({
  schemes: ['generic'],
  variants: ['http', 'https'],
  title: 'Webhook of your own',
  form: 'generic://HOST[:PORT]/PATH, generic+https://… or generic+http://…',
  about:
    'Keys that are not in the table are forwarded; write `__title` to forward a `title`. `@Name=value` is a header, `$name=value` a further field of the JSON object. A plain `https://…` means `generic+https://…`.',
  example: 'generic+https://hooks.example.com/api/upkeep?template=json&@X-Api-Key=key-90210-abcdef&$node=vm1&room=7',
  parameters: {
    template: choice('without it the text is the body; `json`: an object of all fields', ['json'], undefined),
    messagekey: text('field of the text', { fallback: 'message' }),
    titlekey: text('field of the title', { fallback: 'title' }),
    contenttype: text('used with a template', { fallback: 'application/json' }),
    method: method('of the request; with GET, the text is in the query, too'),
    disabletls: flag('plain http', false),
    title: text('no effect; kept for old URLs'),
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
