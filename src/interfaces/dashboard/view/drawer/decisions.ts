import type { Watched } from '../../state/documents/container.ts';
import { isLive, type PageContext } from '../context.ts';
import { button } from '../parts/button.ts';
import type { Child } from '../parts/node.ts';

/** The decisions available for the new version. Empty if the group `decisions` is off. */
export function decisionNodes(
  context: PageContext,
  one: Watched,
): { readonly approve: Child; readonly others: readonly Child[] } {
  const { act } = context;
  const { verdict, hold, decision, candidateDigest, name } = one;
  const isOpen = verdict === 'stale' || (verdict === 'held' && open.has(hold));
  if (!context.isOn('decisions') || candidateDigest === '' || !isOpen) return { approve: undefined, others: [] };
  const make = (label: string, run: (name: string) => void, look = 'button'): Child =>
    button({ class: look, disabled: !isLive(context) || one.isAway }, () => run(name), label);
  return {
    approve: hold === 'approval' && make('Approve…', act.approve, 'button primary'),
    others: [
      hold !== 'skipped' && make(`Skip ${one.latestVersion || 'this version'}`, act.skip),
      snoozable.has(hold) && make('Snooze…', act.snooze),
      decision !== undefined &&
        make(decision.kind === 'approve' ? 'Take the approval back' : 'Offer again', act.withdraw),
    ],
  };
}

/** Kinds of holds that a decision can change. */
const open: ReadonlySet<string> = new Set(['approval', 'cooldown', 'window', 'skipped', 'snoozed']);

/** The empty text means that nothing holds it back. */
const snoozable: ReadonlySet<string> = new Set(['', 'approval', 'window']);
