import { choice, defaultTitle, essential, flag, list, text } from '../service/parameters.ts';
import { InvalidUrlError, requiredMatch, required, serverOf } from '../service/url.ts';
import { formPost, basicLogin, cutLine, messagePieces, type TextLimit } from '../service/requests.ts';
import type { HttpAnswer, HttpRequest } from '../service/exchange.ts';
import { expectAccepted, fieldOf, jsonOf } from '../service/answer.ts';
import { defineService } from '../service/service.ts';
import { wordsFor, writtenFor, titledText } from '../service/markup.ts';

const parameters = {
  stream: text('channel that gets the message'),
  topic: text('of the message; by default the beginning of the title'),
  title: defaultTitle,
  type: essential(
    choice('to a channel or to people', ['channel', 'direct'], 'channel', { stream: 'channel', private: 'direct' }),
  ),
  to: list('e-mail addresses or ids, for type=direct'),
  read_by_sender: flag('the bot has read it', false),
};

/** https://zulip.com/api/send-message */
export const zulip = defineService({
  schemes: ['zulip'],
  title: 'Zulip',
  form: 'zulip://BOT_MAIL:KEY@HOST[:PORT]?stream=CHANNEL',
  about: 'Use the e-mail address and the API key of a bot. Write the `@` of the address as `%40`.',
  example:
    'zulip://upkeep-bot%40zulip.example.com:Kq7WmZ3xR9tYbN2cVhJg5PdSa@zulip.example.com?stream=ops&topic=updates',
  parameters,
  otherKeys: 'ignored',
  readAddress(parts, { type, stream, to }) {
    if (type === 'channel' && stream === '') throw new InvalidUrlError('the key "stream"', 'is missing');
    if (type === 'direct' && to.length === 0) throw new InvalidUrlError('the key "to"', 'is missing');
    return {
      server: serverOf(parts),
      mail: requiredMatch(parts.user, /@/, 'the mail of the bot'),
      key: required(parts.password, 'the key of the bot'),
    };
  },
  secrets: ({ address }) => [address.key],
  open({ address: { server, mail, key }, values, given }) {
    const isDirect = values.type === 'direct';
    const login = { authorization: basicLogin(mail, key) };
    let limits: Limits | undefined;
    return {
      async requests(message, exchange, signal) {
        limits ??= limitsIn(await exchange(limitsQuestion(server, login), signal));
        const { title, text: words } = writtenFor('zulip', message, values.title);
        // Each outcome would begin a topic of its own.
        const usual = message.origin === undefined || message.origin === '' ? title : message.origin;
        const topic = cutLine(values.topic === '' ? usual : values.topic, limits.topic);
        // A topic is plain text, a first line is not.
        const isTold = !isDirect && values.topic === '' && usual === title;
        const content = isTold ? words : titledText({ title: wordsFor('zulip', title), text: words });
        return messagePieces(content, limits.text).map((piece) =>
          formPost(
            `https://${server}/api/v1/messages`,
            {
              type: values.type,
              to: isDirect ? JSON.stringify(values.to.map(personOf)) : values.stream,
              topic: isDirect ? undefined : topic,
              content: piece,
              read_by_sender: given.has('read_by_sender') ? String(values.read_by_sender) : undefined,
            },
            login,
          ),
        );
      },
    };
  },
});

type Limits = { readonly text: TextLimit; readonly topic: TextLimit };

/** Asked with the first message: https://zulip.com/api/register-queue */
function limitsQuestion(server: string, login: Readonly<Record<string, string>>): HttpRequest {
  // One kind of event keeps the answer small. The queue itself is not read and ends after ten minutes.
  const events = { event_types: '["realm"]', fetch_event_types: '["realm"]' };
  return formPost(`https://${server}/api/v1/register`, events, login);
}

/** The default limits also apply if the server does not report them. */
function limitsIn(answer: HttpAnswer): Limits {
  const { status } = answer;
  if (status === 401 || status === 429 || status >= 500) expectAccepted(answer);
  const settings = jsonOf(answer);
  return {
    text: limitOf(fieldOf(settings, 'max_message_length'), { max: 10_000, unit: 'bytes' }),
    topic: limitOf(fieldOf(settings, 'max_topic_length'), { max: 60, unit: 'characters' }),
  };
}

function limitOf(max: unknown, usual: TextLimit): TextLimit {
  const isLimit = typeof max === 'number' && Number.isInteger(max) && max >= 20 && max <= 1_000_000;
  return isLimit ? { max, unit: 'characters' } : usual;
}

function personOf(written: string): string | number {
  return /^\d{1,15}$/.test(written) ? Number(written) : written;
}
