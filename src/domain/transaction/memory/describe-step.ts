import type { TransactionFacts } from '../facts.ts';
import type { StepKind, StepOf } from '../step.ts';

export function describeStep<K extends StepKind>(step: StepOf<K>, facts: TransactionFacts): string {
  return descriptions[step.kind](step, facts);
}

const descriptions: { readonly [K in StepKind]: (step: StepOf<K>, facts: TransactionFacts) => string } = {
  mark: ({ oldId }, facts) => `marking the update of "${memberOf(facts, oldId)}" in the engine`,
  unmark: ({ oldId }, facts) => `removing the mark of the update of "${memberOf(facts, oldId)}"`,
  create: ({ member }, facts) => `creating the successor of "${facts.members[member]?.name ?? ''}"`,
  autoRemoveReplica: ({ member }, facts) => `creating a stand-in for "${facts.members[member]?.name ?? ''}"`,
  connect: ({ id }, facts) => `connecting "${nameOf(facts, id)}" to its networks`,
  copyFiles: ({ member }, facts) => `copying the files of "${facts.members[member]?.name ?? ''}"`,
  compare: ({ id }, facts) => `comparing "${nameOf(facts, id)}" with its successor`,
  rename: ({ id, to }, facts) => `renaming "${nameOf(facts, id)}" to "${to}"`,
  policy: ({ id }, facts) => `setting the restart policy of "${nameOf(facts, id)}"`,
  stop: ({ id }, facts) => `stopping "${nameOf(facts, id)}"`,
  start: ({ id }, facts) => `starting "${nameOf(facts, id)}"`,
  gate: () => 'waiting for health',
  hook: ({ id }, facts) => `running the hook of "${nameOf(facts, id)}"`,
  waitOutPendingStop: ({ id }, facts) => `watching "${nameOf(facts, id)}"`,
  tag: ({ reference }) => `tagging "${reference}"`,
  remove: ({ id }, facts) => `removing "${nameOf(facts, id)}"`,
  leave: ({ id }, facts) => `leaving "${nameOf(facts, id)}" behind`,
  keep: ({ id }, facts) => `keeping the old "${nameOf(facts, id)}"`,
};

function memberOf({ members }: TransactionFacts, oldId: string): string {
  return members.find((member) => member.oldId === oldId)?.name ?? '';
}

export function nameOf(facts: TransactionFacts, id: string | undefined): string {
  return facts.members.find((member) => [member.old?.id, member.new?.id, member.spare?.id].includes(id))?.name ?? '';
}
