import type { Placed, RowGroup } from '../../state/telling/arrange.ts';
import { plural } from '../../state/words/sentences.ts';
import { canUpdate, type PageContext } from '../context.ts';
import { button, type Child, h, repaint } from '../parts/node.ts';
import { icon } from '../parts/icon.ts';

/** The header rows of groups, and the folded groups. */
export type Groups = {
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
    const count = (group: string) => members.filter(({ told }) => told.group === group).length;
    const [wrong, ready] = [count('wrong'), count('ready')];
    const names = members.filter(({ told }) => told.action === 'update').map(({ one }) => one.name);
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
