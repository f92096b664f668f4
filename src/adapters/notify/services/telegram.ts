import type { Message } from '../../../domain/notification/message.ts';
import { escapeHtml } from '../../../domain/notification/template/format.ts';
import { choice, defaultTitle, flag, list } from '../service/parameters.ts';
import { jsonPost, cutLine, piecesOf } from '../service/requests.ts';
import type { HttpAnswer } from '../service/exchange.ts';
import { expectField, answerText } from '../service/answer.ts';
import { requiredMatch } from '../service/url.ts';
import { defineService, type Part } from '../service/service.ts';
import { plainFor, wordsFor, titleOf } from '../service/markup.ts';

const parameters = {
  chats: list('numbers of chats, `@channel`, or `CHAT:TOPIC`', { aliases: ['channels'], isRequired: true }),
  preview: flag('previews of links', true),
  notification: flag('a sound', true),
  parsemode: choice('of your own template', ['None', 'Markdown', 'HTML', 'MarkdownV2'], 'None'),
  title: defaultTitle,
};

/** https://core.telegram.org/bots/api#sendmessage */
export const telegram = defineService({
  schemes: ['telegram'],
  title: 'Telegram',
  form: 'telegram://TOKEN@telegram?chats=CHAT[,CHAT…]',
  about: 'The token, which contains a colon, comes from @BotFather. The bot must be in the chat.',
  example: 'telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@my_channel,-1001234567890:7',
  parameters,
  readAddress({ user, password }) {
    return { token: requiredMatch(`${user}:${password}`, /^\d+:[\w-]+$/, 'the token (before the @)') };
  },
  secrets: ({ address: { token } }) => [token, token.replace(/^\d+:/, '')],
  open({ address, values, given }) {
    const url = `https://api.telegram.org/bot${address.token}/sendMessage`;
    return {
      judge: expectField('ok', true),
      requests: (message) =>
        values.chats.flatMap((to) => {
          const [, chat = to, topic] = /^(.+?):(\d+)$/.exec(to) ?? [];
          const isSilent = given.has('notification') ? !values.notification : message.urgency === 'low';
          return textsOf(message).map((each) => part({ to, chat, topic, isSilent }, each));
        }),
    };

    function part(receiver: Receiver, { body, mode }: Marked): Part {
      const { to, chat, topic, isSilent } = receiver;
      const request = jsonPost(url, {
        chat_id: chat,
        text: body,
        parse_mode: mode === 'None' ? undefined : mode,
        message_thread_id: topic === undefined ? undefined : Number(topic),
        disable_web_page_preview: !values.preview,
        disable_notification: isSilent,
      });
      if (mode === 'None') return { ...request, to };
      const plain = (answer: HttpAnswer): Part | undefined =>
        /can't parse entities/i.test(answerText(answer)) ? part(receiver, { body, mode: 'None' }) : undefined;
      return { ...request, to, otherwise: plain };
    }

    function textsOf(message: Message): readonly Marked[] {
      const mode = message.isFromTemplate === true ? values.parsemode : 'None';
      if (mode === 'Markdown' || mode === 'MarkdownV2') return inPieces(message.text, mode, '');
      const title = titleOf(message, values.title);
      if (mode === 'HTML') return inPieces(message.text, 'HTML', heading(title));
      if (title === '') return inPieces(plainFor('telegram', message), 'None', '');
      return inPieces(
        message.isFromTemplate === true ? escapeHtml(message.text) : wordsFor('telegram', message.text),
        'HTML',
        heading(title),
      );
    }
  },
});

type Receiver = {
  readonly to: string;
  readonly chat: string;
  readonly topic: string | undefined;
  readonly isSilent: boolean;
};

type Marked = { readonly body: string; readonly mode: 'None' | 'Markdown' | 'HTML' | 'MarkdownV2' };

/** https://core.telegram.org/bots/api#sendmessage: 4096 characters, which are UTF-16 units there. */
const maxUnits = 4096;

/** Telegram refuses markup that was cut; `otherwise` then sends the piece as plain text. */
function inPieces(text: string, mode: Marked['mode'], before: string): readonly Marked[] {
  const pieces = piecesOf(text === '' ? ' ' : text, { max: maxUnits - before.length, unit: 'units' });
  return pieces.map((piece, index) => ({ body: `${index === 0 ? before : ''}${whole(piece)}`, mode }));
}

/** Without line ends at its start and white space at its end. */
function whole(piece: string): string {
  return piece.replaceAll(/^\n+|\s+$/g, '');
}

function heading(title: string): string {
  return title === '' ? '' : `<b>${wordsFor('telegram', cutLine(title, titleLimit))}</b>\n`;
}

const titleLimit = { max: 256, unit: 'units' } as const;
