import type { Message } from '../../../domain/notification/message.ts';
import { defaultTitle, flag, list, text } from '../service/parameters.ts';
import { jsonPost, orNone, basicLogin, formOf, cutText, cutLine } from '../service/requests.ts';
import { refusal, expectField, type AnswerCheck } from '../service/answer.ts';
import { required, pathOf, serverOf, InvalidUrlError } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { plainFor, writtenFor, titleOf } from '../service/markup.ts';
import { createHmac } from 'node:crypto';
import type { HttpAnswer } from '../service/exchange.ts';

/** https://github.com/caronc/apprise-api#api-details */
export const apprise = defineService({
  schemes: ['apprise', 'apprises'],
  title: 'Apprise API',
  form: 'apprise://[USER:PASSWORD@]HOST[:PORT][/PATH]/KEY, or apprises://…',
  about:
    'Both forms use HTTPS; for plain HTTP, add disabletls=yes. The key names a configuration in the Apprise API, which forwards the message to its services.',
  example: 'apprise://apprise.example.com:8000/up-k33p-c0nfig?tag=ops&disabletls=yes',
  parameters: {
    tag: text('tags of the services; a comma means "or", a space "and"', { aliases: ['tags'] }),
    title: defaultTitle,
    disabletls: flag('plain http', false),
  },
  readAddress(parts) {
    const path = [...parts.segments];
    const key = required(path.pop(), 'the key of the configuration');
    return { server: serverOf(parts), path: pathOf(path), key, user: parts.user, password: parts.password };
  },
  secrets: ({ address }) => [address.key, address.password],
  open({ address: { server, path, key, user, password }, values }) {
    const url = `${values.disabletls ? 'http' : 'https'}://${server}${path}/notify/${encodeURIComponent(key)}`;
    const headers = user + password === '' ? {} : { authorization: basicLogin(user, password) };
    return {
      judge: (answer) => (answer.status === 204 ? refusal(answer, 'gone', 'no configuration has that key') : undefined),
      requests(message) {
        const isMarked = message.markdown !== undefined;
        const shown = writtenFor('apprise', message, values.title);
        const type = typeOf(message);
        const body = {
          title: orNone(isMarked ? shown.title : titleOf(message, values.title)),
          body: isMarked ? shown.text : plainFor('apprise', message),
          type,
          format: isMarked ? 'markdown' : 'text',
          tag: orNone(values.tag),
        };
        return [jsonPost(url, body, headers)];
      },
    };
  },
});

/** The outcome; `success` only after something was updated. */
function typeOf({ run, urgency, level }: Message): string {
  if (urgency === 'high') return 'failure';
  return run?.kind === 'success' ? 'success' : types[level];
}

const types = { debug: 'info', info: 'info', warn: 'warning', error: 'failure' } as const;

/**
 * Signed according to Standard Webhooks,
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, and like GitHub's
 * webhooks, which most receivers know: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
 */
export const webhook = defineService({
  schemes: ['webhook'],
  variants: ['http', 'https'],
  title: 'Signed webhook',
  form: 'webhook+https://HOST[:PORT]/PATH?secret=SECRET',
  about:
    'The body is a [signed JSON object](#the-body-of-a-signed-webhook). A secret is any text of at least 16 bytes, or `whsec_` and at least 16 bytes in base64. To replace a secret, give the new and the old one, separated by a comma.',
  example: 'webhook+https://hooks.example.com/upkeep?secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  parameters: { secret: list('one or two secrets', { isRequired: true }), title: defaultTitle },
  otherKeys: 'forwarded',
  readAddress(parts, { secret }) {
    const keys = secret.map(keyOf);
    const scheme = parts.variant === 'http' ? 'http' : 'https';
    return { url: `${scheme}://${serverOf(parts)}${parts.path}`, keys };
  },
  secrets: ({ values, parts, others }) => [
    ...values.secret,
    ...others.map(([, value]) => value),
    ...parts.segments.filter((segment) => segment.length >= 8),
  ],
  hidden: ({ parts }) => parts.segments,
  open({ address: { url, keys }, values, others }, { nowMs, hostName, version }) {
    const query = String(formOf(Object.fromEntries(others)));
    return {
      judge: (answer) => (answer.status === 410 ? refusal(answer, 'gone') : undefined),
      requests(message) {
        const body = JSON.stringify({
          id: message.id,
          type: message.event?.type ?? 'message',
          time: new Date(message.createdAtMs).toISOString(),
          host: hostName,
          version,
          level: message.level,
          title: titleOf(message, values.title),
          text: message.text,
          data: message.event?.data,
        });
        const timestamp = String(Math.floor(nowMs() / 1000));
        const signatures = keys.map((key) => `v1,${hmac(key, `${message.id}.${timestamp}.${body}`, 'base64')}`);
        const [key = Buffer.alloc(0)] = keys;
        const headers = {
          'content-type': 'application/json',
          'webhook-id': message.id,
          'webhook-timestamp': timestamp,
          'webhook-signature': signatures.join(' '),
          'x-hub-signature-256': `sha256=${hmac(key, body, 'hex')}`,
        };
        return [{ method: 'POST', url: new URL(query === '' ? url : `${url}?${query}`), headers, body }];
      },
    };
  },
});

