import { choice, flag, list, text } from '../../url/parameters.ts';
import { UrlProblem } from '../../url/problem.ts';
import { formPost } from '../../wire/bodies.ts';
import { basicLogin } from '../../wire/headers.ts';
import { cutLine, messagePieces } from '../../wire/split.ts';
import { matching, needed, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { richText, titledText, titleOf } from '../../service/texts.ts';

const parameters = {
  stream: text('channel that gets the message'),
  topic: text('of the message; the title unless given'),
  title: text('of the message'),
  type: choice('to a channel or to people', ['channel', 'direct'], 'channel', { stream: 'channel', private: 'direct' }),
  to: list('mails or numbers of people, for type=direct'),
  read_by_sender: flag('it counts as read by the bot', false),
};

/** https://zulip.com/api/send-message */
export const zulip = defineService({
  schemes: ['zulip'],
  title: 'Zulip',
  form: 'zulip://BOT_MAIL:KEY@HOST[:PORT]?stream=CHANNEL',
  about: 'Mail and key are those of a bot; the `@` of the mail is written `%40`.',
  example:
    'zulip://upkeep-bot%40zulip.example.com:Kq7WmZ3xR9tYbN2cVhJg5PdSa@zulip.example.com?stream=ops&topic=updates',
  parameters,
  otherKeys: 'ignored',
  readAddress(parts, { type, stream, to }) {
    if (type === 'channel' && stream === '') throw new UrlProblem('the key "stream"', 'is missing');
    if (type === 'direct' && to.length === 0) throw new UrlProblem('the key "to"', 'is missing');
    return {
      server: serverOf(parts),
      mail: matching(parts.user, /@/, 'the mail of the bot'),
      key: needed(parts.password, 'the key of the bot'),
    };
  },
  secrets: ({ address }) => [address.key],
  open({ address: { server, mail, key }, values, given }) {
    const isDirect = values.type === 'direct';
    return {
      requests(message) {
        const title = titleOf(message, values.title);
        const usesTitle = !isDirect && values.topic === '';
        const topic = cutLine(usesTitle ? title : values.topic, topicLimit);
        const content = usesTitle ? richText(message) : titledText(message, title, richText(message));
        return messagePieces(content, textLimit).map((piece) =>
          formPost(
            `https://${server}/api/v1/messages`,
            {
              type: values.type,
              to: isDirect ? JSON.stringify(values.to.map(personOf)) : values.stream,
              topic: isDirect ? undefined : topic,
              content: piece,
              read_by_sender: given.has('read_by_sender') ? String(values.read_by_sender) : undefined,
            },
            { authorization: basicLogin(mail, key) },
          ),
        );
      },
    };
  },
});

/** The usual `max_message_length` and `max_topic_length`: https://zulip.com/api/register-queue */
const textLimit = { max: 10_000, unit: 'bytes' } as const;
const topicLimit = { max: 60, unit: 'characters' } as const;

function personOf(written: string): string | number {
  return /^\d{1,15}$/.test(written) ? Number(written) : written;
}
