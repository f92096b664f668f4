import { canUpdate, isLive, type PageContext } from '../context.ts';
import { isReady } from '../../state/telling/versions.ts';
import { button, byId, h, repaint } from '../parts/node.ts';
import { icon } from '../parts/icon.ts';

/** The bar of the selected containers. */
export function paintBulk(context: PageContext): void {
  const names = [...context.picked];
  const node = byId('bulk');
  node.hidden = names.length === 0;
  const isSelecting = byId('select-toggle').getAttribute('aria-pressed') === 'true';
  byId('table').classList.toggle('picking', names.length > 0 || isSelecting);
  const ready = names.filter((name) => isReady(context.fleet.named(name)));
  repaint(node, [names, ready, canUpdate(context), isLive(context)], () => [
    h('b', {}, `${names.length} selected`),
    context.isOn('check') &&
      button({ class: 'button', disabled: !isLive(context) }, () => context.act.check(names), 'Check'),
    context.isOn('update') &&
      button(
        { class: 'button primary', disabled: ready.length === 0 || !canUpdate(context) },
        () => context.act.update(ready),
        ready.length === 0 ? 'Nothing to update' : `Update ${ready.length}…`,
      ),
    button({ class: 'icon-button', 'aria-label': 'Clear the selection' }, context.act.clearPicked, icon('close')),
  ]);
}
