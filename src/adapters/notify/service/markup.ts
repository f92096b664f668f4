import type { Message } from '../../../domain/notification/message.ts';
import { escapeHtml } from '../../../domain/notification/template/format.ts';

/**
 * A message in the markup of a service: its own marks as the service writes them, and every other word as itself. The
 * text of a user's own template and the title of a URL stay as they are.
 */
export function writtenFor(
  service: MarkupName,
  message: Pick<Message, 'title' | 'text' | 'markdown' | 'isFromTemplate'>,
  titleOfUrl = '',
): { readonly title: string; readonly text: string } {
  const { words, title: titleWords = words, own }: Markup = markups[service];
  const title = message.title === '' ? titleOfUrl : titleWords(message.title);
  if (message.isFromTemplate === true) return { title, text: message.text };
  if (own === undefined || message.markdown === undefined) return { title, text: words(message.text) };
  return {
    title,
    text: readMarked(message.markdown)
      .map((line) => lineOf(line, own, words))
      .join('\n'),
  };
}

/** The text of a message for a service that shows it as plain text, but may forward it to where it is not. */
export function plainFor(
  service: PlainName,
  { text, isFromTemplate }: Pick<Message, 'text' | 'isFromTemplate'>,
): string {
  return isFromTemplate === true ? text : markups[service].plain(text);
}

/** Words of strangers, such as an error of a registry, so that they mean themselves. */
export function wordsFor(service: MarkupName, text: string): string {
  return markups[service].words(text);
}

type Words = (text: string) => string;

/** How a service writes bold words, links, commands and lists. */
type Own = {
  readonly bold: Words;
  readonly link: (words: string, address: string) => string;
  readonly code: Words;
  /** In front of an item of a nested list. */
  readonly nested: string;
};

type Markup = {
  /** The page that describes the markup of the service. */
  readonly described: string;
  /** Returns words that the service shows as the given ones. */
  readonly words: Words;
  /** The same for a title that the service shows in another way; by default as the text. */
  readonly title?: Words;
  /** The same where the service is asked for plain text. */
  readonly plain?: Words;
  /** Undefined: it shows plain text, so it gets plain text. */
  readonly own?: Own;
};

/** An invisible space, which ends what would be read as one mark. */
const space = '\u200b';

const same: Words = (text) => text;

