import type { WatchedContainer } from '../../state/documents/container.ts';
import { hasNewer, versionsOf } from '../../state/telling/versions.ts';
import { type Child, h } from './node.ts';

/** `3.2.0 → 3.2.1 patch` */
export function versionNodes(one: WatchedContainer): readonly Child[] {
  const { from, to } = versionsOf(one);
  const badge = hasNewer(one) && one.change !== undefined && h('span', { class: `badge ${one.change}` }, one.change);
  if (to === '') return [h('span', {}, from || '–'), badge];
  return [
    h('span', {}, from || '–'),
    h('span', { class: 'arrow' }, h('span', { 'aria-hidden': 'true' }, '→'), h('span', { class: 'sr' }, ' to ')),
    h('span', { class: 'new' }, to),
    badge,
  ];
}
