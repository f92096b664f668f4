import { parseDuration } from '../../../domain/text/duration.ts';
import { choice, define, essential, flag, list, text, type Parameter } from '../service/parameters.ts';
import { InvalidUrlError, endpointOf, required } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { createAcceptedParts } from '../service/answer.ts';
import { titleOf, readMarked, type MarkedLine, type Span } from '../service/markup.ts';
import type { MailServer } from './send-mails.ts';
import type { Message } from '../../../domain/notification/message.ts';
import { escapeHtml } from '../../../domain/notification/template/format.ts';

const parameters = {
  fromaddress: address('sender', { aliases: ['from'], isRequired: true }),
  toaddresses: list('recipients', { aliases: ['to'], isRequired: true }),
  fromname: text('name of the sender'),
  subject: text('for messages without a title', { aliases: ['title'], fallback: 'Upkeep' }),
  auth: essential(choice('login method', ['Unknown', 'None', 'Plain', 'Login', 'CRAMMD5', 'OAuth2'], 'Unknown')),
  encryption: essential(
    choice('Auto is ImplicitTLS on port 465', ['Auto', 'None', 'ExplicitTLS', 'ImplicitTLS'], 'Auto'),
  ),
  usestarttls: flag('upgrade to TLS', true, ['starttls']),
  requirestarttls: essential(flag('send nothing without TLS', false)),
  skiptlsverify: flag('accept any certificate', false),
  usehtml: flag('also send the text as HTML', false),
  clienthost: text('name in EHLO; `auto` is the name of this machine', { fallback: 'localhost' }),
  timeout: duration('of the whole session', '10s'),
};

/** https://containrrr.dev/shoutrrr/v0.8/services/email/ */
export const smtp = defineService({
  schemes: ['smtp'],
  title: 'E-mail (SMTP)',
  form: 'smtp://[USER:PASSWORD@]HOST[:PORT]/?from=ADDRESS&to=ADDRESS[,ADDRESS…]',
  about:
    'Port 465 uses TLS from the start. Other ports upgrade to TLS if the server offers it. `auth=Unknown` is Plain with a user, else None. A login in plain text is never sent over an unencrypted connection, except to this machine.',
  example:
    'smtp://upkeep:app-Passw0rd-77@smtp.example.com:587/?from=upkeep@example.com&to=ops@example.com,me@example.com&fromname=Upkeep',
  parameters,
  readAddress(parts, { auth, toaddresses }) {
    const endpoint = endpointOf(parts, 25);
    for (const to of toaddresses) expectAddress(to, 'the key "toaddresses"');
    if (auth !== 'Unknown' && auth !== 'None') required(parts.user, `the user for auth=${auth}`);
    return { ...endpoint, user: parts.user, password: parts.password };
  },
  secrets: ({ address: { password } }) => [password],
  open({ address: { host, port, user, password }, values }, deps) {
    const usual = user === '' ? 'None' : 'Plain';
    const method = values.auth === 'Unknown' ? usual : values.auth;
    const isSecure = values.encryption === 'ImplicitTLS' || (values.encryption === 'Auto' && port === 465);
    const server: MailServer = {
      host,
      port,
      isSecure,
      usesStartTls: values.usestarttls && values.encryption !== 'None',
      requiresStartTls: values.requirestarttls && !isSecure,
      skipsVerification: values.skiptlsverify,
      clientName: values.clienthost === 'auto' ? deps.hostName : values.clienthost,
      timeoutMs: values.timeout,
      login: method === 'None' ? undefined : { method, user, password },
    };
    const to = values.toaddresses.map(withPlus);
    const progress = createAcceptedParts<string>();
    return {
      async deliver(message, _, signal) {
        const { sendMails } = await import('./send-mails.ts');
        const mail = {
          id: message.id,
          from: { name: values.fromname, address: values.fromaddress },
          subject: titleOf(message, values.subject),
          text: message.text,
          html: values.usehtml ? htmlOf(message) : undefined,
          priority: message.urgency,
          atMs: message.createdAtMs,
        };
        const job = { server, mail, to, accepted: progress.of(message.id), contextFor: deps.contextFor };
        const answer = await sendMails(job, signal);
        progress.forget(message.id);
        return answer;
      },
    };
  },
});

