import type { Placed, RowGroup } from '../../state/display/arrange.ts';
import { plural } from '../../state/words.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { button, h, repaint, icon, byId, type Child } from '../parts/node.ts';
import { isReady } from '../../state/display/row.ts';

/** The header rows of groups, and the folded groups. */
type Groups = {
  /** The header of a group with its present members; it is made if it is new. */
  readonly head: (group: RowGroup) => HTMLTableRowElement;
  /** Drops the headers of all other groups. */
  readonly keep: (keys: ReadonlySet<string>) => void;
  /** Shows only the headers of these groups. */
  readonly show: (keys: ReadonlySet<string>) => void;
  readonly isFolded: (key: string) => boolean;
  /** The groups with a header, in their order on the page by the order of their making. */
  readonly keys: () => readonly string[];
  readonly clear: () => void;
};

export function createGroups(context: PageContext, onFold: () => void): Groups {
  const folded = new Set<string>();
  const heads = new Map<
    string,
    { readonly row: HTMLTableRowElement; readonly sum: HTMLElement; readonly act: HTMLElement }
  >();

  function make({ key, title }: RowGroup) {
    const toggle = button(
      { class: 'group-toggle', 'aria-expanded': String(!folded.has(key)) },
      fold,
      icon('next'),
      h('h2', {}, title),
    );
    const sum = h('td', { class: 'sum', role: 'cell' });
    const act = h('td', { class: 'group-act', role: 'cell' });
    const row = h(
      'tr',
      { class: 'group-row', role: 'row', 'data-group': key },
      h('th', { scope: 'rowgroup', role: 'rowheader' }, toggle),
      sum,
      act,
    );
    const head = { row, sum, act };
    heads.set(key, head);
    return head;

    function fold(): void {
      if (!folded.delete(key)) folded.add(key);
      toggle.setAttribute('aria-expanded', String(!folded.has(key)));
      onFold();
    }
  }

  function paint({ sum, act }: { readonly sum: HTMLElement; readonly act: HTMLElement }, members: readonly Placed[]) {
    if (context.address().group === 'status') return void repaint(sum, members.length, () => [String(members.length)]);
    const count = (group: string) => members.filter(({ described }) => described.group === group).length;
    const [wrong, ready] = [count('wrong'), count('ready')];
    const names = members.filter(({ described }) => described.action === 'update').map(({ one }) => one.name);
    repaint(sum, [members.length, wrong, ready], () => sumNodes(members.length, wrong, ready));
    const isOn = context.isOn('update') && names.length > 1;
    repaint(act, [isOn && names, canUpdate(context)], () => [
      isOn &&
        button(
          { class: 'text-button', disabled: !canUpdate(context) },
          () => context.act.update(names),
          `Update ${names.length}…`,
        ),
    ]);
  }

  return {
    head: (group) => {
      const head = heads.get(group.key) ?? make(group);
      paint(head, group.members);
      return head.row;
    },
    keep: (keys) => {
      for (const [key, { row }] of heads) {
        if (keys.has(key)) continue;
        row.remove();
        heads.delete(key);
      }
    },
    show: (keys) => {
      for (const [key, { row }] of heads) if (row.hidden === keys.has(key)) row.hidden = !keys.has(key);
    },
    isFolded: (key) => folded.has(key),
    keys: () => [...heads.keys()],
    clear: () => heads.clear(),
  };
}

function sumNodes(all: number, wrong: number, ready: number): readonly Child[] {
  return [
    plural(all, 'container'),
    wrong > 0 && ', ',
    wrong > 0 && h('span', { class: 'is-wrong' }, `${wrong} to look at`),
    ready > 0 && ', ',
    ready > 0 && h('span', { class: 'is-ready' }, plural(ready, 'update')),
  ];
}

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

/** The bar of the selected containers. */
export function paintBulk(context: PageContext): void {
  const names = [...context.picked];
  const node = byId('bulk');
  node.hidden = names.length === 0;
  const isSelecting = byId('select-toggle').getAttribute('aria-pressed') === 'true';
  byId('table').classList.toggle('picking', names.length > 0 || isSelecting);
  const ready = names.filter((name) => isReady(context.containers.named(name)));
  repaint(node, [names, ready, canUpdate(context), isLive(context)], () => [
    h('b', {}, `${names.length} selected`),
    context.isOn('check') &&
      button({ class: 'button', disabled: !isLive(context) }, () => context.act.check(names), 'Check'),
    context.isOn('update') &&
      button(
        { class: 'button primary', disabled: ready.length === 0 || !canUpdate(context) },
        () => context.act.update(ready),
        ready.length === 0 ? 'Nothing to update' : `Update ${ready.length}…`,
      ),
    button({ class: 'icon-button', 'aria-label': 'Clear the selection' }, context.act.clearPicked, icon('close')),
  ]);
}
