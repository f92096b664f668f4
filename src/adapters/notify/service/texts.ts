import type { Message } from '../../../domain/notification/message.ts';

/** The title of the message, else of the URL. */
export function titleOf(message: Message, ofUrl = ''): string {
  return message.title === '' ? ofUrl : message.title;
}

/** For services without a title of their own: the title is the first line. */
export function titledText(message: Message, title = message.title, text = message.text): string {
  return title === '' ? text : `${title}\n${text}`;
}

/**
 * For services that notify everyone at certain words: an invisible space takes their effect away, except in a user's own
 * template.
 */
export function withoutMentions(message: Message): Message {
  if (message.isFromTemplate === true) return message;
  const quiet = (words: string) => words.replaceAll(everyone, '$&\u200b');
  const { text, markdown } = message;
  return { ...message, text: quiet(text), ...(markdown !== undefined && { markdown: quiet(markdown) }) };
}

/** `<users/all>` is of Google Chat, and the stars are of Zulip. */
const everyone = /<(?=users\/)|(?<!\w)@(?=\**(?:all|channel|everyone|here|stream|topic)\b)/gi;

/** The text for a service that renders CommonMark. */
export function markdownOrText(message: Message): string {
  return message.markdown ?? message.text;
}
