import { createHmac } from 'node:crypto';
import { text } from '../../url/parameters.ts';
import { InvalidUrlError } from '../../url/invalid-url-error.ts';
import { jsonPost } from '../../wire/bodies.ts';
import { expectField } from '../../wire/check-answer.ts';
import { messagePieces } from '../../wire/split.ts';
import { required } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';

/** https://open.larksuite.com/document/client-docs/bot-v3/add-custom-bot */
export const lark = defineService({
  schemes: ['lark'],
  title: 'Lark and Feishu',
  form: 'lark://open.larksuite.com/TOKEN or lark://open.feishu.cn/TOKEN',
  about: 'The token is the end of the address of a custom bot. The secret comes from its signature verification.',
  example: 'lark://open.larksuite.com/3f8a1c5e-9b7d-4e2f-a6c0-d1b2e3f4a5c6?secret=sGn-q7Xw2ErT9yUi',
  parameters: {
    secret: text('of the signature', { isSecret: true }),
    title: text('of the message'),
    link: text('address below the text'),
  },
  readAddress({ host, segments }) {
    if (host !== 'open.larksuite.com' && host !== 'open.feishu.cn')
      throw new InvalidUrlError('the host', 'is neither open.larksuite.com nor open.feishu.cn');
    return { host, token: required(segments.at(-1), 'the token') };
  },
  secrets: ({ address }) => [address.token],
  open({ address: { host, token }, values }, { nowMs }) {
    const url = `https://${host}/open-apis/bot/v2/hook/${encodeURIComponent(token)}`;
    return {
      judge: expectField('code', 0),
      requests(message) {
        const { title, text: words } = writtenFor('lark', message, values.title);
        const signature = values.secret === '' ? {} : sign(values.secret, Math.floor(nowMs() / 1000));
        return messagePieces(words, textLimit).map((piece) =>
          jsonPost(url, {
            ...signature,
            ...(title === '' ? { msg_type: 'text', content: { text: piece } } : post(title, piece, values.link)),
          }),
        );
      },
    };
  },
});

/** A request may have 20 kB, but Shoutrrr limits messages to 4096 bytes. */
const textLimit = { max: 4096, unit: 'bytes' } as const;

function post(title: string, text: string, link: string): object {
  const anchor = link === '' ? [] : [{ tag: 'a', text: link, href: link }];
  return { msg_type: 'post', content: { post: { en_us: { title, content: [[{ tag: 'text', text }, ...anchor]] } } } };
}

/** The text to sign is the key, and the signed content is empty. */
function sign(secret: string, timestamp: number): object {
  const sign = createHmac('sha256', `${timestamp}\n${secret}`).update('').digest('base64');
  return { timestamp: String(timestamp), sign };
}
