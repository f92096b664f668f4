import { choice, defaultTitle, flag, list, text } from '../service/parameters.ts';
import { InvalidUrlError, requiredMatch, serverOf } from '../service/url.ts';
import { jsonPost, basicLogin, messagePieces } from '../service/requests.ts';
import { defineService, type Part } from '../service/service.ts';
import { titledText, titleOf } from '../service/markup.ts';

/** https://github.com/bbernhard/signal-cli-rest-api */
export const signal = defineService({
  schemes: ['signal'],
  title: 'Signal (signal-cli-rest-api)',
  form: 'signal://[USER:PASSWORD@]HOST[:PORT]/SOURCE/RECIPIENT[/RECIPIENT…]',
  about:
    'Source and recipients are numbers such as `+4915112345678`. A recipient may also be a group, `group.…`. Most servers use plain HTTP: `disabletls=yes`.',
  example: 'signal://signal.example.com:8080/+4915112345678/+4915187654321?disabletls=yes',
  parameters: {
    token: text('sent as a bearer token', { aliases: ['apikey'], isSecret: true }),
    user: text('replaces the user before the @'),
    password: text('replaces the password before the @', { isSecret: true }),
    source: text('replaces the source in the path'),
    recipients: list('replaces the recipients in the path', { aliases: ['to'] }),
    title: defaultTitle,
    disabletls: flag('plain http', false),
    skiptlsverify: flag('accept any certificate', false),
    textmode: choice('of your own template', ['normal', 'styled'], undefined, {}, ['text_mode']),
  },
  readAddress(parts, values) {
    const [first = '', ...others] = parts.segments;
    const source = requiredMatch(values.source === '' ? first : values.source, numberShape, 'the source');
    const inPath = rejoined(values.source === '' ? others : parts.segments);
    const recipients = values.recipients.length > 0 ? values.recipients : inPath;
    if (recipients.length === 0) throw new InvalidUrlError('the recipients', 'are missing');
    for (const recipient of recipients) requiredMatch(recipient, recipientShape, 'a recipient');
    const login = { user: values.user || parts.user, password: values.password || parts.password };
    return { server: serverOf(parts, '8080'), source, recipients, login };
  },
  secrets: ({ address: { login } }) => [login.password],
  open({ address: { server, source, recipients, login }, values }) {
    const url = `${values.disabletls ? 'http' : 'https'}://${server}/v2/send`;
    const authorization = values.token === '' ? basicLogin(login.user, login.password) : `Bearer ${values.token}`;
    const headers = values.token + login.user === '' ? {} : { authorization };
    return {
      requests(message) {
        const titled = titledText({ ...message, title: titleOf(message, values.title) });
        // Without a mode, the default of the server may be `styled`, in which stars and others are marks.
        const text_mode = message.isFromTemplate === true ? values.textmode : 'normal';
        return ofOneKind(recipients).flatMap((some) =>
          messagePieces(titled, textLimit).map((piece): Part => ({
            ...jsonPost(url, { message: piece, number: source, recipients: some, text_mode }, headers),
            to: some.join(' '),
            skipsVerification: values.skiptlsverify,
          })),
        );
      },
    };
  },
});

/** The server refuses a message to recipients of different kinds, and to two groups. */
function ofOneKind(recipients: readonly string[]): readonly (readonly string[])[] {
  const groups = recipients.filter((one) => one.startsWith('group.'));
  const names = recipients.filter((one) => one.startsWith('u:'));
  const numbers = recipients.filter((one) => !groups.includes(one) && !names.includes(one));
  return [numbers, names, ...groups.map((one) => [one])].filter(({ length }) => length > 0);
}

/** Longer ones are sent as an attachment. */
const textLimit = { max: 2000, unit: 'units' } as const;

const numberShape = /^\+?\d{3,20}$/;
const recipientShape = /^(?:\+?\d{3,20}|group\.[A-Za-z0-9+/=_-]+|[0-9a-f-]{36}|u:[\w.]+)$/;

/** The base64 of a group id may contain slashes. */
function rejoined(segments: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (const segment of segments) {
    const isRest = found.at(-1)?.startsWith('group.') === true && !/^(?:\+|group\.|u:)/.test(segment);
    if (isRest) found.push(`${found.pop() ?? ''}/${segment}`);
    else found.push(segment);
  }
  return found;
}
