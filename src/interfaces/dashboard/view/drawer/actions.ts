import type { WatchedContainer } from '../../state/documents/container.ts';
import type { DescribedState } from '../../state/telling/describe-state.ts';
import { hasNewer } from '../../state/telling/versions.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { button } from '../parts/node.ts';
import type { Child } from '../parts/node.ts';

/** The actions available for a container. Actions of groups that are off are hidden. */
export function actionNodes(context: PageContext, one: WatchedContainer, told: DescribedState): readonly Child[] {
  const { act } = context;
  const isOff = !canUpdate(context) || one.isAway;
  const canChange = context.isOn('update');
  const { approve, others } = decisionNodes(context, one);
  return [
    approve,
    canChange && hasNewer(one) && updateButton(),
    context.isOn('check') &&
      button({ class: 'button', disabled: !isLive(context) || one.isAway }, () => act.check([one.name]), 'Check'),
    ...others,
    canChange &&
      one.canRollBack &&
      button({ class: 'button', disabled: isOff }, () => act.rollBack(one.name), rollBackWords(one)),
  ];

  function updateButton(): Child {
    if (one.hold === 'failed') {
      const again = `Try ${one.latestVersion || 'it'} again…`;
      return button({ class: 'button', disabled: isOff }, () => act.update([one.name], 'retry'), again);
    }
    if (one.hold === 'window')
      return button({ class: 'button', disabled: isOff }, () => act.update([one.name], 'now'), 'Update now…');
    // Other holds apply to people too, so there is no button.
    if (one.verdict !== 'stale') return undefined;
    const look = told.tone === 'held' ? 'button' : 'button primary';
    return button({ class: look, disabled: isOff }, () => act.update([one.name]), 'Update…');
  }
}

function rollBackWords({ last }: WatchedContainer): string {
  return last?.outcome === 'updated' && last.from !== '' ? `Roll back to ${last.from}…` : 'Roll back…';
}

/** The decisions available for the new version. Empty if the group `decisions` is off. */
function decisionNodes(
  context: PageContext,
  one: WatchedContainer,
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
      decision !== undefined && make(decision.kind === 'approve' ? 'Withdraw approval' : 'Offer again', act.withdraw),
    ],
  };
}

/** Kinds of holds that a decision can change. */
const open: ReadonlySet<string> = new Set(['approval', 'cooldown', 'window', 'skipped', 'snoozed']);

/** Holds that allow a snooze. The empty text means no hold. */
const snoozable: ReadonlySet<string> = new Set(['', 'approval', 'window']);
