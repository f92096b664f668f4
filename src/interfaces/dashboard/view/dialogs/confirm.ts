import { button, byId, type Child, replaceContent, h } from '../parts/node.ts';

export type Confirmation = {
  readonly title: string;
  readonly body: readonly Child[];
  /** Undefined: there is nothing to confirm. */
  readonly action?: { readonly label: string; readonly tone: 'primary' | 'danger'; readonly run: () => void };
  /** A second, weaker choice. */
  readonly other?: { readonly label: string; readonly run: () => void } | undefined;
};

/** The dialog before every change of a container. The focus is on its title, so Enter alone starts nothing. */
export function openConfirm(confirmation: Confirmation): void {
  const dialog = byId('confirm', HTMLDialogElement);
  paintConfirm(confirmation);
  if (!dialog.open) dialog.showModal();
  byId('confirm-title').focus();
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
  const hadFocus = document.activeElement === heading;
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

/** Whether the dialog with this title is still open. */
export function isConfirming(title: string): boolean {
  return byId('confirm', HTMLDialogElement).open && document.getElementById('confirm-title')?.textContent === title;
}
