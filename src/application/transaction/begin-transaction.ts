import type { Log, Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { keepOrderOf, startOrderOf } from '../../domain/plan/replacement.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import { opened, type OpenTransaction } from './facts/open-transaction.ts';
import { memberFromPlan } from './facts/member-from.ts';
import type { PreparedTransaction } from './facts/prepare.ts';

/** A transaction that is about to begin and has left nothing in the engine yet. */
export function beginTransaction(
  { newId, log }: Pick<Outside, 'newId' | 'log'>,
  settings: ServiceSettings,
  { members, info, forbidden }: PreparedTransaction,
  planned: PlannedTransaction & { readonly isForHelper: boolean },
): OpenTransaction {
  // Two running Upkeeps would both recover the same remains.
  const { isForHelper } = planned;
  const isInGroup = members.length > 1;
  const { abilities } = info;
  const open = members.map((member) => {
    const { container } = member.planned;
    const fromPlan = memberFromPlan(member, planned);
    const startsFirst = !isInGroup && !isForHelper && mayStartFirst(member.planned, settings, log);
    const autoRemoves = fromPlan.autoRemoves || fromPlan.needsAutoRemoveReplica;
    const { keepMs, reason } = keepOrderOf(container, { settings, abilities, isInGroup, isForHelper, autoRemoves });
    if (reason !== undefined)
      log.info('A container is not kept after its update', { container: container.name, because: `It ${reason}` });
    return { ...fromPlan, startsFirst, keepMs };
  });
  const setsNoMarks = forbidden.includes('untag') ? true : undefined;
  const transaction = opened({ id: newId(), members: open, setsNoMarks }, info);
  // The first steps, mark and create, change nothing that exists. All facts are read after them.
  for (const { planned: one } of members)
    transaction.readBefore.set(one.container.id, { container: one.container, untilMs: Infinity });
  return transaction;
}

function mayStartFirst(
  { container, desiredEndState }: PlannedMember,
  settings: ServiceSettings,
  log: Pick<Log, 'info'>,
): boolean {
  const order = startOrderOf(container, settings);
  if (order.kind === 'impossible') {
    log.info('A container is stopped before its successor starts', {
      container: container.name,
      because: order.reason,
    });
  }
  return order.kind === 'start-first' && desiredEndState === 'running';
}
