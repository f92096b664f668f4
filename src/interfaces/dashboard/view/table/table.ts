import { isDown } from '../../state/containers/container-store.ts';
import {
  filterFor,
  factsOf,
  collator,
  type RowFacts,
  type Arrangement,
  type RowGroup,
} from '../../state/display/arrange.ts';
import { downWords, rowContent, shortImage, type RowContent } from '../../state/display/row.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { byId, h, repaint, setText, icon, versionNodes, type Child } from '../parts/node.ts';
import { setPullPercent, steps } from '../parts/steps.ts';
import { paintNoMatch } from './empty.ts';
import { createGroups, paintHead } from './groups.ts';
import { groups as states, type RowAction, type DescribedState } from '../../state/display/describe-state.ts';
import type { WatchedContainer } from '../../state/documents/container.ts';
import { startAddress, writeAddress } from '../../state/address.ts';
import { uncapitalized } from '../../state/words.ts';

/** The table of containers. Rows are made once. Later they are filled, hidden, shown and moved. */
export type Table = {
  /** Forgets all rows, for another grouping. */
  readonly clear: () => void;
  /**
   * Makes the rows of new containers, removes those of gone ones, and moves each row to its group. A row under the
   * pointer, and every row behind an open dialog, moves once it is left alone.
   */
  readonly arrange: (arrangement: Arrangement) => void;
  /** Hides and shows rows for the address, without building any. */
  readonly filter: () => void;
  /** Fills the rows of these containers if they differ. */
  readonly paint: (names: readonly string[]) => void;
  readonly paintAll: () => void;
  /** Moves only the bar of a pull. False if none is visible. */
  readonly movePull: (name: string) => boolean;
  /** Updates the seconds of downtime. */
  readonly tick: () => void;
  readonly rowOf: (name: string) => HTMLTableRowElement | undefined;
  readonly visibleRows: () => readonly HTMLTableRowElement[];
  readonly markOpen: (name: string) => void;
};

