import { button, byId, replaceContent } from './node.ts';

const plainMs = 4000;
const withActionMs = 8000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** A temporary line, for events outside of the rows. */
export function notice(text: string, action?: { readonly label: string; readonly run: () => void }): void {
  clearTimeout(timer);
  const node = byId('notice');
  replaceContent(node, text, action && button({ class: 'text-button' }, action.run, action.label));
  timer = setTimeout(() => replaceContent(node), action === undefined ? plainMs : withActionMs);
}

/** A text for screen readers only: begin and end of an update. */
export function announce(text: string): void {
  byId('announcer').textContent = text;
}
