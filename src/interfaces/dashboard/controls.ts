import type { Address } from './state/address.ts';
import { isConfirmOpen } from './view/dialogs.ts';
import { canUpdate, isLive, type PageContext } from './view/context.ts';
import { paintDrawer, closeDrawer } from './view/drawer.ts';
import { byId, h, repaint } from './view/parts/node.ts';
import { startThemeButton } from './view/parts/theme.ts';
import { paintBulk } from './view/table/groups.ts';
import type { Table } from './view/table/table.ts';
import { isReady } from './state/display/row.ts';
import type { WatchedContainer } from './state/documents/container.ts';

type ControlParts = {
  readonly context: PageContext;
  readonly table: Table;
  readonly arrange: () => void;
  readonly signOut: () => void;
};

const tickMs = 200;
const minuteTickMs = 30_000;

/** Listens to the controls that the document always has, and repaints times in words every 30 s. */
export function startControls({ context, table, arrange, signOut }: ControlParts): void {
  startThemeButton();
  for (const id of ['leave-button', 'leave-button-2']) byId(id).addEventListener('click', signOut);
  byId('help-button').addEventListener('click', () => byId('help', HTMLDialogElement).showModal());
  for (const dialog of document.querySelectorAll('dialog')) {
    dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close());
  }
  keepRowFocused();
  const search = byId('search', HTMLInputElement);
  search.addEventListener('input', () => context.go({ q: search.value }));
  const groupBy = byId('group-by', HTMLSelectElement);
  groupBy.addEventListener('change', () => context.go({ group: groupBy.value === 'project' ? 'project' : 'status' }));
  const engine = byId('engine-filter', HTMLSelectElement);
  engine.addEventListener('change', () => context.go({ engine: engine.value }));
  const select = byId('select-toggle');
  select.addEventListener('click', () => {
    const isOn = select.getAttribute('aria-pressed') !== 'true';
    select.setAttribute('aria-pressed', String(isOn));
    if (!isOn) context.act.clearPicked();
    paintBulk(context);
  });
  byId('skip').addEventListener('click', (event) => {
    // The fragment of the URL holds the page's address, so the link must not replace it.
    event.preventDefault();
    byId('rows').focus();
  });
  setInterval(() => context.containers.isRunning() && table.tick(), tickMs);
  setInterval(() => {
    if (document.hidden || context.containers.all().length === 0) return;
    table.paintAll();
    arrange();
    if (!isConfirmOpen()) paintDrawer(context);
  }, minuteTickMs);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) context.act.tryNow();
  });
}

/**
 * A closed dialog returns the focus to the control that had it before. A row that was filled anew meanwhile has lost that
 * control, so its name takes the focus.
 */
function keepRowFocused(): void {
  let focused: Element | null = null;
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof Element && target.closest('dialog') === null) focused = target.closest('tr.row');
  });
  document.addEventListener(
    'close',
    () => {
      // Until the page is painted, a control of the closed dialog may still count as focused.
      if (document.activeElement?.matches('body, dialog:not([open]) *') === true)
        focused?.querySelector<HTMLElement>('.c-name a')?.focus({ preventScroll: true });
    },
    true,
  );
}

/** Shows the address: the page that it names, and its values in the controls. */
export function paintAddress({ page, q, group, engine }: Address): void {
  for (const name of ['containers', 'history', 'settings']) byId(`page-${name}`).hidden = page !== name;
  for (const tab of document.querySelectorAll<HTMLElement>('.tabs a')) {
    if (tab.dataset['page'] === page) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
  const search = byId('search', HTMLInputElement);
  if (document.activeElement !== search && search.value !== q) search.value = q;
  byId('group-by', HTMLSelectElement).value = group;
  byId('engine-filter', HTMLSelectElement).value = engine;
}

/** The selection of an engine, with several engines. */
export function paintEngines(context: PageContext): void {
  const engines = [...new Set(context.containers.all().map(({ engine }) => engine))]
    .filter((name) => name !== '')
    .sort();
  const select = byId('engine-filter', HTMLSelectElement);
  select.hidden = engines.length < 2;
  repaint(select, engines, () => [
    h('option', { value: '' }, 'All engines'),
    ...engines.map((name) => h('option', { value: name }, name)),
  ]);
  select.value = context.address().engine;
}

/** Whether a group of endpoints is on, according to the served document. */
export function readEndpointGroups(): (group: string) => boolean {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="upkeep-groups"]');
  const groups = new Set((meta?.content ?? '').split(' '));
  return (group) => groups.has(group);
}

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
    if (names.length === 1 && context.isOn('decisions') && isLive(context) && waits(context.containers.named(only)))
      return context.act.approve(only);
    const ready = names.filter((name) => isReady(context.containers.named(name)));
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
