import { button, byId, type Child, replaceContent, h } from '../parts/node.ts';

export type Confirmation = {
  readonly title: string;
  readonly body: readonly Child[];
  /** Undefined: there is nothing to confirm. */
  readonly action?: { readonly label: string; readonly tone: 'primary' | 'danger'; readonly run: () => void };
  /** A second, weaker choice. */
  readonly other?: { readonly label: string; readonly run: () => void } | undefined;
};

let question = new AbortController();

/**
 * The dialog before every change of a container. The focus is on its title, so Enter alone starts nothing. The signal
 * aborts once the dialog is closed or opened for another question.
 */
export function openConfirm(confirmation: Confirmation): AbortSignal {
  const dialog = byId('confirm', HTMLDialogElement);
  question.abort();
  const opened = new AbortController();
  question = opened;
  const { signal } = opened;
  // The event of an earlier closing may arrive after the dialog has opened again.
  dialog.addEventListener('close', () => !dialog.open && opened.abort(), { signal });
  paintConfirm(confirmation);
  if (!dialog.open) dialog.showModal();
  byId('confirm-title').focus();
  return signal;
}

/** Replaces the content of the open dialog. */
export function paintConfirm({ title, body, action, other }: Confirmation): void {
  const dialog = byId('confirm', HTMLDialogElement);
  const finish = (run: () => void): void => {
    dialog.close();
    run();
  };
  const known = document.getElementById('confirm-title');
  const heading = known ?? h('h2', { id: 'confirm-title', tabindex: '-1' });
  heading.textContent = title;
  const cancel = button(
    { class: 'button' },
    () => dialog.close(),
    (action ?? other) === undefined ? 'Close' : 'Cancel',
  );
  const main = h('div', { class: 'dialog-body' });
  const hadFocus = dialog.contains(document.activeElement);
  replaceContent(
    dialog,
    main,
    h(
      'div',
      { class: 'dialog-actions' },
      cancel,
      other && button({ class: 'button' }, () => finish(other.run), other.label),
      action && button({ class: `button ${action.tone}` }, () => finish(action.run), action.label),
    ),
  );
  replaceContent(main, heading, ...body);
  if (hadFocus) heading.focus();
}

export function intro(text: string): HTMLElement {
  return h('p', { class: 'intro' }, text);
}

export function isConfirmOpen(): boolean {
  return byId('confirm', HTMLDialogElement).open;
}
