import type { MessageLevel } from './message.ts';

const order: readonly MessageLevel[] = ['debug', 'info', 'warn', 'error'];

export function isAtLeast(level: MessageLevel, least: MessageLevel): boolean {
  return order.indexOf(level) >= order.indexOf(least);
}

/** The most severe level; `info` for an empty list. */
export function gravestLevel(lines: readonly { readonly level: MessageLevel }[]): MessageLevel {
  const levels = lines.map(({ level }) => level);
  return order.findLast((level) => levels.includes(level)) ?? 'info';
}
