import type { ShownOption } from '../../state/documents/configuration.ts';
import type { Watched } from '../../state/documents/container.ts';
import { type Child, h } from '../parts/node.ts';

/** Options of the service about each container that users look up most. */
const usual = ['cooldown-delay', 'stop-timeout', 'health-window', 'health-timeout', 'keep-old', 'monitor-only'];

/** The effective settings of this container: its own labels first, then the options of the service. */
export function settingsSection({ settings }: Watched, options: readonly ShownOption[]): Child {
  const own = new Set(settings.map(({ name }) => name));
  const others = usual.flatMap((name) => (own.has(name) ? [] : options.filter((option) => option.name === name)));
  const rows = [
    ...settings.map((row) => ({ ...row, isOwn: true })),
    ...others.map((row) => ({ ...row, isOwn: false })),
  ];
  if (rows.length === 0) return undefined;
  const lines = rows.map(({ name, value, source, isOwn }) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row', class: isOwn && 'own' }, name),
      h('td', { class: isOwn && 'own' }, value || '–'),
      h('td', {}, source),
    ),
  );
  return h('section', {}, h('h3', {}, 'Settings in effect'), h('table', { class: 'facts' }, h('tbody', {}, lines)));
}
