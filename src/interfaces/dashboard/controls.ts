import type { Address } from './state/address.ts';
import { isConfirmOpen } from './view/dialogs/confirm.ts';
import type { PageContext } from './view/context.ts';
import { paintDrawer } from './view/drawer/drawer.ts';
import { byId, h, repaint } from './view/parts/node.ts';
import { startThemeButton } from './view/parts/theme.ts';
import { paintBulk } from './view/table/bulk.ts';
import type { Table } from './view/table/table.ts';

export type ControlParts = {
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
  setInterval(() => context.fleet.isRunning() && table.tick(), tickMs);
  setInterval(() => {
    if (document.hidden || context.fleet.all().length === 0) return;
    table.paintAll();
    arrange();
    if (!isConfirmOpen()) paintDrawer(context);
  }, minuteTickMs);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) context.act.tryNow();
  });
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
  const engines = [...new Set(context.fleet.all().map(({ engine }) => engine))].filter((name) => name !== '').sort();
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