/** An address of the web stays as it is, or it would lead elsewhere. It has no marks of its own. */
function outsideAddresses(change: Words): Words {
  return (text) =>
    text
      .split(/(https?:\/\/[\w.-]+(?::\d+)?(?:\/(?:@(?!all|channel|everyone|here|\W)|[\w.%/?#=&;:+,-])*)?)/i)
      .map((part, index) => (index % 2 === 1 ? part : change(part)))
      .join('');
}

function inOrder(...all: readonly Words[]): Words {
  return (text) => {
    let words = text;
    for (const change of all) words = change(words);
    return words;
  };
}

/** The characters with a backslash before them. A `_` between two letters or digits is no mark, so most names stay as they are. */
function backslashed(characters: RegExp): Words {
  return (text) => text.replaceAll(characters, String.raw`\$&`);
}

/** The characters as numeric entities of HTML. */
function asEntities(characters: RegExp): Words {
  return (text) => text.replaceAll(characters, (character) => `&#${character.codePointAt(0)};`);
}

/** Words with another address behind them, tags of HTML, and Slack's `<address|words>`, also behind a backslash. */
const withoutLinks: Words = (text) => text.replaceAll(/\](?=[([:])|<(?=[a-z!?/#@])/gi, `$&${space}`);

/**
 * `@name`, `@everyone`, `<@name>`, `<!channel>`; an address of mail or the digest of an image is no mention. Of several
 * services, the text notifies people whom it names.
 */
const withoutMentions: Words = (text) => text.replaceAll(/(?<![a-z\d])@(?=\S)|<(?=[!@]|users\/|at\s)/gi, `$&${space}`);

/** `&commat;` is an `@` for whoever decodes it. */
const withoutEntities: Words = (text) => text.replaceAll(/&(?=#?\w+;)/g, `$&${space}`);

/** Marks that count only at the begin of a line: a quote, a heading. */
const withoutLineMarks: Words = (text) => text.replaceAll(/^(?=[ \t]*(?:>|&gt;|#|-#))/gm, space);

/**
 * For services without a way to escape: letters that look the same. Between two letters or digits they are no marks, so
 * names stay as they are.
 */
const withLookalikes: Words = (text) =>
  text.replaceAll(/(?<![a-z\d])[*_~`]+|[*_~`]+(?![a-z\d])|\|(?=\|)|(?<=\|)\||`/gi, (marks) =>
    Array.from(marks, (mark) => lookalikes[mark] ?? mark).join(''),
  );

const lookalikes: Readonly<Record<string, string>> = { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ', '|': 'ǀ' };

const commonMark: Own = {
  bold: (words) => `**${words}**`,
  link: (words, address) => `[${words}](${address})`,
  code: (words) => `\`${words}\``,
  nested: '  - ',
};

/** https://spec.commonmark.org/0.31.2/#backslash-escapes */
const inCommonMark = inOrder(
  outsideAddresses(backslashed(/[\\`*{}[\]<>#+!|~&]|^[-=]|(?<![a-z\d])_|_(?![a-z\d])/gim)),
  withoutLinks,
);

/** https://support.discord.com/hc/articles/210298617, where a backslash precedes any mark. */
const inDiscord = inOrder(
  outsideAddresses(inOrder(backslashed(/[\\`*~|[\]<>#]|(?<![a-z\d])_|_(?![a-z\d])/gi), withoutMentions)),
  withoutLinks,
);

/** https://core.telegram.org/bots/api#html-style; a name with an `@` notifies a person. */
const inTelegram = inOrder(outsideAddresses(withoutMentions), escapeHtml);

/** Neither has an escape: names stay readable, marks become letters that look alike. */
const inSimpleMarkup = inOrder(
  outsideAddresses(inOrder(withoutMentions, withLookalikes)),
  withoutLinks,
  withoutLineMarks,
);

/** How each service reads its texts, and what stops it. A service is named by its first scheme. */
export const markups = {
  discord: { described: 'https://support.discord.com/hc/articles/210298617', words: inDiscord, own: commonMark },
  telegram: {
    described: 'https://core.telegram.org/bots/api#html-style',
    words: inTelegram,
    plain: outsideAddresses(withoutMentions),
  },
  // Mails are made from the parts of the message: the text is plain, and the HTML is escaped there.
  smtp: { described: 'https://www.rfc-editor.org/rfc/rfc2046#section-4.1.3', words: same },
  gotify: {
    described: 'https://gotify.net/docs/msgextras#clientdisplay',
    words: inCommonMark,
    title: same,
    plain: withoutLinks,
    own: commonMark,
  },
  ntfy: {
    described: 'https://docs.ntfy.sh/publish/#markdown-formatting',
    words: inCommonMark,
    title: same,
    plain: withoutLinks,
    own: commonMark,
  },
  slack: {
    described: 'https://docs.slack.dev/messaging/formatting-message-text#escaping',
    words: inOrder(
      (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
      outsideAddresses(withLookalikes),
      withoutLineMarks,
    ),
  },
  pushover: { described: 'https://pushover.net/api#html', words: same },
  generic: { described: 'https://containrrr.dev/shoutrrr/v0.8/services/generic/', words: same },
  // Text runs know no markup, unlike text blocks.
  teams: { described: 'https://adaptivecards.io/explorer/TextRun.html', words: withoutLinks },
  matrix: { described: 'https://spec.matrix.org/latest/client-server-api/#mtext', words: same },
  mattermost: {
    described: 'https://docs.mattermost.com/collaborate/format-messages.html',
    // Its server looks for mentions in the decoded text, also in an address that its parser takes for none:
    // server/public/shared/markdown in https://github.com/mattermost/mattermost.
    words: inOrder(
      withoutEntities,
      outsideAddresses(inOrder(backslashed(/[\\`*{}[\]#+!>|~]|(?<![a-z\d])_|_(?![a-z\d])/gi), withoutMentions)),
      withoutLinks,
    ),
    own: commonMark,
  },
  signal: { described: 'https://github.com/bbernhard/signal-cli-rest-api/blob/master/doc/EXAMPLES.md', words: same },
  googlechat: { described: 'https://developers.google.com/workspace/chat/format-messages', words: inSimpleMarkup },
  rocketchat: {
    described: 'https://github.com/RocketChat/Rocket.Chat/blob/develop/packages/message-parser/src/grammar.pegjs',
    words: inSimpleMarkup,
    own: commonMark,
  },
  mqtt: { described: 'https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html', words: same },
  logger: { described: 'https://containrrr.dev/shoutrrr/v0.8/services/logger/', words: same },
  bark: { described: 'https://bark.day.app/#/en-us/tutorial', words: same },
  ifttt: { described: 'https://help.ifttt.com/hc/articles/115010230347', words: withoutLinks },
  join: { described: 'https://joaoapps.com/join/api/', words: same },
  lark: {
    described: 'https://open.larksuite.com/document/client-docs/bot-v3/add-custom-bot',
    words: inSimpleMarkup,
    title: same,
  },
  notifiarr: { described: 'https://notifiarr.wiki/pages/integrations/passthrough/', words: inDiscord, own: commonMark },
  opsgenie: { described: 'https://docs.opsgenie.com/docs/alert-api#create-alert', words: withoutLinks },
  pagerduty: { described: 'https://developer.pagerduty.com/docs/events-api-v2/trigger-events/', words: same },
  pushbullet: { described: 'https://docs.pushbullet.com/#create-push', words: same },
  twilio: { described: 'https://www.twilio.com/docs/messaging/api/message-resource', words: same },
  wecom: {
    described: 'https://developer.work.weixin.qq.com/document/path/91770',
    words: inOrder(outsideAddresses(withoutMentions), withoutLinks),
  },
  zulip: {
    // Its Markdown has no backslash, but entities: zerver/lib/markdown/__init__.py in https://github.com/zulip/zulip.
    described: 'https://zulip.com/help/format-your-message-using-markdown',
    words: outsideAddresses(asEntities(/[&`*~[\]<>@$|]|^(?:[-+#]|\d+(?=\.))/gm)),
    title: same,
    own: commonMark,
  },
  healthchecks: { described: 'https://healthchecks.io/docs/attaching_logs/', words: same },
  kuma: { described: 'https://github.com/louislam/uptime-kuma/wiki/API-Documentation#push-endpoint', words: same },
  webhook: { described: 'https://github.com/standard-webhooks/standard-webhooks', words: same },
  apprise: {
    // Python-Markdown knows no backslash before < and &, and indents a nested list by four spaces.
    described: 'https://python-markdown.github.io/#differences',
    words: inOrder(
      outsideAddresses(
        inOrder(
          (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
          backslashed(/[\\`*{}[\]>+!]|#(?!\d+;)|^[-=]|(?<![a-z\d])_|_(?![a-z\d])/gim),
        ),
      ),
      withoutLinks,
    ),
    title: withoutLinks,
    plain: inOrder(outsideAddresses(withoutMentions), withoutLinks),
    own: { ...commonMark, nested: '    - ' },
  },
} as const satisfies Readonly<Record<string, Markup>>;

export type MarkupName = keyof typeof markups;

type PlainName = { [Name in MarkupName]: (typeof markups)[Name] extends { plain: Words } ? Name : never }[MarkupName];

function lineOf({ kind, spans }: MarkedLine, own: Own, words: Words): string {
  const begin = { item: '- ', nested: own.nested, line: '' }[kind];
  return begin + spans.map((span) => spanOf(span, own, words)).join('');
}

function spanOf(span: Span, own: Own, words: Words): string {
  switch (span.kind) {
    case 'bold':
      return own.bold(words(span.words));
    case 'link':
      return own.link(words(span.words), span.address);
    case 'code':
      return own.code(span.words);
    case 'words':
      return words(span.words);
  }
}

/** A part of a line. Its words are plain. */
export type Span =
  | { readonly kind: 'words' | 'bold' | 'code'; readonly words: string }
  | { readonly kind: 'link'; readonly words: string; readonly address: string };

export type MarkedLine = { readonly kind: 'line' | 'item' | 'nested'; readonly spans: readonly Span[] };

/**
 * Reads the CommonMark of a message, which Upkeep has written: lines and nested lists with bold words, links and
 * commands, and backslashes before all other marks.
 */
export function readMarked(markdown: string): readonly MarkedLine[] {
  return markdown.split('\n').map((line) => {
    const [begin = ''] = /^(?: {2})?- /.exec(line) ?? [];
    const kind = begin === '' ? 'line' : begin === '- ' ? 'item' : 'nested';
    return { kind, spans: spansOf(line.slice(begin.length)) };
  });
}

function spansOf(line: string): readonly Span[] {
  const spans: Span[] = [];
  let words = '';
  const end = (): void => {
    if (words !== '') spans.push({ kind: 'words', words });
    words = '';
  };
  for (const [found, escaped, bold, label, address, code] of line.matchAll(marks)) {
    const span = markedSpanOf({ bold, label, address, code });
    if (span === undefined) words += escaped ?? found;
    else {
      end();
      spans.push(span);
    }
  }
  end();
  return spans;
}

/** An escaped mark, bold words, a link, a command, or any other character. */
const marks =
  /\\([!-/:-@[-`{-~])|\*\*((?:\\.|[^\\*])+)\*\*|\[((?:\\.|[^\\\]])+)\]\((https?:\/\/[^\s()<>]+)\)|`([^`]+)`|[^]/gu;

type Found = Readonly<Record<'bold' | 'label' | 'address' | 'code', string | undefined>>;

function markedSpanOf({ bold, label, address, code }: Found): Span | undefined {
  if (bold !== undefined) return { kind: 'bold', words: unescaped(bold) };
  if (label !== undefined && address !== undefined) return { kind: 'link', words: unescaped(label), address };
  return code === undefined ? undefined : { kind: 'code', words: code };
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1');
}

/** The title of the message, else of the URL. */
export function titleOf(message: Message, ofUrl = ''): string {
  return message.title === '' ? ofUrl : message.title;
}

/** For services without a title of their own: the title is the first line. */
export function titledText({ title, text }: Pick<Message, 'title' | 'text'>): string {
  return title === '' ? text : `${title}\n${text}`;
}
