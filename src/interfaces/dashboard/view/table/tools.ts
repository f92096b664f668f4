import type { PageContext } from '../context.ts';
import { byId, h, repaint } from '../parts/node.ts';

/** Shows the address in the controls above the table. */
export function paintTools(context: PageContext): void {
  const { q, group, engine } = context.address();
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
