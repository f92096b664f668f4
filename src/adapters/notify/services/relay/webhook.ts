import { createHmac } from 'node:crypto';
import { list, text } from '../../url/parameters.ts';
import { InvalidUrlError } from '../../url/invalid-url-error.ts';
import { formOf } from '../../wire/bodies.ts';
import { refusal } from '../../wire/check-answer.ts';
import { serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { titleOf } from '../../service/texts.ts';

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
    'The body is a JSON object. Its id stays the same in repeats. The header `webhook-signature` proves its origin. A secret is any text, or `whsec_` and base64. To replace a secret, give the new and the old one, separated by a comma.',
  example: 'webhook+https://hooks.example.com/upkeep?secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  parameters: { secret: list('one or two secrets', { isRequired: true }), title: text('for messages without a title') },
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
