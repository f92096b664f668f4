import { colour, hexColour, text } from '../service/parameters.ts';
import { InvalidUrlError, required } from '../service/url.ts';
import { jsonPost, orNone, messagePieces } from '../service/requests.ts';
import { defineService } from '../service/service.ts';
import { writtenFor } from '../service/markup.ts';

/** https://notifiarr.wiki/pages/integrations/passthrough/ */
export const notifiarr = defineService({
  schemes: ['notifiarr'],
  variants: ['http', 'https'],
  title: 'Notifiarr',
  form: 'notifiarr://API_KEY',
  about: 'The key needs the Passthrough integration. `<@id>` in your own template pings a user, `<@&id>` a role.',
  example: 'notifiarr://7f3a9c2e-41d8-4b6f-9e05-c8d7a6b5f4e3?channel=735481457153277994&color=2488ff',
  parameters: {
    name: text('of the sender', { fallback: 'Upkeep' }),
    channel: text('id of a Discord channel'),
    color: colour('of the box'),
    thumbnail: text('address of a small picture'),
    image: text('address of a picture'),
  },
  otherKeys: 'ignored',
  readAddress({ host, variant, segments }, { channel }) {
    if (channel !== '' && !/^\d{1,20}$/.test(channel)) throw new InvalidUrlError('the key "channel"', 'is no number');
    return { key: required(variant === '' ? host : segments.at(-1), 'the API key') };
  },
  secrets: ({ address }) => [address.key],
  open({ address: { key }, values }) {
    const url = `https://notifiarr.com/api/v1/notification/passthrough/${encodeURIComponent(key)}`;
    const images = { thumbnail: orNone(values.thumbnail), image: orNone(values.image) };
    return {
      requests(message) {
        const { title, text: words } = writtenFor('notifiarr', message);
        return messagePieces(words, textLimit).map((description) =>
          withNumbers(
            jsonPost(url, {
              notification: { name: values.name },
              discord: {
                color: values.color === undefined ? undefined : hexColour(values.color),
                ids: values.channel === '' ? undefined : { channel: values.channel },
                images: images.thumbnail === undefined && images.image === undefined ? undefined : images,
                ping: message.isFromTemplate === true ? pingsIn(description) : undefined,
                text: { title: orNone(title), description },
              },
            }),
          ),
        );
      },
    };
  },
});

/** https://discord.com/developers/docs/resources/message#embed-object-embed-limits */
const textLimit = { max: 4096, unit: 'units' } as const;

/**
 * Discord ids are numbers here, with more digits than a JavaScript number holds. Texts cannot contain these keys,
 * because their quotes are escaped.
 */
function withNumbers(request: ReturnType<typeof jsonPost>): ReturnType<typeof jsonPost> {
  const body = (request.body ?? '').replaceAll(/("(?:channel|pingUser|pingRole)":)"(\d+)"/g, '$1$2');
  return { ...request, body };
}

function pingsIn(text: string): object | undefined {
  const user = /<@!?(\d{1,20})>/.exec(text)?.[1];
  const role = /<@&(\d{1,20})>/.exec(text)?.[1];
  return user === undefined && role === undefined ? undefined : { pingUser: user, pingRole: role };
}
