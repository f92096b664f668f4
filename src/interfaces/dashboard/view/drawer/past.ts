import type { PastOutcome } from '../../state/documents/history.ts';
import { when } from '../../state/words/moments.ts';
import { glued, precise } from '../../state/words/numbers.ts';
import { capital } from '../../state/words/sentences.ts';
import { icon } from '../parts/icon.ts';
import { type Child, h } from '../parts/node.ts';
import { outcomeLook } from '../parts/outcome.ts';

const most = 20;

/** The outcomes of runs for this container, newest first. */
export function pastSection(outcomes: readonly PastOutcome[], nowMs: number): Child {
  const link = outcomes.length > 0 && h('a', { class: 'link', href: '#/history' }, 'All runs');
  const none = outcomes.length === 0 && h('p', { class: 'why' }, 'No update of it in the runs that are kept.');
  return h(
    'section',
    {},
    h('h3', {}, 'History', link),
    none,
    outcomes.slice(0, most).map((outcome) => row(outcome, nowMs)),
  );
}

function row({ outcome, from, to, downtimeMs, reason, atMs }: PastOutcome, nowMs: number): HTMLElement {
  const [sign, tone, word] = outcomeLook[outcome];
  const version =
    outcome === 'updated' && to !== '' ? ` to ${to}` : outcome === 'rolled_back' && to !== '' ? ` from ${to}` : '';
  const back = outcome === 'rolled_back' && from !== '' ? ` to ${from}` : '';
  const down = downtimeMs === undefined ? '' : `, down ${precise(downtimeMs)}`;
  return h(
    'div',
    { class: `past is-${tone}` },
    h('span', { class: 'c-mark' }, icon(sign)),
    h('span', {}, `${word}${version}${back}${down}`),
    h('span', { class: 'when' }, atMs === undefined ? '' : when(atMs, nowMs)),
    reason !== '' && h('p', { class: 'why' }, glued(capital(reason))),
  );
}