function keyOf(secret: string): Buffer {
  const [, encoded] = /^whsec_([A-Za-z0-9+/=_-]+)$/.exec(secret) ?? [];
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64');
  if (key.length < shortestKey)
    throw new InvalidUrlError('the key "secret"', `contains a secret of less than ${shortestKey} bytes`);
  return key;
}

/** 128 bits, which cannot be guessed. */
const shortestKey = 16;

function hmac(key: Buffer, text: string, encoding: 'base64' | 'hex'): string {
  return createHmac('sha256', key).update(text).digest(encoding);
}

/** https://healthchecks.io/docs/http_api/ */
export const healthchecks = defineService({
  schemes: ['healthchecks'],
  variants: ['http', 'https'],
  title: 'healthchecks.io',
  form: 'healthchecks+https://hc-ping.com/UUID',
  about:
    'Write `healthchecks+` before the ping address of a check, also of one on your own server: `/UUID` or `/PING_KEY/SLUG`. A run sends a ping at its start, and one with the summary at its end. Other messages go to the log of the check.',
  example: 'healthchecks+https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278',
  parameters: {},
  wantsRunStart: true,
  readAddress(parts) {
    if (parts.segments.length === 0) throw new InvalidUrlError('the path', 'is missing');
    const scheme = parts.variant === 'http' ? 'http' : 'https';
    return { base: `${scheme}://${serverOf(parts)}${parts.path.replace(/\/+$/, '')}` };
  },
  secrets: ({ parts }) => parts.segments.filter((segment) => segment.length >= 8),
  hidden: ({ parts }) => parts.segments,
  open: ({ address: { base } }) => ({
    judge: saysOk,
    requests(message) {
      const { run } = message;
      const ending = run === undefined ? '/log' : endings[run.kind];
      const query = run === undefined ? '' : `?rid=${encodeURIComponent(run.id)}`;
      const url = new URL(`${base}${ending}${query}`);
      const body = run?.kind === 'start' ? '' : cutText(message.text, bodyLimit);
      return [{ method: 'POST', url, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }];
    },
  }),
});

const endings = { start: '/start', success: '', failure: '/fail' } as const;

/** The service keeps the first 100 kB. */
const bodyLimit = { max: 100_000, unit: 'bytes' } as const;

/** An answer with 200 and a text other than `OK` is an error: https://healthchecks.io/docs/http_api/#success-uuid */
const saysOk: AnswerCheck = (answer: HttpAnswer) => {
  if (answer.status !== 200) return answer.status === 409 ? refusal(answer, 'rejected') : undefined;
  const words = answer.body.trim();
  if (/^ok$/i.test(words) || words === '') return 'accepted';
  return /not found/i.test(words)
    ? refusal(answer, 'gone')
    : refusal(answer, /rate/i.test(words) ? 'rate' : 'rejected');
};

/** https://github.com/louislam/uptime-kuma/wiki/API-Documentation#push-endpoint */
export const kuma = defineService({
  schemes: ['kuma'],
  variants: ['http', 'https'],
  title: 'Uptime Kuma',
  form: 'kuma+https://HOST[:PORT][/PATH]/api/push/TOKEN',
  about:
    'Write `kuma+` before the push address of a monitor. Its query is ignored. A successful run is `up`, a failed run `down`. Another message is `down` if it is an error, else `up`.',
  example: 'kuma+https://kuma.example.com/api/push/Gx7QkWm2Rt?status=up&msg=OK&ping=',
  parameters: {},
  otherKeys: 'ignored',
  readAddress(parts) {
    const path = [...parts.segments];
    const token = required(path.pop(), 'the push token');
    const scheme = parts.variant === 'http' ? 'http' : 'https';
    return { base: `${scheme}://${serverOf(parts)}${pathOf(path)}`, token };
  },
  secrets: ({ address }) => [address.token],
  open: ({ address: { base, token } }) => ({
    judge: expectField('ok', true),
    requests(message) {
      const isDown = message.run === undefined ? message.level === 'error' : message.run.kind === 'failure';
      const query = formOf({
        status: isDown ? 'down' : 'up',
        msg: cutLine(message.text, textLimit),
        ping: message.run?.durationMs === undefined ? undefined : String(Math.round(message.run.durationMs)),
      });
      return [{ method: 'GET', url: new URL(`${base}/${encodeURIComponent(token)}?${String(query)}`), headers: {} }];
    },
  }),
});

/** Its column holds more, but the address must stay short. */
const textLimit = { max: 250, unit: 'characters' } as const;