/** A `+` in the query means a space, but an address contains no space. */
function withPlus(written: string): string {
  return written.trim().replaceAll(' ', '+');
}

function expectAddress(written: string, key: string): void {
  const plain = withPlus(written);
  if (!/^[^\s@<>"\p{Cc}]{1,64}@[^\s@<>"\p{Cc}]{1,253}$/u.test(plain))
    throw new InvalidUrlError(key, 'has an invalid address');
}

function address(about: string, options: Parameters<typeof text>[1]): Parameter<string> {
  return {
    ...text(about, options),
    kind: 'address',
    read(written) {
      if (written !== '' && !/^[^\s@<>]+@[^\s@<>]+$/.test(withPlus(written))) throw new Error('is no address');
      return withPlus(written);
    },
  };
}

/** In milliseconds. */
function duration(about: string, fallback: string): Parameter<number> {
  const read = (written: string): number => {
    const ms = parseDuration(written, { bareUnit: 's' });
    if (ms === undefined || ms === 0) throw new Error('is no duration such as 10s');
    return ms;
  };
  return define({ kind: 'duration', about, fallback: read(fallback), read, print: (ms) => `${ms}ms` });
}

/**
 * The HTML beside the text of a mail: the outcome in bold, and a table with a row for each container. The HTML of a
 * user's own template stays as it is.
 */
function htmlOf({ text, markdown, isFromTemplate }: Pick<Message, 'text' | 'markdown' | 'isFromTemplate'>): string {
  if (isFromTemplate === true) return `<pre>${text}</pre>`;
  const body = markdown === undefined ? plainBody(text) : markedBody(readMarked(markdown));
  return `<!DOCTYPE html>\n<html><body style="font-family:sans-serif">\n${body}\n</body></html>`;
}

function plainBody(text: string): string {
  const [first = '', ...rest] = text.split('\n');
  const lines = [`<b>${withLinks(first)}</b>`, ...rest.map(withLinks)];
  return `<p>${lines.join('<br>\n')}</p>`;
}

/** The first line is the summary. The items of a list are the rows of a table. */
function markedBody(lines: readonly MarkedLine[]): string {
  const blocks: string[] = [];
  let rows: string[] = [];
  const endTable = (): void => {
    if (rows.length > 0)
      blocks.push(`<table cellpadding="6" style="border-collapse:collapse">\n${rows.join('\n')}\n</table>`);
    rows = [];
  };
  for (const [index, { kind, spans }] of lines.entries()) {
    if (kind === 'item') rows.push(rowOf(spans));
    else if (kind === 'nested') rows.push(rows.pop()?.replace(/<\/td><\/tr>$/, `<br>\n${cell(spans)}</td></tr>`) ?? '');
    else if (spans.length > 0) {
      endTable();
      blocks.push(`<p>${index === 0 ? `<b>${cell(spans)}</b>` : cell(spans)}</p>`);
    }
  }
  endTable();
  return blocks.join('\n');
}

/** The name of the container, and the rest. */
function rowOf(spans: readonly Span[]): string {
  const [name, ...rest] = spans;
  const border = 'style="border:1px solid #ccc;vertical-align:top"';
  if (name?.kind !== 'bold') return `<tr><td colspan="2" ${border}>${cell(spans)}</td></tr>`;
  return `<tr><td ${border}>${cell([name])}</td><td ${border}>${cell(rest).trimStart()}</td></tr>`;
}

function cell(spans: readonly Span[]): string {
  return spans.map(htmlOfSpan).join('');
}

function htmlOfSpan(span: Span): string {
  switch (span.kind) {
    case 'bold':
      return `<b>${escapeHtml(span.words)}</b>`;
    case 'link':
      return `<a href="${escapeHtml(span.address)}">${escapeHtml(span.words)}</a>`;
    case 'code':
      return `<code>${escapeHtml(span.words)}</code>`;
    case 'words':
      return escapeHtml(span.words);
  }
}

/** An address is a link to itself. */
function withLinks(line: string): string {
  return line
    .split(/(https?:\/\/[^\s"'<>()[\]]+)/)
    .map((part, index) =>
      index % 2 === 1 ? htmlOfSpan({ kind: 'link', words: part, address: part }) : escapeHtml(part),
    )
    .join('');
}
