import type { WatchedContainer } from '../../state/documents/container.ts';
import { newVersionOf } from '../../state/telling/versions.ts';
import { when } from '../../state/words/moments.ts';
import { dayMs } from '../../state/words/numbers.ts';
import { plural } from '../../state/words/sentences.ts';
import { h } from '../parts/node.ts';
import { intro, openConfirm } from './confirm.ts';

const choices = [1, 3, 7, 30];
const usual = 7;

/** Asks how long a version must be held back. */
export function chooseSnooze(one: WatchedContainer, nowMs: number, snooze: (untilMs: number) => void): void {
  let days = usual;
  const rows = choices.map((count) => {
    const box = h('input', { type: 'radio', name: 'snooze', value: String(count), checked: count === usual });
    box.addEventListener('change', () => {
      days = count;
    });
    const until = h('span', { class: 'until' }, `until ${when(nowMs + count * dayMs, nowMs)}`);
    return h('label', { class: 'choice' }, box, h('span', {}, plural(count, 'day')), until);
  });
  openConfirm({
    title: `Snooze ${newVersionOf(one)} of ${one.name}?`,
    body: [
      intro('It is held back until then. A newer version is offered at once.'),
      h('fieldset', { class: 'choices' }, h('legend', { class: 'sr' }, 'How long'), rows),
    ],
    action: { label: 'Snooze', tone: 'primary', run: () => snooze(nowMs + days * dayMs) },
  });
}
