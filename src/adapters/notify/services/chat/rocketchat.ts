import { jsonPost, orNone } from '../../wire/bodies.ts';
import { messagePieces } from '../../wire/split.ts';
import { required, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';
import { titledText } from '../../service/texts.ts';

/** https://docs.rocket.chat/docs/integrations */
export const rocketchat = defineService({
  schemes: ['rocketchat'],
  title: 'Rocket.Chat',
  form: 'rocketchat://[USERNAME@]HOST[:PORT]/TOKEN_A/TOKEN_B[/CHANNEL or /@USER]',
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
        return messagePieces(text, textLimit).map((piece) =>
          jsonPost(url, { text: piece, username: orNone(userName), channel: orNone(to) }),
        );
      },
    };
  },
});

/** The usual `Message_MaxAllowedSize`: https://docs.rocket.chat/docs/message */
const textLimit = { max: 5000, unit: 'units' } as const;
