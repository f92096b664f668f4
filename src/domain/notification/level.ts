import { type MessageLevel, messageLevels } from './message.ts';

export function isAtLeast(level: MessageLevel, least: MessageLevel): boolean {
  return messageLevels.indexOf(level) >= messageLevels.indexOf(least);
}

/** The most severe level; `info` for an empty list. */
export function gravestLevel(lines: readonly { readonly level: MessageLevel }[]): MessageLevel {
  const levels = lines.map(({ level }) => level);
  return messageLevels.findLast((level) => levels.includes(level)) ?? 'info';
}
