import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { defaultTitle, integer, list, text } from '../service/parameters.ts';
import { InvalidUrlError, requiredMatch } from '../service/url.ts';
import { formPost, orNone, cutLine, messagePieces } from '../service/requests.ts';
import { expectField } from '../service/answer.ts';
import { defineService } from '../service/service.ts';
import { titleOf } from '../service/markup.ts';

/** https://pushover.net/api */
export const pushover = defineService({
  schemes: ['pushover'],
  title: 'Pushover',
  form: 'pushover://shoutrrr:APP_TOKEN@USER_KEY',
  about: 'The token belongs to an application, the key to a user or a group. Priority 2 uses `retry` and `expire`.',
  example:
    'pushover://shoutrrr:azGDORePK8gMaC0QOYAMyEEuzJnyUi@uQiRzpo4DXghDmr9QzzfQu27cmVRsG/?devices=phone&priority=1',
  parameters: {
    devices: list('names of devices; all by default'),
    priority: integer('by default 1 for a failure, -1 if nothing has changed', { min: -2, max: 2 }),
    title: defaultTitle,
    encryptionkey: text('64 hex digits, for end-to-end encryption', { aliases: ['key'], isSecret: true }),
    retry: integer('seconds between two alarms of priority 2', { fallback: 60, min: 30, max: 10_800 }),
    expire: integer('seconds until an alarm of priority 2 ends', { fallback: 3600, min: 30, max: 10_800 }),
  },
  readAddress({ password, host }, values) {
    if (values.encryptionkey !== '' && !/^[0-9a-f]{64}$/i.test(values.encryptionkey))
      throw new InvalidUrlError('the key "encryptionkey"', 'is not 64 hex digits');
    return {
      token: requiredMatch(password, /^\w{8,64}$/, "the application's token (before the @)"),
      user: requiredMatch(host, /^\w{8,64}$/, "the user's key (after the @)"),
    };
  },
  secrets: ({ address }) => [address.token, address.user],
  open({ address: { token, user }, values }) {
    const key = values.encryptionkey === '' ? undefined : Buffer.from(values.encryptionkey, 'hex');
    const seal = (plain: string): string => (key === undefined ? plain : encrypted(plain, key));
    const isAlarm = values.priority === 2;
    return {
      judge: expectField('status', 1),
      requests(message) {
        const title = cutLine(titleOf(message, values.title), titleLimit);
        return messagePieces(message.text, textLimit).map((piece) =>
          formPost('https://api.pushover.net/1/messages.json', {
            token,
            user,
            // An empty message is refused.
            message: seal(piece === '' ? ' ' : piece),
            device: orNone(values.devices.join(',')),
            title: title === '' ? undefined : seal(title),
            priority: priorityOf(values.priority ?? { high: 1, low: -1, usual: 0 }[message.urgency ?? 'usual']),
            retry: isAlarm ? String(values.retry) : undefined,
            expire: isAlarm ? String(values.expire) : undefined,
            encrypted: key === undefined ? undefined : '1',
          }),
        );
      },
    };
  },
});

/** Undefined: 0, which is the default. */
function priorityOf(priority: number): string | undefined {
  return priority === 0 ? undefined : String(priority);
}

/** https://pushover.net/api#limits */
const textLimit = { max: 1024, unit: 'characters' } as const;
const titleLimit = { max: 250, unit: 'characters' } as const;

/** IV, AES-256-CBC over the zipped text, and an HMAC over both, in base64: https://pushover.net/api/encryption */
function encrypted(plain: string, key: Buffer): string {
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', key, iv);
  const sealed = Buffer.concat([iv, cipher.update(gzipSync(plain)), cipher.final()]);
  return Buffer.concat([sealed, createHmac('sha256', key).update(sealed).digest()]).toString('base64');
}
