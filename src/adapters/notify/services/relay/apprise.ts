import type { Message } from '../../../../domain/notification/message.ts';
import { flag, text } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { basicLogin } from '../../wire/headers.ts';
import { refusal } from '../../wire/check-answer.ts';
import { required, pathOf, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { plainFor, writtenFor } from '../../service/markup.ts';
import { titleOf } from '../../service/texts.ts';

/** https://github.com/caronc/apprise-api#api-details */
export const apprise = defineService({
  schemes: ['apprise', 'apprises'],
  title: 'Apprise API',
  form: 'apprise://[USER:PASSWORD@]HOST[:PORT][/PATH]/KEY, or apprises://…',
  about: 'The key names a configuration in the Apprise API, which forwards the message to its services.',
  example: 'apprise://apprise.example.com:8000/up-k33p-c0nfig?tag=ops&disabletls=yes',
  parameters: {
    tag: text('tags of the services to notify; a comma means or, a space means and', { aliases: ['tags'] }),
    title: text('for messages without a title'),
    disabletls: flag('plain http', false),
  },
  readAddress(parts) {
    const path = [...parts.segments];
    const key = required(path.pop(), 'the key of the configuration');
    return { server: serverOf(parts), path: pathOf(path), key, user: parts.user, password: parts.password };
  },
  secrets: ({ address }) => [address.key, address.password],
  open({ address: { server, path, key, user, password }, values }) {
    const url = `${values.disabletls ? 'http' : 'https'}://${server}${path}/notify/${encodeURIComponent(key)}`;
    const headers = user + password === '' ? {} : { authorization: basicLogin(user, password) };
    return {
      judge: (answer) => (answer.status === 204 ? refusal(answer, 'gone', 'no configuration has that key') : undefined),
      requests(message) {
        const isMarked = message.markdown !== undefined;
        const shown = writtenFor('apprise', message, values.title);
        const type = typeOf(message);
        const body = {
          title: orNone(isMarked ? shown.title : titleOf(message, values.title)),
          body: isMarked ? shown.text : plainFor('apprise', message),
          type,
          format: isMarked ? 'markdown' : 'text',
          tag: orNone(values.tag),
        };
        return [jsonPost(url, body, headers)];
      },
    };
  },
});

/** The outcome; `success` only after something was updated. */
function typeOf({ run, urgency, level }: Message): string {
  if (urgency === 'high') return 'failure';
  return run?.kind === 'success' ? 'success' : types[level];
}

const types = { debug: 'info', info: 'info', warn: 'warning', error: 'failure' } as const;
