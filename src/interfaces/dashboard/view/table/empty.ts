import type { Status } from '../../state/documents/status.ts';
import type { Fleet } from '../../state/fleet/fleet.ts';
import { plural } from '../../state/words/sentences.ts';
import { copyButton } from '../parts/copy-button.ts';
import { byId, type Child, h } from '../parts/node.ts';
import { repaint } from '../parts/repaint.ts';

const label = 'labels: { upkeep.enable: "true" }';

/** Shown instead of an empty table: the containers that are not watched, the reasons, and the remedies. */
export function paintEmpty(fleet: Fleet, isEmpty: boolean): void {
  const status = fleet.status();
  byId('tools').hidden = isEmpty;
  if (!isEmpty) return;
  byId('table').hidden = true;
  const state = byId('state');
  state.hidden = false;
  repaint(state, status.unwatched, () => emptyNodes(status));
}

function emptyNodes({ unwatched }: Status): readonly Child[] {
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
        'The option label-enable is on, so a container is watched when it says so. Add this to its compose file:',
      ),
    needsLabel && h('div', { class: 'code' }, h('code', {}, label), copyButton(label, 'the label')),
    h(
      'p',
      { class: 'state-foot' },
      h('a', { class: 'link', href: '#/settings' }, 'Settings'),
      ' show which options were given, and where.',
    ),
  ];
}
