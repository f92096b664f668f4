import { flag, text } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { messagePieces } from '../../wire/split.ts';
import { required, pathOf, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';
import { titledText } from '../../service/texts.ts';

/** https://developers.mattermost.com/integrate/webhooks/incoming/ */
export const mattermost = defineService({
  schemes: ['mattermost'],
  title: 'Mattermost',
  form: 'mattermost://[USERNAME@]HOST[:PORT][/PATH/hooks]/TOKEN[/CHANNEL]',
  about: 'The token is the end of the address of an incoming webhook, `https://HOST/hooks/TOKEN`.',
  example: 'mattermost://upkeep@chat.example.com/abcdefghijklmnopqrstuvwxyz/town-square',
  parameters: {
    icon: text('an emoji, or the address of a picture', { aliases: ['icon_emoji', 'icon_url'] }),
    title: text('the first line'),
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
        return messagePieces(text, textLimit).map((piece) =>
          jsonPost(url, { text: piece, username: orNone(userName), channel: orNone(channel), ...icon }),
        );
      },
    };
  },
});

/** https://developers.mattermost.com/integrate/webhooks/incoming/#parameters: the server splits longer ones. */
const textLimit = { max: 16_383, unit: 'characters' } as const;
