import type { Watched } from '../../state/documents/container.ts';
import type { Told } from '../../state/telling/tell.ts';
import { hasNewer } from '../../state/telling/versions.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { button } from '../parts/button.ts';
import type { Child } from '../parts/node.ts';
import { decisionNodes } from './decisions.ts';

/** The actions available for a container. Actions of groups that are off are hidden. */
export function actionNodes(context: PageContext, one: Watched, told: Told): readonly Child[] {
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

function rollBackWords({ last }: Watched): string {
  return last?.outcome === 'updated' && last.from !== '' ? `Roll back to ${last.from}…` : 'Roll back…';
}
