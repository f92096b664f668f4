import { capitalized, withPeriod } from '../../state/words/sentences.ts';
import type { PageContext, UpdateKind } from '../context.ts';
import { intro } from './confirm.ts';
import { type AskForPlan, confirmPlan, nothingNodes, planNodes } from './update-plan.ts';

export type UpdateDialog = {
  readonly names: readonly string[];
  readonly kind: UpdateKind;
  /** The result of the dry run. */
  readonly ask: AskForPlan;
  readonly start: () => void;
};

/** Shows the steps of an update before it begins. */
export function confirmUpdate(context: PageContext, { names, kind, ask, start }: UpdateDialog): void {
  const [first = ''] = names;
  const failed = kind === 'retry' ? (context.fleet.named(first)?.latestVersion ?? '') : '';
  void confirmPlan(titleOf(names, kind, failed), ask, (answer) => {
    if ('why' in answer) return { body: [intro(withPeriod(capitalized(answer.why)))] };
    const { plan } = answer;
    if (plan === undefined) {
      const unclear = 'Upkeep did not answer with a plan. Look at the containers before you try again.';
      return { body: [intro(unclear)] };
    }
    const count = plan.filter(({ action }) => action === 'update').length;
    if (plan.every(({ action }) => action === 'skip')) return { body: nothingNodes(plan) };
    const body = planNodes(context, plan);
    const other = plan.find(({ name, action, to }) => name === first && action === 'update' && to !== failed)?.to ?? '';
    if (kind === 'retry' && other !== '') {
      // A newer version than the one that failed has come meanwhile.
      const action = { label: 'Update', tone: 'primary', run: start } as const;
      return { title: `Update ${first} to ${other}?`, body, action };
    }
    const label = kind === 'retry' ? 'Try again' : count <= 1 ? 'Update' : `Update ${count}`;
    return { body, action: { label, tone: 'primary', run: start } };
  });
}

function titleOf(names: readonly string[], kind: UpdateKind, failed: string): string {
  const [first = ''] = names;
  if (names.length !== 1) return `Update ${names.length} containers?`;
  if (kind === 'update') return `Update ${first}?`;
  if (kind === 'now') return `Update ${first} now?`;
  return failed === '' ? `Try the update of ${first} again?` : `Try ${failed} of ${first} again?`;
}
