import type { Message } from '../../../domain/notification/message.ts';
import { choice, defaultTitle, flag, list, text } from '../service/parameters.ts';
import { basicLogin, headerText, messagePieces } from '../service/requests.ts';
import { expectJson } from '../service/answer.ts';
import { required, serverOf } from '../service/url.ts';
import { defineService, type Part } from '../service/service.ts';
import { plainFor, writtenFor, titleOf } from '../service/markup.ts';

/** https://docs.ntfy.sh/publish/ */
export const ntfy = defineService({
  schemes: ['ntfy'],
  title: 'ntfy',
  form: 'ntfy://[USER:PASSWORD@]HOST[:PORT]/TOPIC',
  about: 'Give an access token as `token=tk_…`, or as the password, without a user: `ntfy://:tk_…@HOST/TOPIC`.',
  example: 'ntfy://:tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2@ntfy.example.com/upkeep?priority=high&tags=whale',
  parameters: {
    title: defaultTitle,
    token: text('access token, instead of a login', { isSecret: true }),
    priority: choice(
      'by default High for a failure, Low if nothing has changed',
      ['Min', 'Low', 'Default', 'High', 'Max'],
      undefined,
      {
        '1': 'Min',
        '2': 'Low',
        '3': 'Default',
        '4': 'High',
        '5': 'Max',
        urgent: 'Max',
      },
    ),
    tags: list('tags and emojis'),
    actions: list('buttons', { separator: ';' }),
    click: text('address that a click opens'),
    attach: text('address of an attachment'),
    filename: text('of the attachment'),
    delay: text('time or delay', { aliases: ['at', 'in'] }),
    email: text('also gets the message'),
    icon: text('address of a picture'),
    markdown: flag('the text is Markdown', false),
    cache: flag('the server keeps it', true),
    firebase: flag('also send through Firebase', true),
    scheme: choice('http or https', ['https', 'http'], 'https'),
    disabletls: flag('plain http', false),
    disabletlsverification: flag('accept any certificate', false),
  },
  readAddress: (parts) => ({
    server: serverOf(parts),
    topic: required(parts.segments.join('/'), 'the topic'),
    user: parts.user,
    password: parts.password,
  }),
  secrets: ({ address }) => [address.password],
  // On a server without logins the topic is the secret. Buttons may send a header with a token.
  hidden: ({ address, values }) => [address.topic, ...values.actions],
  open({ address: { server, topic, user, password }, values }) {
    const scheme = values.disabletls ? 'http' : values.scheme;
    const url = `${scheme}://${server}/${topic.split('/').map(encodeURIComponent).join('/')}`;
    const login = user + password === '' ? '' : basicLogin(user, password);
    const authorization = values.token === '' ? login : `Bearer ${values.token}`;
    return {
      judge: expectJson,
      requests(message) {
        const headers = given({
          'content-type': `text/${values.markdown ? 'markdown' : 'plain; charset=utf-8'}`,
          title: headerText(titleOf(message, values.title)),
          priority: priorityOf(values.priority, message),
          tags: headerText(values.tags.join(',')),
          delay: headerText(values.delay),
          actions: headerText(values.actions.join('; ')),
          click: headerText(values.click),
          attach: headerText(values.attach),
          'x-icon': headerText(values.icon),
          filename: headerText(values.filename),
          email: headerText(values.email),
          cache: values.cache ? '' : 'no',
          firebase: values.firebase ? '' : 'no',
          authorization,
        });
        const { text: words } = values.markdown ? writtenFor('ntfy', message) : { text: plainFor('ntfy', message) };
        return messagePieces(words, textLimit).map((body): Part => ({
          method: 'POST',
          url: new URL(url),
          headers,
          body,
          skipsVerification: values.disabletlsverification,
        }));
      },
    };
  },
});

function priorityOf(given: string | undefined, { urgency }: Pick<Message, 'urgency'>): string {
  return given === 'Default' ? '' : (given?.toLowerCase() ?? urgency ?? '');
}

/** For longer texts the server makes an attachment: https://docs.ntfy.sh/publish/#limitations */
const textLimit = { max: 4096, unit: 'bytes' } as const;

/** Only the headers with a value. */
function given(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
}
