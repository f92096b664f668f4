import type { RowGroup } from '../../state/telling/order.ts';
import { describeState } from '../../state/telling/describe-state.ts';
import { plural } from '../../state/words/sentences.ts';
import { canUpdate, type PageContext } from '../context.ts';
import { button, type Child, h, repaint } from '../parts/node.ts';
import { icon } from '../parts/icon.ts';

/** The header rows of groups, and the folded groups. */
export type Groups = {
  readonly make: (bucket: RowGroup) => HTMLTableRowElement;
  /** Counts a container that was added to a group, or removed from its group. */
  readonly add: (key: string, name: string) => void;
  readonly remove: (name: string) => void;
  readonly paint: () => void;
  /** Shows only the headers of these groups. */
  readonly show: (keys: ReadonlySet<string>) => void;
  readonly isFolded: (key: string) => boolean;
  readonly has: (key: string) => boolean;
  readonly clear: () => void;
};

export function createGroups(context: PageContext, onFold: () => void): Groups {
  const folded = new Set<string>();
  const heads = new Map<
    string,
    {
      readonly row: HTMLTableRowElement;
      readonly sum: HTMLElement;
      readonly act: HTMLElement;
      readonly names: Set<string>;
    }
  >();

  function make({ key, title, members }: RowGroup): HTMLTableRowElement {
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
    heads.set(key, { row, sum, act, names: new Set(members.map(({ name }) => name)) });
    paintHead(key);
    return row;

    function fold(): void {
      if (!folded.delete(key)) folded.add(key);
      toggle.setAttribute('aria-expanded', String(!folded.has(key)));
      onFold();
    }
  }

  function paintHead(key: string): void {
    const head = heads.get(key);
    if (head === undefined) return;
    if (context.address().group === 'status')
      return void repaint(head.sum, head.names.size, () => [String(head.names.size)]);
    const { fleet } = context;
    const told = [...head.names].flatMap((name) => {
      const one = fleet.named(name);
      return one === undefined ? [] : [{ name, told: describeState(one, fleet.updateOf(name), context.nowMs()) }];
    });
    const wrong = told.filter((one) => one.told.group === 'wrong').length;
    const ready = told.filter((one) => one.told.group === 'ready').length;
    const names = told.filter((one) => one.told.action === 'update').map(({ name }) => name);
    repaint(head.sum, [told.length, wrong, ready], () => sumNodes(told.length, wrong, ready));
    const isOn = context.isOn('update') && names.length > 1;
    repaint(head.act, [isOn && names, canUpdate(context)], () => [
      isOn &&
        button(
          { class: 'text-button', disabled: !canUpdate(context) },
          () => context.act.update(names),
          `Update ${names.length}…`,
        ),
    ]);
  }

  return {
    make,
    add: (key, name) => heads.get(key)?.names.add(name),
    remove: (name) => {
      for (const { names } of heads.values()) names.delete(name);
    },
    paint: () => {
      for (const key of heads.keys()) paintHead(key);
    },
    show: (keys) => {
      for (const [key, { row }] of heads) if (row.hidden === keys.has(key)) row.hidden = !keys.has(key);
    },
    isFolded: (key) => folded.has(key),
    has: (key) => heads.has(key),
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
