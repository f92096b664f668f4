import { byId, h, repaint } from '../parts/node.ts';

const columns = [
  ['pick', 'Selected'],
  ['mark', 'Sign'],
  ['name', 'Container'],
  ['engine', 'Engine'],
  ['image', 'Image'],
  ['version', 'Version'],
  ['status', 'Update'],
  ['state', 'Runs'],
  ['checked', 'Checked'],
  ['act', 'Action'],
] as const;

/** Columns that need no visible title. */
const silent: readonly string[] = ['pick', 'mark', 'act'];

/** The head of the table. Roles are explicit, because CSS grids drop the roles of table elements. */
export function paintHead(): void {
  repaint(byId('head-row'), 'head', () =>
    columns.map(([name, label]) =>
      h(
        'th',
        { class: `c-${name}`, scope: 'col', role: 'columnheader' },
        silent.includes(name) ? h('span', { class: 'sr' }, label) : label,
      ),
    ),
  );
}

const skeletonRows = 14;

/** The outline of the table, shown until the first answer. */
export function paintSkeleton(): void {
  const table = byId('table');
  table.hidden = false;
  table.classList.add('skeleton');
  table.setAttribute('aria-busy', 'true');
  paintHead();
  byId('rows').replaceChildren(...Array.from({ length: skeletonRows }, (_, place) => skeletonRow(place)));
}

export function endSkeleton(): void {
  byId('table').classList.remove('skeleton');
  byId('table').removeAttribute('aria-busy');
}

function skeletonRow(place: number): HTMLTableRowElement {
  const cells = columns.map(([name]) => {
    if (name === 'pick' || name === 'act') return h('td', { class: `c-${name}`, role: 'cell' });
    const bar = h('i');
    bar.style.width = name === 'mark' ? '1rem' : `${45 + ((place * 29 + name.length * 17) % 45)}%`;
    return h('td', { class: `c-${name}`, role: 'cell' }, bar);
  });
  return h('tr', { class: 'row', role: 'row' }, cells);
}
