import { isDown } from '../../state/containers/update-progress.ts';
import { filterFor, type RowFacts, factsOf } from '../../state/telling/row-filter.ts';
import { rowGroupOf, groupContainers } from '../../state/telling/order.ts';
import { downWords, rowContent } from '../../state/telling/row.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { byId, h, repaint, setText } from '../parts/node.ts';
import { setPullPercent } from '../parts/steps.ts';
import { paintNoMatch } from './empty.ts';
import { createGroups } from './groups.ts';
import { paintHead } from './columns.ts';
import { type CellParts, rowCells } from './row.ts';
import type { RowAction, DescribedState } from '../../state/telling/describe-state.ts';
import type { WatchedContainer } from '../../state/documents/container.ts';

/** The table of containers. Rows are made once. Later they are filled, hidden and shown in place. */
export type Table = {
  /** Rebuilds all rows in order. */
  readonly build: () => void;
  /** Whether every container in the group of unchecked ones has been checked. Only this sorts the rows again. */
  readonly isOutOfDate: () => boolean;
  /** Hides and shows rows for the address, without building any. */
  readonly filter: () => void;
  /** Fills the rows of these containers if they differ. */
  readonly paint: (names: readonly string[]) => void;
  readonly paintAll: () => void;
  readonly add: (names: readonly string[]) => void;
  readonly remove: (names: readonly string[]) => void;
  /** Moves only the bar of a pull. False if none is visible. */
  readonly movePull: (name: string) => boolean;
  /** Updates the seconds of downtime. */
  readonly tick: () => void;
  readonly rowOf: (name: string) => HTMLTableRowElement | undefined;
  readonly visibleRows: () => readonly HTMLTableRowElement[];
  readonly markOpen: (name: string) => void;
};

