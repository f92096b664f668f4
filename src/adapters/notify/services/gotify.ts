import type { Message } from '../../../domain/notification/message.ts';
import { isJsonObject } from '../../../domain/text/json.ts';
import { define, flag, integer, jsonObject, text, type Parameter } from '../service/parameters.ts';
import { formOf, jsonPost, orNone } from '../service/requests.ts';
import { expectJson } from '../service/answer.ts';
import { required, pathOf, serverOf } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { plainFor, writtenFor, titleOf } from '../service/markup.ts';

/** https://gotify.net/api-docs#/message/createMessage */
export const gotify = defineService({
  schemes: ['gotify'],
  title: 'Gotify',
  form: 'gotify://HOST[:PORT][/PATH]/TOKEN',
  about:
    'The last part of the path is the token of an application. The address of the API works too: `gotify://HOST/message?token=TOKEN`.',
  example: 'gotify://push.example.com/AzyoeNS.D4iJLVa?priority=5',
  parameters: {
    title: text('for messages without a title', { fallback: 'Upkeep' }),
    token: text('instead of the one in the path', { isSecret: true }),
    priority: integer('by default 8 for a failure, 2 if nothing has changed', {
      min: -2,
      max: 10,
    }),
    disabletls: flag('plain http', false),
    insecureskipverify: flag('accept any certificate', false),
    useheader: flag('send the token in a header', false),
    date: date('`2026-11-22T06:00:00Z`, or Unix seconds'),
    extras: jsonObject('for Gotify clients, such as `{"client::display":{"contentType":"text/markdown"}}`'),
  },
  readAddress(parts, values) {
    const path = [...parts.segments];
    const last = values.token !== '' && path.at(-1) !== 'message' ? undefined : path.pop();
    // `message` is the end of the API's address, and no token.
    const token = required(values.token === '' && last !== 'message' ? last : values.token, 'the token');
    return { server: serverOf(parts), path: pathOf(path), token };
  },
  secrets: ({ address }) => [address.token],
  open({ address: { server, path, token }, values }) {
    const query = values.useheader ? '' : `?${String(formOf({ token }))}`;
    const url = `${values.disabletls ? 'http' : 'https'}://${server}${path}/message${query}`;
    const headers = values.useheader ? { 'x-gotify-key': token } : {};
    return {
      judge: expectJson,
      requests(message) {
        const marked = message.markdown === undefined ? {} : { 'client::display': { contentType: 'text/markdown' } };
        const extras = { ...marked, ...values.extras };
        const body = {
          message: rendersMarkdown(extras) ? writtenFor('gotify', message).text : plainFor('gotify', message),
          title: titleOf(message, values.title),
          priority: values.priority ?? priorityOf(message),
          date: orNone(values.date),
          extras: Object.keys(extras).length === 0 ? undefined : extras,
        };
        return [{ ...jsonPost(url, body, headers), skipsVerification: values.insecureskipverify }];
      },
    };
  },
});

/** Undefined: the application's own, which the server sets. A priority of 8 alarms, one below 4 makes no sound. */
function priorityOf({ urgency }: Pick<Message, 'urgency'>): number | undefined {
  return urgency === undefined ? undefined : { high: 8, low: 2 }[urgency];
}

function date(about: string): Parameter<string> {
  return define({ kind: 'date', about, fallback: '', print: (value) => value, read: isoDate });
}

/** Gotify accepts RFC 3339 only. */
function isoDate(written: string): string {
  if (written === '') return '';
  const isSeconds = /^\d{1,11}$/.test(written);
  const ms = isSeconds ? Number(written) * 1000 : Date.parse(written.replace(/^(\d{4}-\d\d-\d\d) /, '$1T'));
  if (Number.isNaN(ms)) throw new Error('is no date');
  return /T.*(?:Z|[+-]\d\d:\d\d)$/i.test(written) ? written : new Date(ms).toISOString();
}

/** Clients show plain text by default: https://gotify.net/docs/msgextras#clientdisplay */
function rendersMarkdown(extras: Readonly<Record<string, unknown>>): boolean {
  const display = extras['client::display'];
  return isJsonObject(display) && display['contentType'] === 'text/markdown';
}
