import type { WatchedContainer } from '../../state/documents/container.ts';
import { h } from '../parts/node.ts';
import { intro, openConfirm } from './confirm.ts';
import { guarantee, step } from './update-plan.ts';

/** Explains what a manual rollback restores and what it does not. */
export function confirmRollBack(one: WatchedContainer, start: () => void): void {
  const isForward = one.hold === 'went-back';
  const isKnown = one.last?.outcome === 'updated' || (isForward && one.last?.outcome === 'went_back');
  const from = (isKnown && one.last?.to) || one.version || 'This version';
  const to = (isKnown && one.last?.from) || (isForward && one.latestVersion) || 'the version before';
  openConfirm({
    title: isForward ? `Go forward again with ${one.name}?` : `Roll back ${one.name}?`,
    body: [
      intro(
        isForward
          ? `It went back to ${from} before, so this goes forward again, to ${to}. This is what happens, in this order.`
          : `From ${from} to ${to}. This is what happens, in this order.`,
      ),
      h(
        'ol',
        { class: 'plan' },
        step(`Stop ${from}`, [], 'Volumes are not touched'),
        step(
          `Start ${to}`,
          [],
          'The original container if it was kept (--keep-old); otherwise a new one from the old image',
        ),
      ),
      guarantee(
        'unknown',
        `What ${from} has changed in its data stays changed. ${from} is not applied again on its own.`,
      ),
    ],
    action: { label: isForward ? 'Go forward' : 'Roll back', tone: 'danger', run: start },
  });
}