export function createTable(context: PageContext): Table {
  const { fleet, picked } = context;
  const body = byId('rows');
  const rows = new Map<string, HTMLTableRowElement>();
  const facts = new Map<string, RowFacts>();
  const groups = createGroups(context, () => filter());
  let opened = '';
  body.addEventListener('click', onClick);
  body.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement) context.act.pick(nameOf(target));
  });

  function build(): void {
    const { group } = context.address();
    const table = byId('table');
    const isManyEngines = new Set(fleet.all().map(({ engine }) => engine)).size > 1;
    table.classList.toggle('with-engine', isManyEngines);
    table.classList.toggle('by-project', group === 'project');
    paintHead();
    rows.clear();
    facts.clear();
    const fragment = document.createDocumentFragment();
    groups.clear();
    for (const bucket of groupContainers(fleet, group, context.nowMs())) {
      fragment.append(groups.make(bucket));
      for (const one of bucket.members) fragment.append(makeRow(one, bucket.key));
    }
    body.replaceChildren(fragment);
    filter();
  }

  function makeRow(one: WatchedContainer, bucket: string): HTMLTableRowElement {
    const row = h('tr', { role: 'row', 'data-name': one.name, 'data-bucket': bucket });
    rows.set(one.name, row);
    fillRow(row, one);
    return row;
  }

  function fillRow(row: HTMLTableRowElement, one: WatchedContainer): void {
    const nowMs = context.nowMs();
    const update = fleet.updateOf(one.name);
    const content = rowContent(one, update, nowMs);
    const { told } = content;
    facts.set(one.name, factsOf(one, told.group));
    const look = `row is-${told.tone}${one.isAway ? ' away' : ''}${told.why ? ' has-why' : ''}${opened === one.name ? ' open' : ''}${picked.has(one.name) ? ' picked' : ''}`;
    if (row.className !== look) row.className = look;
    const action = actionOf(told, one.isAway);
    const down = update === undefined ? undefined : downWords(update, nowMs);
    const parts: CellParts = {
      one,
      content,
      isPicked: picked.has(one.name),
      action,
      down: down && h('span', { class: down.isDown ? 'word is-wrong' : '' }, down.text),
    };
    repaint(row, [content, one, action, picked.has(one.name), down?.isDown], () => rowCells(parts));
  }

  /** The most useful action, if its group is on. */
  function actionOf(
    { action }: DescribedState,
    isAway: boolean,
  ): { readonly kind: RowAction; readonly isOff: boolean } | undefined {
    if (action === undefined) return undefined;
    if (action === 'look') return { kind: action, isOff: false };
    if (!context.isOn(action === 'approve' ? 'decisions' : action)) return undefined;
    return { kind: action, isOff: isAway || (action === 'update' ? !canUpdate(context) : !isLive(context)) };
  }

  function paint(names: readonly string[]): void {
    for (const name of names) {
      const row = rows.get(name);
      const one = fleet.named(name);
      if (row !== undefined && one !== undefined) fillRow(row, one);
    }
    groups.paint();
  }

  function filter(): void {
    const filter = filterFor(context.address());
    const shown = new Set<string>();
    let total = 0;
    for (const [name, row] of rows) {
      const fact = facts.get(name);
      const fits = fact !== undefined && filter.fits(fact);
      const bucket = row.dataset['bucket'] ?? '';
      const isHidden = !fits || (groups.isFolded(bucket) && !filter.isOn);
      if (row.hidden !== isHidden) row.hidden = isHidden;
      if (!fits) continue;
      shown.add(bucket);
      total += 1;
    }
    groups.show(shown);
    paintNoMatch(context, total === 0 && rows.size > 0);
  }

  function add(names: readonly string[]): void {
    const { group } = context.address();
    for (const name of names) {
      const one = fleet.named(name);
      if (one === undefined) continue;
      const bucket = rowGroupOf(one, fleet, group, context.nowMs());
      const row = makeRow(one, bucket.key);
      const members = [...body.querySelectorAll<HTMLElement>('tr')].filter(
        ({ dataset }) => dataset['bucket'] === bucket.key || dataset['group'] === bucket.key,
      );
      const last = members.at(-1);
      if (last === undefined) body.append(groups.make({ ...bucket, members: [one] }), row);
      else {
        groups.add(bucket.key, name);
        last.after(row);
      }
    }
    groups.paint();
    filter();
  }

  function onClick(event: MouseEvent): void {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const name = nameOf(target);
    if (name === '') return;
    const act = target.closest<HTMLElement>('[data-act]')?.dataset['act'];
    if (act === 'update') return context.act.update([name]);
    if (act === 'approve') return context.act.approve(name);
    if (act === 'check') return context.act.check([name]);
    if (act === 'look') return context.go({ open: name }, true);
    if (target.closest('.c-name a') !== null && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      // The link of a row contains no filters. Otherwise each change of a filter would change every row.
      event.preventDefault();
      return context.go({ open: name }, true);
    }
    if (target.closest('a, button, input') !== null || getSelection()?.toString() !== '') return;
    if (byId('table').classList.contains('picking') && matchMedia('(max-width: 40rem)').matches) context.act.pick(name);
    else context.go({ open: name }, true);
  }

  return {
    build,
    isOutOfDate: () =>
      groups.has('unchecked') && !fleet.isRunning() && [...facts.values()].every(({ group }) => group !== 'unchecked'),
    filter,
    paint,
    paintAll: () => paint([...rows.keys()]),
    add,
    remove: (names) => {
      for (const name of names) {
        rows.get(name)?.remove();
        rows.delete(name);
        facts.delete(name);
        groups.remove(name);
      }
      groups.paint();
      filter();
    },
    movePull: (name) => {
      const row = rows.get(name);
      const percent = fleet.updateOf(name)?.percent;
      return row !== undefined && percent !== undefined && setPullPercent(row, percent);
    },
    tick: () => {
      for (const name of fleet.inRun()) {
        const update = fleet.updateOf(name);
        if (update === undefined || !isDown(update)) continue;
        const node = rows.get(name)?.querySelector('.c-state .word');
        if (node) setText(node, downWords(update, context.nowMs())?.text ?? '');
      }
    },
    rowOf: (name) => rows.get(name),
    visibleRows: () => [...body.querySelectorAll<HTMLTableRowElement>('tr.row')].filter(({ hidden }) => !hidden),
    markOpen: (name) => {
      rows.get(opened)?.classList.remove('open');
      opened = name;
      rows.get(name)?.classList.add('open');
    },
  };
}

function nameOf(node: Element): string {
  return node.closest<HTMLElement>('tr.row')?.dataset['name'] ?? '';
}