/** `onLeft` is called when rows that waited can be moved. */
export function createTable(context: PageContext, onLeft: () => void): Table {
  const { containers, picked } = context;
  const body = byId('rows');
  const rows = new Map<string, HTMLTableRowElement>();
  const facts = new Map<string, RowFacts>();
  const groups = createGroups(context, () => filter());
  let opened = '';
  let pointed: Element | undefined;
  let isWaiting = false;
  body.addEventListener('click', onClick);
  body.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement) context.act.pick(nameOf(target));
  });
  body.addEventListener('pointerover', ({ target, pointerType }) => {
    // A finger that has left the glass points at nothing.
    const row = target instanceof Element && pointerType !== 'touch' ? target.closest('tr.row') : undefined;
    point(row ?? undefined);
  });
  body.addEventListener('pointerleave', () => point(undefined));
  document.addEventListener('close', () => isWaiting && onLeft(), true);

  function point(row: Element | undefined): void {
    if (row === pointed) return;
    pointed = row;
    if (isWaiting) onLeft();
  }

  function clear(): void {
    const { group } = context.address();
    byId('table').classList.toggle('by-project', group === 'project');
    paintHead();
    rows.clear();
    facts.clear();
    groups.clear();
    body.replaceChildren();
  }

  function arrange(arrangement: Arrangement): void {
    const isManyEngines = new Set(containers.all().map(({ engine }) => engine)).size > 1;
    byId('table').classList.toggle('with-engine', isManyEngines);
    const isBehindDialog = document.querySelector('dialog[open]') !== null;
    const gone = new Set(rows.keys());
    const wanted = new Map<string, RowGroup>();
    const places = new Map<string, HTMLTableRowElement[]>();
    const moving = new Set<HTMLTableRowElement>();
    let hasChanged = false;
    isWaiting = false;
    const place = (key: string, row: HTMLTableRowElement): void => {
      const members = places.get(key);
      if (members === undefined) places.set(key, [row]);
      else members.push(row);
    };
    for (const group of arrangement.groups) {
      wanted.set(group.key, group);
      for (const { one, described } of group.members) {
        gone.delete(one.name);
        const present = rows.get(one.name);
        const row = present ?? makeRow(one, group.key);
        const bucket = row.dataset['bucket'] ?? '';
        const isLeft = bucket !== group.key || facts.get(one.name)?.group !== described.group;
        if (present !== undefined && isLeft && (isBehindDialog || row === pointed)) {
          isWaiting = true;
          place(bucket, row);
          continue;
        }
        hasChanged ||= isLeft;
        if (isLeft) facts.set(one.name, factsOf(one, described.group));
        if (present === undefined || bucket !== group.key) moving.add(row);
        place(group.key, row);
      }
    }
    for (const name of gone) {
      rows.get(name)?.remove();
      rows.delete(name);
      facts.delete(name);
    }
    if (moving.size === 0) {
      for (const key of places.keys()) groups.head(wanted.get(key) ?? { key, title: '', members: [] });
      groups.keep(new Set(places.keys()));
      if (hasChanged || gone.size > 0) filter();
      return;
    }
    move(body, moving, () => {
      let before: Element | undefined;
      for (const key of keysInOrder(wanted, places)) {
        const members = places.get(key) ?? [];
        const isNew = !groups.keys().includes(key);
        const head = groups.head(wanted.get(key) ?? { key, title: '', members: [] });
        for (const node of [head, ...inOrder(members, moving)]) {
          if (node === head ? isNew : moving.has(node)) insertAfter(body, node, before);
          if (node !== head && node.dataset['bucket'] !== key) node.dataset['bucket'] = key;
          before = node;
        }
      }
      groups.keep(new Set(places.keys()));
      filter();
    });
  }

  /** By state in the order of the states; by project as at first, with new projects at the end. */
  function keysInOrder(wanted: ReadonlyMap<string, RowGroup>, places: ReadonlyMap<string, unknown>): readonly string[] {
    if (context.address().group === 'status') return states.filter((key) => places.has(key));
    const present = groups.keys().filter((key) => places.has(key));
    return [...present, ...[...wanted.keys()].filter((key) => !present.includes(key))];
  }

  /** In a project, rows stay where they are, and new ones come at the end. */
  function inOrder(
    members: readonly HTMLTableRowElement[],
    moving: ReadonlySet<HTMLTableRowElement>,
  ): readonly HTMLTableRowElement[] {
    if (context.address().group === 'status') return sortedByName(members);
    const isBefore = (a: Node, b: Node) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    const present = members.filter((row) => !moving.has(row)).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    return [...present, ...members.filter((row) => moving.has(row))];
  }

  function makeRow(one: WatchedContainer, bucket: string): HTMLTableRowElement {
    const row = h('tr', { role: 'row', 'data-name': one.name, 'data-bucket': bucket });
    rows.set(one.name, row);
    fillRow(row, one);
    return row;
  }

  function fillRow(row: HTMLTableRowElement, one: WatchedContainer): void {
    const nowMs = context.nowMs();
    const update = containers.updateOf(one.name);
    const content = rowContent(one, update, nowMs);
    const { described } = content;
    // Until its row is moved, filters find the container in the group that it is shown in.
    facts.set(one.name, factsOf(one, facts.get(one.name)?.group ?? described.group));
    const look = `row is-${described.tone}${one.isAway ? ' away' : ''}${described.why ? ' has-why' : ''}${opened === one.name ? ' open' : ''}${picked.has(one.name) ? ' picked' : ''}`;
    if (row.className !== look) row.className = look;
    const action = actionOf(described, one.isAway);
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
      const one = containers.named(name);
      if (row !== undefined && one !== undefined) fillRow(row, one);
    }
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
    clear,
    arrange,
    filter,
    paint,
    paintAll: () => paint([...rows.keys()]),
    movePull: (name) => {
      const row = rows.get(name);
      const percent = containers.updateOf(name)?.percent;
      return row !== undefined && percent !== undefined && setPullPercent(row, percent);
    },
    tick: () => {
      for (const name of containers.inRun()) {
        const update = containers.updateOf(name);
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

/**
 * Changes the order of rows. The focus stays where it is, and so does what a person looks at: the row under the pointer,
 * else the first row in the window. Rows in the window glide to their new places, unless less motion is wanted.
 */
function move(body: HTMLElement, moving: ReadonlySet<Element>, change: () => void): void {
  if (body.childElementCount === 0) return change();
  const focused = document.activeElement;
  const tops = new Map<HTMLElement, number>();
  for (const row of body.querySelectorAll<HTMLElement>('tr:not([hidden])')) {
    const { top, bottom } = row.getBoundingClientRect();
    if (bottom > 0 && top < innerHeight) tops.set(row, top);
  }
  const stays = [...tops.keys()].filter((row) => !moving.has(row));
  const fixed = stays.find((row) => row.matches('.row:hover')) ?? stays.find((row) => (tops.get(row) ?? 0) >= 0);
  change();
  if (focused instanceof HTMLElement && focused !== document.activeElement && body.contains(focused))
    focused.focus({ preventScroll: true });
  if (fixed !== undefined && scrollY > 0)
    scrollBy({ top: fixed.getBoundingClientRect().top - (tops.get(fixed) ?? 0), behavior: 'instant' });
  if (moving.size > maxGliding || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  for (const row of body.querySelectorAll<HTMLElement>('tr:not([hidden])')) {
    const { top, bottom } = row.getBoundingClientRect();
    const before = tops.get(row) ?? (moving.has(row) ? undefined : top);
    if (bottom <= 0 || top >= innerHeight) continue;
    if (before === undefined) row.animate([{ opacity: 0 }, { opacity: 1 }], glide);
    else if (Math.abs(before - top) >= 1)
      row.animate([{ transform: `translateY(${before - top}px)` }, { transform: 'none' }], glide);
  }
}

/** No eye follows more rows at once. */
const maxGliding = 20;

const glide = { duration: 240, easing: 'ease-out' } as const;

function insertAfter(body: Element, node: Element, before: Element | undefined): void {
  if (before === undefined) body.prepend(node);
  else before.after(node);
}

function sortedByName(rows: readonly HTMLTableRowElement[]): readonly HTMLTableRowElement[] {
  return [...rows].sort((a, b) => collator.compare(a.dataset['name'] ?? '', b.dataset['name'] ?? ''));
}

const actionWords: Readonly<Record<RowAction, string>> = {
  update: 'Update…',
  approve: 'Approve…',
  check: 'Check',
  look: 'See why',
};

type CellParts = {
  readonly one: WatchedContainer;
  readonly content: RowContent;
  readonly isPicked: boolean;
  /** Undefined: there is none. */
  readonly action: { readonly kind: RowAction; readonly isOff: boolean } | undefined;
  readonly down: Child;
};

/** The cells of a container's row. */
function rowCells({ one, content, isPicked, action, down }: CellParts): readonly HTMLTableCellElement[] {
  const { described, checked, runs } = content;
  const href = writeAddress({ ...startAddress, open: one.name });
  const box = h('input', { type: 'checkbox', 'aria-label': `Select ${one.name}` });
  box.checked = isPicked;
  const state = runs.isBad ? h('b', {}, runs.state) : runs.state;
  // On a phone the heading and the button say as much as the word, but not of an approval.
  const hidesWord = described.aside !== undefined && described.action !== 'approve';
  return [
    cell('c-pick', box),
    cell('c-mark', icon(described.icon, described.turning === true ? 'turning' : '')),
    cell(
      'c-name',
      one.engine !== '' && h('span', { class: 'on-engine' }, one.engine),
      h('a', { href, title: one.name }, one.ownName),
      one.isService && h('span', { class: 'self' }, 'service'),
      one.self && h('span', { class: 'self' }, 'itself'),
      one.project !== '' && h('span', { class: 'project' }, one.project),
    ),
    cell('c-engine', one.engine),
    h('td', { class: 'c-image', role: 'cell', title: one.image }, shortImage(one.image)),
    cell(`c-version${one.latestVersion === '' ? ' same' : ''}`, ...versionNodes(one)),
    cell(`c-status${hidesWord ? ' has-aside' : ''}`, ...statusNodes(content)),
    cell('c-state', down === undefined ? state : down, down === undefined && runs.since),
    h('td', { class: 'c-checked', role: 'cell', title: checked.title }, checked.text),
    cell('c-act', action !== undefined && actionButton(action, one.name)),
  ];
}

function cell(name: string, ...content: readonly Child[]): HTMLTableCellElement {
  return h('td', { class: name, role: 'cell' }, ...content);
}

function statusNodes({ described, steps: shown }: RowContent): readonly Child[] {
  const word = h('span', { class: shown === undefined ? 'word' : 'sr' }, described.word);
  const why = described.why && whyNode(described.why, shown === undefined ? '' : described.word);
  return [
    word,
    shown && steps(shown),
    described.aside !== undefined && h('span', { class: 'aside' }, described.aside),
    why,
  ];
}

function whyNode(why: string, before: string): HTMLElement {
  if (before === '') return h('span', { class: 'why' }, why);
  return h('span', { class: 'why' }, h('b', { class: 'word' }, `${before}: `), uncapitalized(why));
}

function actionButton({ kind, isOff }: NonNullable<CellParts['action']>, name: string): HTMLButtonElement {
  const word = actionWords[kind];
  const label = `${word.replace('…', '')} ${name}`;
  return h(
    'button',
    { type: 'button', class: 'text-button', 'data-act': kind, disabled: isOff, 'aria-label': label },
    word,
  );
}
