import { type Counts, countLabels } from '../../state/telling/count.ts';
import { shownKinds } from '../../state/address.ts';
import type { PageContext } from '../context.ts';
import { button, byId, h, say } from '../parts/node.ts';

const buttons = new Map<string, HTMLButtonElement>();

/** The counts are buttons of filters. The buttons are made once, so that the focus stays. */
export function paintCounts(context: PageContext, counts: Counts): void {
  const { show } = context.address();
  for (const kind of shownKinds) {
    const node = buttons.get(kind) ?? makeButton(context, kind);
    const [number] = node.children;
    if (number !== undefined) say(number, String(counts[kind]));
    node.hidden = kind === 'unchecked' && counts.unchecked === 0 && show !== 'unchecked';
    node.classList.toggle('none', counts[kind] === 0);
    node.classList.toggle('bad', kind === 'wrong' && counts.bad > 0);
  }
  pressCounts(context);
}

/** Shows which filter is on. */
export function pressCounts(context: PageContext): void {
  const { show } = context.address();
  for (const [kind, node] of buttons) node.setAttribute('aria-pressed', String(show === kind));
}

function makeButton(context: PageContext, kind: (typeof shownKinds)[number]): HTMLButtonElement {
  const choose = (): void => context.go({ show: context.address().show === kind ? 'all' : kind });
  const node = button({ class: 'count', 'data-kind': kind }, choose, h('b'), h('span', {}, countLabels[kind]));
  buttons.set(kind, node);
  byId('counts').append(node);
  return node;
}
