import type { Message, MessageLevel } from '../../../domain/notification/message.ts';
import { colour, defaultTitle, flag, text, type ValuesOf } from '../service/parameters.ts';
import { jsonPost, orNone, cutLine, cutText, messagePieces, piecesOf } from '../service/requests.ts';
import { refusal, fieldOf, jsonOf, type AnswerCheck } from '../service/answer.ts';
import { requiredMatch } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { wordsFor, writtenFor } from '../service/markup.ts';

const parameters = {
  title: defaultTitle,
  username: text('replaces the name of the webhook'),
  avatar: text('address of a picture', { aliases: ['avatarurl'] }),
  color: colour('of lines without a level', 0x50d9ff),
  colorerror: colour('of errors', 0xd60510),
  colorwarn: colour('of warnings', 0xffc441),
  colorinfo: colour('of info lines', 0x2488ff),
  colordebug: colour('of debug lines', 0x7b00ab),
  splitlines: flag('an embed for each line; without this key only in the style of Watchtower', true),
  json: flag('the text is the body of the request; the path `/raw` does the same', false),
  thread_id: text('a thread of the channel'),
};

type Values = ValuesOf<typeof parameters>;
type Embed = { readonly title?: string | undefined; readonly description: string; readonly color?: number | undefined };

/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
export const discord = defineService({
  schemes: ['discord'],
  title: 'Discord',
  form: 'discord://TOKEN@WEBHOOK_ID[?…]',
  about: 'The address of a webhook ends with `/WEBHOOK_ID/TOKEN`.',
  example: 'discord://tkn-A1b2C3d4E5f6_G7@123456789012345678?splitlines=no',
  parameters,
  readAddress: ({ user, host }) => ({
    id: requiredMatch(host, /^\d{1,24}$/, 'the webhook ID (after the @)'),
    token: requiredMatch(user, /^[\w-]+$/, 'the token (before the @)'),
  }),
  secrets: ({ address }) => [address.token],
  open({ address: { id, token }, values, given, parts }) {
    const thread = values.thread_id === '' ? '' : `?thread_id=${encodeURIComponent(values.thread_id)}`;
    const url = `https://discord.com/api/webhooks/${id}/${token}${thread}`;
    const common = { username: orNone(values.username), avatar_url: orNone(values.avatar) };
    const isRaw = values.json || parts.segments[0] === 'raw';
    return {
      judge: isGone,
      requests(message) {
        if (isRaw) return [{ ...jsonPost(url, {}), body: message.text }];
        const isGrouped = !values.splitlines || (message.markdown !== undefined && !given.has('splitlines'));
        const { title, text: shown } = writtenFor('discord', message, values.title);
        if (!isGrouped) return batches(lineEmbeds(message, values), title).map(post);
        const pieces = messagePieces(shown, contentLimit);
        const [only] = pieces;
        if (pieces.length === 1 && title === '' && message.markdown === undefined)
          return [jsonPost(url, { content: only, ...common, ...(message.isFromTemplate !== true && nobody) })];
        const color = message.markdown === undefined ? values.color : colourOf(message.level, values);
        return batches(
          pieces.map((description) => ({ description, color })),
          title,
        ).map(post);
      },
    };

    function post(embeds: readonly Embed[]): ReturnType<typeof jsonPost> {
      return jsonPost(url, { embeds, ...common });
    }
  },
});

/** Words in the text notify nobody; those in embeds never do: https://discord.com/developers/docs/resources/message#allowed-mentions-object */
const nobody = { allowed_mentions: { parse: [] } };

/** https://discord.com/developers/docs/resources/message#embed-object-embed-limits */
const contentLimit = { max: 2000, unit: 'units' } as const;
const descriptionLimit = { max: 4096, unit: 'units' } as const;
const titleLimit = { max: 256, unit: 'units' } as const;
const maxEmbeds = 10;
const maxInEmbeds = 6000;
/** More embeds than this help no reader. */
const maxLines = 100;

function lineEmbeds(message: Message, values: Values): readonly Embed[] {
  const known = message.lines.map(({ level, text: line }) => ({ line, color: colourOf(level, values) }));
  const unknown = message.text.split('\n').map((line) => ({ line, color: values.color }));
  const { isFromTemplate = false } = message;
  const lines = (known.length > 0 ? known : unknown)
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, color }) => ({ line: isFromTemplate ? line : wordsFor('discord', line), color }));
  const shown = lines.slice(0, lines.length > maxLines ? maxLines - 1 : maxLines);
  const embeds = shown.flatMap(({ line, color }) =>
    piecesOf(line, descriptionLimit).map((description) => ({ description, color })),
  );
  const missing = lines.length - shown.length;
  return missing === 0 ? embeds : [...embeds, { description: `… ${missing} more lines`, color: values.color }];
}

/** Fills each request with as many embeds as Discord accepts. The first embed of each request has the title. */
function batches(embeds: readonly Embed[], title: string): readonly (readonly Embed[])[] {
  const heading = title === '' ? {} : { title: cutLine(title, titleLimit) };
  const found: Embed[][] = [];
  let size = Infinity;
  for (const embed of embeds.length === 0 ? [{ description: cutText(title, contentLimit) }] : embeds) {
    const last = found.at(-1);
    if (last === undefined || last.length === maxEmbeds || size + embed.description.length > maxInEmbeds) {
      found.push([{ ...heading, ...embed }]);
      size = (heading.title?.length ?? 0) + embed.description.length;
    } else {
      last.push(embed);
      size += embed.description.length;
    }
  }
  return found;
}

function colourOf(level: MessageLevel, values: Values): number | undefined {
  const of = { error: values.colorerror, warn: values.colorwarn, info: values.colorinfo, debug: values.colordebug };
  return of[level];
}

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json: 10015 is an unknown webhook */
const isGone: AnswerCheck = (answer) => {
  const isUnknown = answer.status === 404 && fieldOf(jsonOf(answer), 'code') === 10_015;
  return isUnknown ? refusal(answer, 'gone') : undefined;
};
