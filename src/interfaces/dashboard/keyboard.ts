import { isReady } from './state/telling/versions.ts';
import type { WatchedContainer } from './state/documents/container.ts';
import { canUpdate, isLive, type PageContext } from './view/context.ts';
import { closeDrawer } from './view/drawer/drawer.ts';
import { byId } from './view/parts/node.ts';
import type { Table } from './view/table/table.ts';

/** The keyboard shortcuts of the page; `?` lists them. */
export function startKeyboard(context: PageContext, table: Table): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !byId('signin').hidden) return;
    if (document.querySelector('dialog[open]') !== null) return;
    if (event.key === 'Escape') return escape();
    const { target } = event;
    if (target instanceof HTMLElement && isTyping(target)) return inField(event, target);
    if (context.address().page !== 'containers' && event.key !== '?') return;
    const run = keys[event.key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  });

  const keys: Readonly<Record<string, () => void>> = {
    '/': () => byId('search').focus(),
    '?': () => byId('help', HTMLDialogElement).showModal(),
    j: () => move(1),
    k: () => move(-1),
    x: () => current() !== '' && context.act.pick(current()),
    c: () => current() !== '' && context.isOn('check') && isLive(context) && context.act.check([current()]),
    g: () => context.go({ group: context.address().group === 'status' ? 'project' : 'status' }),
    u: update,
  };

  function move(by: number): void {
    const rows = table.visibleRows();
    const { open } = context.address();
    const currentRow = document.activeElement?.closest('.row') ?? (open === '' ? undefined : table.rowOf(open));
    const at = rows.findIndex((row) => row === currentRow);
    const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next === undefined) return;
    next.querySelector<HTMLElement>('.c-name a')?.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
    if (open !== '') context.go({ open: next.dataset['name'] ?? '' });
  }

  function update(): void {
    const names = context.picked.size > 0 ? [...context.picked] : [current()];
    const [only = ''] = names;
    if (names.length === 1 && context.isOn('decisions') && isLive(context) && waits(context.fleet.named(only)))
      return context.act.approve(only);
    const ready = names.filter((name) => isReady(context.fleet.named(name)));
    if (ready.length > 0 && context.isOn('update') && canUpdate(context)) context.act.update(ready);
  }

  /** Closes the drawer, then clears the search, then the selection. */
  function escape(): void {
    const search = byId('search', HTMLInputElement);
    if (document.activeElement === search) {
      search.value = '';
      search.blur();
      context.go({ q: '' });
    } else if (context.address().open !== '') closeDrawer(context);
    else if (context.address().q !== '') {
      search.value = '';
      context.go({ q: '' });
    } else context.act.clearPicked();
  }

  function inField(event: KeyboardEvent, field: HTMLElement): void {
    if (field.id !== 'search' || (event.key !== 'ArrowDown' && event.key !== 'Enter')) return;
    event.preventDefault();
    field.blur();
    move(0);
  }

  function current(): string {
    return document.activeElement?.closest<HTMLElement>('.row')?.dataset['name'] ?? context.address().open;
  }
}

function waits(one: WatchedContainer | undefined): boolean {
  return one?.verdict === 'held' && one.hold === 'approval';
}

function isTyping(target: HTMLElement): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox';
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}
