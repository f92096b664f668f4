import type { Unwatched } from '../../state/documents/status.ts';
import type { ContainerStore } from '../../state/containers/container-store.ts';
import { plural } from '../../state/words.ts';
import type { PageContext } from '../context.ts';
import { copyButton, icon, button, byId, replaceContent, h, repaint, type Child } from '../parts/node.ts';

const label = 'labels: { upkeep.enable: "true" }';

/** Replaces an empty table: the unwatched containers, with reasons and remedies. */
export function paintEmpty(containers: ContainerStore): void {
  const isEmpty = containers.all().length === 0;
  byId('tools').hidden = isEmpty;
  if (!isEmpty) return;
  byId('table').hidden = true;
  const state = byId('state');
  state.hidden = false;
  const { unwatched } = containers.status();
  repaint(state, unwatched, () => emptyNodes(unwatched));
}

function emptyNodes(unwatched: readonly Unwatched[]): readonly Child[] {
  const all = unwatched.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) {
    return [
      h('h2', {}, 'There is no container to watch'),
      h('p', {}, 'A container that is started appears here by itself.'),
    ];
  }
  const needsLabel = unwatched.some(({ reason }) => reason.includes('not enabled by label'));
  return [
    h('h2', {}, `${plural(all, 'container')} ${all === 1 ? 'is' : 'are'} left out`),
    h(
      'ul',
      {},
      unwatched.map(({ reason, count, remedy }) =>
        h(
          'li',
          {},
          h('b', {}, String(count)),
          ` ${reason}`,
          remedy !== '' && h('span', { class: 'why' }, ` ${remedy}`),
        ),
      ),
    ),
    needsLabel &&
      h(
        'p',
        {},
        'The option label-enable is on, so only containers with this label are watched. Add it to the compose file:',
      ),
    needsLabel && h('div', { class: 'code' }, h('code', {}, label), copyButton(label, 'the label')),
    h('p', {}, h('a', { class: 'link', href: '#/settings' }, 'Settings'), ' show which options were given, and where.'),
  ];
}

/** Replaces a table whose rows are all hidden. */
export function paintNoMatch(context: PageContext, isEmpty: boolean): void {
  if (context.containers.all().length === 0) return;
  byId('table').hidden = isEmpty;
  const state = byId('state');
  state.hidden = !isEmpty;
  if (!isEmpty) return;
  const { q, show } = context.address();
  repaint(state, { q, show }, () => [
    h('h2', {}, q === '' ? 'Nothing here' : `Nothing matches “${q}”`),
    h('p', {}, q === '' ? nothing[show] : 'The search looks at names, images, projects and engines.'),
    button({ class: 'button' }, () => context.go({ q: '', show: 'all', engine: '' }), 'Show all containers'),
  ]);
}

const nothing = {
  all: '',
  now: 'No update is in progress.',
  wrong: 'No container needs a look.',
  ready: 'No update is ready.',
  held: 'Nothing is held back.',
  unchecked: 'All have been checked.',
  fine: 'Nothing is up to date yet.',
} as const;

/** Replaces the containers if the group `containers` is off. */
export function paintGroupOff(): void {
  const title = byId('verdict');
  title.className = 'is-past';
  replaceContent(title, icon('eye'), h('span', {}, 'Cannot show the containers'));
  byId('lead').textContent = 'The group containers is not among the endpoints of this service.';
  byId('tools').hidden = true;
  byId('table').hidden = true;
  byId('state').hidden = false;
  replaceContent(
    byId('state'),
    h('h2', {}, 'Add it where Upkeep is started'),
    h('div', { class: 'code' }, h('code', {}, '--http-api-endpoints all')),
    h(
      'p',
      {},
      'All groups, or at least dashboard, containers, metrics, history, config, check, update, decisions and events.',
    ),
  );
}
