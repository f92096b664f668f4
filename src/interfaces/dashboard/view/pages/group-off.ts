import { icon } from '../parts/icon.ts';
import { byId, fill, h } from '../parts/node.ts';

/** Shown in place of the containers where the group `containers` is off. */
export function paintGroupOff(): void {
  const title = byId('verdict');
  title.className = 'is-past';
  fill(title, icon('eye'), h('span', {}, 'Cannot show the containers'));
  byId('lead').textContent = 'The group containers is not among the endpoints of this service.';
  byId('tools').hidden = true;
  byId('table').hidden = true;
  byId('state').hidden = false;
  fill(
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
