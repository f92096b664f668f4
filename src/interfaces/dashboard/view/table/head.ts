import { byId, h } from '../parts/node.ts';
import { repaint } from '../parts/repaint.ts';

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

export const columnNames: readonly string[] = columns.map(([name]) => name);

/** Columns that need no visible title. */
const silent: readonly string[] = ['pick', 'mark', 'act'];

/** The head of the table. Roles are explicit, because CSS grids drop those of table elements. */
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
