import { text } from '../../url/parameters.ts';
import { jsonPost } from '../../wire/bodies.ts';
import { messagePieces } from '../../wire/split.ts';
import { required, pathOf, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';

/** https://developers.google.com/workspace/chat/quickstart/webhooks */
export const googlechat = defineService({
  schemes: ['googlechat', 'hangouts'],
  title: 'Google Chat',
  form: 'googlechat://chat.googleapis.com/v1/spaces/SPACE/messages?key=KEY&token=TOKEN',
  about: 'The address of a webhook with another scheme. The address also works unchanged.',
  example: 'googlechat://chat.googleapis.com/v1/spaces/AAAAbbbbCCC/messages?key=AIzaSyExample0123&token=tok_Example456',
  parameters: {
    key: text('of the webhook', { isRequired: true, isSecret: true }),
    token: text('of the webhook', { isRequired: true, isSecret: true }),
    title: text('the first line, in bold'),
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
        return messagePieces(shown, textLimit).map((piece) =>
          jsonPost(`https://${server}${path}?${login}`, { text: piece }),
        );
      },
    };
  },
});

/** https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages: larger ones are refused. */
const textLimit = { max: 4096, unit: 'bytes' } as const;
