import type { WatchedContainer } from '../../state/documents/container.ts';
import { newVersionOf } from '../../state/telling/versions.ts';
import { when } from '../../state/words/moments.ts';
import { capitalized, withPeriod } from '../../state/words/sentences.ts';
import { canUpdate, type PageContext } from '../context.ts';
import { h } from '../parts/node.ts';
import { versionNodes } from '../parts/version.ts';
import { intro, openConfirm } from './confirm.ts';
import { type AskForPlan, confirmPlan, nothingNodes, planNodes } from './update-plan.ts';

export type ApprovalDialog = {
  readonly one: WatchedContainer;
  /** The result of a dry run with the approval. Undefined if updates cannot be started here. */
  readonly plan: AskForPlan | undefined;
  readonly approve: () => void;
  readonly approveAndUpdate: () => void;
};

/** Asks for the approval of one version, with the plan of the resulting update. */
export function confirmApproval(context: PageContext, { one, plan, approve, approveAndUpdate }: ApprovalDialog): void {
  const title = `Approve ${newVersionOf(one)} of ${one.name}?`;
  const only = { label: 'Approve', tone: 'primary', run: approve } as const;
  const later = () => intro(laterWords(context));
  if (plan === undefined) {
    const versions = h('p', { class: 'versions' }, ...versionNodes(one));
    openConfirm({ title, body: [versions, later()], action: only });
    return;
  }
  void confirmPlan(title, plan, (answer) => {
    if ('why' in answer) return { body: [intro(withPeriod(capitalized(answer.why)))], action: only };
    const steps = answer.plan ?? [];
    if (steps.every(({ action }) => action === 'skip'))
      return { body: [...nothingNodes(steps), later()], action: only };
    return {
      body: planNodes(context, steps),
      other: { label: 'At the next run', run: approve },
      ...(canUpdate(context) && { action: { label: 'Approve and update', tone: 'primary', run: approveAndUpdate } }),
    };
  });
}

function laterWords(context: PageContext): string {
  const { nextRunAtMs } = context.fleet.status();
  const run = nextRunAtMs === undefined ? 'the next run' : `the next run, ${when(nextRunAtMs, context.nowMs())},`;
  return `Once it is approved, ${run} applies it where nothing else holds it back. The approval is for this version alone.`;
}
