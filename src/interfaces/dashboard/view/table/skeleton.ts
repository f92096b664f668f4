import { byId, h } from '../parts/node.ts';
import { columnNames, paintHead } from './head.ts';

const rows = 14;

/** The outline of the table, shown until the first answer. */
export function paintSkeleton(): void {
  const table = byId('table');
  table.hidden = false;
  table.classList.add('skeleton');
  table.setAttribute('aria-busy', 'true');
  paintHead();
  byId('rows').replaceChildren(...Array.from({ length: rows }, (_, place) => skeletonRow(place)));
}

export function endSkeleton(): void {
  byId('table').classList.remove('skeleton');
  byId('table').removeAttribute('aria-busy');
}

function skeletonRow(place: number): HTMLTableRowElement {
  const cells = columnNames.map((name) => {
    if (name === 'pick' || name === 'act') return h('td', { class: `c-${name}`, role: 'cell' });
    const bar = h('i');
    bar.style.width = name === 'mark' ? '1rem' : `${45 + ((place * 29 + name.length * 17) % 45)}%`;
    return h('td', { class: `c-${name}`, role: 'cell' }, bar);
  });
  return h('tr', { class: 'row', role: 'row' }, cells);
}
