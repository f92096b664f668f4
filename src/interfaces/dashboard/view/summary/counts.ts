import { type Counts, countWords, markKinds } from '../../state/telling/arrange.ts';
import { groupTitles } from '../../state/telling/describe-state.ts';
import { shownKinds } from '../../state/address.ts';
import type { PageContext } from '../context.ts';
import { svg } from '../parts/icon.ts';
import { button, byId, h, repaint, setText } from '../parts/node.ts';

const buttons = new Map<string, HTMLButtonElement>();

/** The counts are buttons of filters. The buttons are made once, so that the focus stays. */
export function paintCounts(context: PageContext, counts: Counts): void {
  const { show } = context.address();
  for (const kind of shownKinds) {
    const node = buttons.get(kind) ?? makeButton(context, kind);
    const [number] = node.children;
    if (number !== undefined) setText(number, String(counts[kind]));
    node.hidden = (kind === 'unchecked' || kind === 'now') && counts[kind] === 0 && show !== kind;
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
  const node = button(
    { class: 'count', 'data-kind': kind },
    choose,
    h('b'),
    h('span', {}, kind === 'all' ? 'Watched' : groupTitles[kind]),
  );
  buttons.set(kind, node);
  byId('counts').append(node);
  return node;
}

/** One mark for each container, in the order of the groups. */
export function paintMarks(counts: Counts): void {
  const node = byId('fleet');
  const { marks, all } = counts;
  node.hidden = all === 0;
  const label = countWords(counts);
  repaint(node, [marks, label], () => {
    const gap = all > mostGaps ? 0 : all > mostGaps / 2 ? 0.2 : 0.08;
    const strip = svg('svg', {
      viewBox: `0 0 ${Math.max(1, all)} 1`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    });
    for (const kind of markKinds) {
      const d = marks.map((mark, place) => (mark === kind ? `M${place} 0h${1 - gap}v1h-${1 - gap}z` : '')).join('');
      if (d !== '') strip.append(svg('path', { class: kind, d }));
    }
    return [strip];
  });
}

/** With more containers there are no gaps between the marks. */
const mostGaps = 120;
