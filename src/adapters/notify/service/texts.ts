import type { Message } from '../../../domain/notification/message.ts';

/** The title of the message, else of the URL. */
export function titleOf(message: Message, ofUrl = ''): string {
  return message.title === '' ? ofUrl : message.title;
}

/** For services without a title of their own: the title is the first line. */
export function titledText({ title, text }: Pick<Message, 'title' | 'text'>): string {
  return title === '' ? text : `${title}\n${text}`;
}
