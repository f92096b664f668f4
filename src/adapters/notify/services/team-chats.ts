import { defaultTitle, flag, list, text } from '../service/parameters.ts';
import { jsonPost, messagePieces, orNone } from '../service/requests.ts';
import { required, pathOf, serverOf, InvalidUrlError, requiredMatch } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { writtenFor, titledText } from '../service/markup.ts';
import { createHmac } from 'node:crypto';
import { expectField } from '../service/answer.ts';

/** https://developers.google.com/workspace/chat/quickstart/webhooks */
export const googlechat = defineService({
  schemes: ['googlechat', 'hangouts'],
  title: 'Google Chat',
  form: 'googlechat://chat.googleapis.com/v1/spaces/SPACE/messages?key=KEY&token=TOKEN',
  about: 'In the address of a webhook, write `googlechat` instead of `https`.',
  example: 'googlechat://chat.googleapis.com/v1/spaces/AAAAbbbbCCC/messages?key=AIzaSyExample0123&token=tok_Example456',
  parameters: {
    key: text('of the webhook', { isRequired: true, isSecret: true }),
    token: text('of the webhook', { isRequired: true, isSecret: true }),
    title: defaultTitle,
  },
  otherKeys: 'ignored',
  readAddress: (parts) => ({ server: serverOf(parts), path: required(pathOf(parts.segments), 'the path') }),
  secrets: () => [],
  open({ address: { server, path }, values }) {
    const login = new URLSearchParams({ key: values.key, token: values.token }).toString();
    return {
      requests(message) {
        const { title, text: words } = writtenFor('googlechat', message, values.title);
        const shown = title === '' ? words : `*${title}*\n${words}`;
        return messagePieces(shown, googlechatTextLimit).map((piece) =>
          jsonPost(`https://${server}${path}?${login}`, { text: piece }),
        );
      },
    };
  },
});

/** https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages: larger ones are refused. */
const googlechatTextLimit = { max: 4096, unit: 'bytes' } as const;

