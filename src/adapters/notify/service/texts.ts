import type { Message } from '../../../domain/notification/message.ts';

/** The title of the message, else of the URL. */
export function titleOf(message: Message, ofUrl = ''): string {
  return message.title === '' ? ofUrl : message.title;
}

/** For services without a title of their own: the title is the first line. */
export function titledText(message: Message, title = message.title, text = message.text): string {
  return title === '' ? text : `${title}\n${text}`;
}

/** For services that notify people named in the text: an invisible space prevents it, except in a user's own template. */
export function withoutMentions(message: Message): Message {
  if (message.isFromTemplate === true) return message;
  const quiet = (words: string) => words.replaceAll(mentions, (found, address?: string) => address ?? `${found}\u200b`);
  const { text, markdown } = message;
  return { ...message, text: quiet(text), ...(markdown !== undefined && { markdown: quiet(markdown) }) };
}

/**
 * `@name`, `<!channel>` and `<@name>` (Mattermost, as Slack), `<users/all>` (Google Chat), `<at user_id="all">` (Lark). The
 * group is an address of the web, which stays as it is, because a link would break.
 */
const mentions =
  /(https?:\/\/[\w.-]+(?::\d+)?\/(?:@(?!all|channel|everyone|here|\W)|[\w.~%/?#=&;:+,-])*)|(?<![a-z\d])@(?=\S)|<(?=[!@]|users\/|at\s)/gi;

/**
 * The text for a service that renders CommonMark. Some of these do not know its backslashes, so that a foreign link would
 * be one again.
 */
export function markdownOrText(message: Message): string {
  return message.markdown?.replaceAll(escapedLinks, '$&\u200b') ?? textWithoutLinks(message);
}

/**
 * The text for a service that renders some markup: words with another address behind them, and tags of HTML, stay as
 * they were written, because of an invisible space, except in a user's own template.
 */
export function textWithoutLinks({ text, isFromTemplate }: Pick<Message, 'text' | 'isFromTemplate'>): string {
  return isFromTemplate === true ? text : text.replaceAll(links, '$&\u200b');
}

/** `[words](address)`, `[words]: address`, `[words][name]`; `<address|words>` and `<b>`. */
const links = /\](?=[([:])|<(?=[a-z!?/])/gi;
const escapedLinks = /\\\](?=[([:])|\\<(?=[a-z!?/])/gi;
