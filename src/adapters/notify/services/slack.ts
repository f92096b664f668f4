import { colour, defaultTitle, hexColour, text } from '../service/parameters.ts';
import { InvalidUrlError, required } from '../service/url.ts';
import { jsonPost, orNone, cutText } from '../service/requests.ts';
import { expectField, refusalByWords, type AnswerCheck } from '../service/answer.ts';
import { defineService } from '../service/service.ts';
import { writtenFor } from '../service/markup.ts';

/** https://api.slack.com/messaging/webhooks and https://api.slack.com/methods/chat.postMessage */
export const slack = defineService({
  schemes: ['slack'],
  title: 'Slack',
  form: 'slack://hook:A-B-C@webhook, slack://[BOTNAME@]A/B/C or slack://xoxb:1-2-C@CHANNEL',
  about:
    'A, B and C are the end of the address of a webhook. The bot token `xoxb-1-2-C` needs `chat:write`, and its bot must be in the channel.',
  example: 'slack://hook:T0123ABCD-B0123ABCD-abcdefghijklmnopqrstuvwx@webhook?botname=upkeep',
  parameters: {
    botname: text('name of the sender', { aliases: ['username'] }),
    icon: text('an emoji, or the address of a picture', { aliases: ['icon_emoji', 'icon_url'] }),
    color: colour('of the bar beside each line'),
    title: defaultTitle,
    thread_ts: text('timestamp of the message to answer'),
  },
  readAddress({ user, password, host, segments }) {
    const isPath = segments.length > 0;
    const written = isPath ? [host, ...segments].join('/') : `${user}:${password}`;
    const token = readSlackToken(written);
    if (token === undefined) throw new InvalidUrlError('the token', 'is not of the form that Slack gives out');
    const isHook = token.kind === 'hook';
    return { token, botName: isPath ? user : '', channel: isHook ? undefined : required(host, 'the channel') };
  },
  secrets: ({ address: { token } }) => [...token.parts, token.parts.join('-'), token.parts.join('/')],
  open({ address: { token, botName, channel }, values }) {
    const login = `${token.kind}-${token.parts.join('-')}`;
    const icon = /^https?:\/\//.test(values.icon) ? { icon_url: values.icon } : { icon_emoji: orNone(values.icon) };
    return {
      judge: channel === undefined ? saysOk : expectField('ok', true),
      requests(message) {
        const { title, text: words } = writtenFor('slack', message, values.title);
        const body = {
          text: title,
          username: orNone(values.botname === '' ? botName : values.botname),
          attachments: attachmentsOf(words).map((line) => ({
            text: line,
            color: values.color === undefined ? undefined : `#${hexColour(values.color)}`,
          })),
          thread_ts: orNone(values.thread_ts),
          channel,
          ...icon,
        };
        if (channel === undefined) return [jsonPost(`https://hooks.slack.com/services/${token.parts.join('/')}`, body)];
        return [jsonPost('https://slack.com/api/chat.postMessage', body, { authorization: `Bearer ${login}` })];
      },
    };
  },
});

/** https://api.slack.com/reference/messaging/attachments: at most 100, so the last one gets the rest. */
const maxAttachments = 100;
/** Slack cuts a message of more than 40 000 characters: https://api.slack.com/changelog/2018-04-truncating-really-long-messages */
const textLimit = { max: 38_000, unit: 'units' } as const;

function attachmentsOf(text: string): readonly string[] {
  const lines = cutText(text.replace(/\n$/, ''), textLimit).split('\n');
  if (lines.length <= maxAttachments) return lines;
  return [...lines.slice(0, maxAttachments - 1), lines.slice(maxAttachments - 1).join('\n')];
}

const saysOk: AnswerCheck = (answer) => {
  const words = answer.body.trim();
  if (answer.status !== 200 || words === '' || words === 'ok') return undefined;
  return refusalByWords(answer, words.slice(0, 200));
};

/** A Slack token in three parts, and its use: the address of a webhook or the login of a bot. */
type SlackToken = {
  readonly kind: 'hook' | 'xoxb' | 'xoxp' | `xox${string}`;
  readonly parts: readonly string[];
};

/** Reads `hook:A-B-C`, `xoxb:1-2-c` or `A/B/C`. Undefined for other texts. */
function readSlackToken(text: string): SlackToken | undefined {
  const [, kind = 'hook', a = '', separator = '', rest = ''] = tokenShape.exec(text) ?? [];
  const parts = [a, ...rest.split(separator === '' ? '-' : separator)];
  const [, b = '', c = ''] = parts;
  const isToken = parts.length === 3 && /^[A-Z0-9]{9,}$/.test(b) && /^[A-Za-z0-9]{24,}$/.test(c);
  return isToken ? { kind: kind.toLowerCase() as SlackToken['kind'], parts } : undefined;
}

const tokenShape = /^(?:(xox.|hook)[:-])?([A-Z0-9]{9,})([-/,])(.+)$/;
