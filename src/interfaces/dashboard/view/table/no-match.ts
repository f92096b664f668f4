import type { PageContext } from '../context.ts';
import { button } from '../parts/button.ts';
import { byId, fill, h } from '../parts/node.ts';
import { forget } from '../parts/repaint.ts';

const nothing = {
  all: '',
  wrong: 'No container needs a look.',
  ready: 'No update is ready.',
  held: 'Nothing is held back.',
  unchecked: 'All have been checked.',
  fine: 'Nothing is up to date yet.',
} as const;

/** Shown in place of a table whose rows are all hidden. */
export function paintNoMatch(context: PageContext, isEmpty: boolean): void {
  const state = byId('state');
  if (context.fleet.all().length === 0) return;
  byId('table').hidden = isEmpty;
  if (state.hidden === !isEmpty && !isEmpty) return;
  state.hidden = !isEmpty;
  if (!isEmpty) return;
  const { q, show } = context.address();
  forget(state);
  fill(
    state,
    h('h2', {}, q === '' ? 'Nothing here' : `Nothing matches “${q}”`),
    h('p', {}, q === '' ? nothing[show] : 'The search looks at names, images, projects and engines.'),
    button({ class: 'button' }, () => context.go({ q: '', show: 'all', engine: '' }), 'Show all containers'),
  );
}