/** https://open.larksuite.com/document/client-docs/bot-v3/add-custom-bot */
export const lark = defineService({
  schemes: ['lark'],
  title: 'Lark and Feishu',
  form: 'lark://open.larksuite.com/TOKEN or lark://open.feishu.cn/TOKEN',
  about: 'The token is the end of the address of a custom bot. The secret comes from its signature verification.',
  example: 'lark://open.larksuite.com/3f8a1c5e-9b7d-4e2f-a6c0-d1b2e3f4a5c6?secret=sGn-q7Xw2ErT9yUi',
  parameters: {
    secret: text('of the signature', { isSecret: true }),
    title: defaultTitle,
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
        return messagePieces(words, larkTextLimit).map((piece) =>
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
const larkTextLimit = { max: 4096, unit: 'bytes' } as const;

function post(title: string, text: string, link: string): object {
  const anchor = link === '' ? [] : [{ tag: 'a', text: link, href: link }];
  return { msg_type: 'post', content: { post: { en_us: { title, content: [[{ tag: 'text', text }, ...anchor]] } } } };
}

/** The text to sign is the key, and the signed content is empty. */
function sign(secret: string, timestamp: number): object {
  const sign = createHmac('sha256', `${timestamp}\n${secret}`).update('').digest('base64');
  return { timestamp: String(timestamp), sign };
}

/** https://developers.mattermost.com/integrate/webhooks/incoming/ */
export const mattermost = defineService({
  schemes: ['mattermost'],
  title: 'Mattermost',
  form: 'mattermost://[USERNAME@]HOST[:PORT][/PATH/hooks]/TOKEN[/CHANNEL]',
  about: 'The token is the end of the address of an incoming webhook, `https://HOST/hooks/TOKEN`.',
  example: 'mattermost://upkeep@chat.example.com/abcdefghijklmnopqrstuvwxyz/town-square',
  parameters: {
    icon: text('an emoji, or the address of a picture', { aliases: ['icon_emoji', 'icon_url'] }),
    title: defaultTitle,
    disabletls: flag('plain http', false),
  },
  readAddress(parts) {
    const hooks = parts.segments.lastIndexOf('hooks');
    const [token, channel = ''] = parts.segments.slice(hooks + 1);
    const base = pathOf(parts.segments.slice(0, Math.max(0, hooks)));
    return { server: serverOf(parts), base, token: required(token, 'the token'), channel, userName: parts.user };
  },
  secrets: ({ address }) => [address.token],
  open({ address: { server, base, token, channel, userName }, values }) {
    const url = `${values.disabletls ? 'http' : 'https'}://${server}${base}/hooks/${encodeURIComponent(token)}`;
    const icon = /^https?:\/\//.test(values.icon) ? { icon_url: values.icon } : { icon_emoji: orNone(values.icon) };
    return {
      requests(message) {
        const text = titledText(writtenFor('mattermost', message, values.title));
        return messagePieces(text, mattermostTextLimit).map((piece) =>
          jsonPost(url, { text: piece, username: orNone(userName), channel: orNone(channel), ...icon }),
        );
      },
    };
  },
});

/** https://developers.mattermost.com/integrate/webhooks/incoming/#parameters: the server splits longer ones. */
const mattermostTextLimit = { max: 16_383, unit: 'characters' } as const;

/** https://docs.rocket.chat/docs/integrations */
export const rocketchat = defineService({
  schemes: ['rocketchat'],
  title: 'Rocket.Chat',
  form: 'rocketchat://[USERNAME@]HOST[:PORT]/TOKEN_A/TOKEN_B[/CHANNEL|/@USER]',
  about: 'The tokens are the end of the address of an incoming integration, `https://HOST/hooks/TOKEN_A/TOKEN_B`.',
  example: 'rocketchat://upkeep@chat.example.com/5d3f1a2b4c6e7f8091a2b3c4/Xy12Zw34Uv56Ts78Rq90Po12/ops',
  parameters: {},
  otherKeys: 'ignored',
  readAddress(parts) {
    const [a, b, ...rest] = parts.segments;
    // A `#` before the channel turns it into the fragment of the URL.
    const channel = rest[0] ?? parts.fragment;
    const tokens = [required(a, 'the first token'), required(b, 'the second token')];
    return { server: serverOf(parts), tokens, channel, userName: parts.user };
  },
  secrets: ({ address }) => address.tokens,
  open({ address: { server, tokens, channel, userName } }) {
    const url = `https://${server}/hooks/${tokens.map(encodeURIComponent).join('/')}`;
    const to = channel === '' || /^[@#]/.test(channel) ? channel : `#${channel}`;
    return {
      requests(message) {
        const text = titledText(writtenFor('rocketchat', message));
        return messagePieces(text, rocketchatTextLimit).map((piece) =>
          jsonPost(url, { text: piece, username: orNone(userName), channel: orNone(to) }),
        );
      },
    };
  },
});

/** The usual `Message_MaxAllowedSize`: https://docs.rocket.chat/docs/message */
const rocketchatTextLimit = { max: 5000, unit: 'units' } as const;

/** https://developer.work.weixin.qq.com/document/path/91770 */
export const wecom = defineService({
  schemes: ['wecom'],
  title: 'WeCom',
  form: 'wecom://KEY',
  about: 'The key is the `key=` in the address of a group robot.',
  example: 'wecom://693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa?mentioned_list=jo,@all',
  parameters: { mentioned_list: list('names of users'), mentioned_mobile_list: list('numbers of users') },
  readAddress: ({ host }) => ({ key: requiredMatch(host, /^[\w-]+$/, 'the key') }),
  secrets: ({ address }) => [address.key],
  open: ({ address: { key }, values }) => ({
    judge: expectField('errcode', 0),
    requests: (message) =>
      messagePieces(titledText(writtenFor('wecom', message)), wecomTextLimit).map((content) =>
        jsonPost(`https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=${encodeURIComponent(key)}`, {
          msgtype: 'text',
          text: {
            content,
            mentioned_list: orNone(values.mentioned_list),
            mentioned_mobile_list: orNone(values.mentioned_mobile_list),
          },
        }),
      ),
  }),
});

const wecomTextLimit = { max: 2048, unit: 'bytes' } as const;
