import type { Watched } from '../../state/documents/container.ts';
import { when } from '../../state/words/moments.ts';
import { type Child, h } from '../parts/node.ts';

/** Facts of the container itself. */
export function factsSection(one: Watched, users: readonly Watched[], nowMs: number): Child {
  const health = one.health === 'none' ? 'no health check' : one.health;
  const since = one.startedAtMs === undefined ? '' : when(one.startedAtMs, nowMs);
  const rows = [
    ['State', [one.status, health].filter(Boolean).join(', ')],
    ['Runs since', one.status === 'running' ? since : ''],
    ['Needs', one.dependsOn.join(', ')],
    ['Needed by', users.map(({ name }) => name).join(', ')],
    ['Engine', one.engine],
    ['Container', one.id.slice(0, 12)],
  ] as const;
  const lines = rows.flatMap(([name, value]) =>
    value === '' ? [] : [h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, value))],
  );
  return h('section', {}, h('h3', {}, 'Container'), h('table', { class: 'facts plain' }, h('tbody', {}, lines)));
}
