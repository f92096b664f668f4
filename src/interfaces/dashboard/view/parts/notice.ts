import { button, byId, replaceContent } from './node.ts';

let timer: ReturnType<typeof setTimeout> | undefined;

/** A temporary line, for events outside of the rows. */
export function notice(text: string, action?: { readonly label: string; readonly run: () => void }): void {
  clearTimeout(timer);
  const node = byId('notice');
  replaceContent(node, text, action && button({ class: 'text-button' }, action.run, action.label));
  timer = setTimeout(() => replaceContent(node), noticeMs(text, action !== undefined));
}

/** The time in which everybody can read the text, and can press the button. */
export function noticeMs(text: string, hasAction: boolean): number {
  return Math.max(hasAction ? 8000 : 4000, Math.min(text.length * characterMs, mostMs));
}

const characterMs = 120;
const mostMs = 60_000;

/** A text for screen readers only: begin and end of an update. */
export function announce(text: string): void {
  byId('announcer').textContent = text;
}
