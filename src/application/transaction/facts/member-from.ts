import type { Member } from '../../../domain/transaction/facts.ts';
import { isAlive, restartPolicyOf } from '../../../domain/container/container.ts';
import { hasSelfRemovingSuccessor, removesItself, type Journal } from '../../../domain/transaction/journal.ts';
import type { TransactionMark } from '../../../domain/transaction/transaction-names.ts';
import type { PlannedTransaction } from '../../../domain/plan/update-plan.ts';
import type { PreparedMember } from './prepare.ts';

/**
 * A member whose update is about to begin. Its old container is not kept, and is stopped before its successor starts.
 */
export function memberFromPlan(
  { planned, image, files, composeReference, laterEndpoints }: PreparedMember,
  { members }: PlannedTransaction,
): Member {
  const { container, reference, formerReference, desiredEndState, waitsFor } = planned;
  const isRunning = isAlive(container.state.status);
  return {
    ...unplanned,
    name: container.name,
    oldId: container.id,
    policy: restartPolicyOf(container),
    wasRunning: isRunning,
    ...(isRunning && container.state.health === 'unhealthy' && { wasUnhealthy: true }),
    desiredEndState,
    ...(files.length > 0 && { files }),
    ...(composeReference !== undefined && { composeReference }),
    waitsFor: waitsFor.map((awaited) => members.findIndex((other) => other.container.id === awaited)),
    reference,
    ...(formerReference !== undefined && { formerReference }),
    oldImageId: container.imageId,
    // The other tag was never on the old image.
    taggedBefore: formerReference === undefined ? container.imageId : '',
    targetImageId: image.id,
    newImageId: image.id,
    ...(planned.digest !== undefined && planned.imageId === undefined && { isPulled: true }),
    needsAutoRemoveReplica: removesItself(container) && isRunning,
    autoRemoves: hasSelfRemovingSuccessor(container),
    laterNetworks: laterEndpoints,
  };
}

/** A member from the journal that one of its containers carries. */
export function memberFromJournal(journal: Journal): Member {
  return { ...unplanned, ...journal };
}

/** A member from a mark alone, when every container with a journal is gone. */
export function memberFromMark(
  name: string,
  oldId: string,
  mark: Pick<TransactionMark, 'policy' | 'wasRunning' | 'imageId'> | undefined,
): Member {
  const wasRunning = mark?.wasRunning ?? false;
  return {
    ...unplanned,
    name,
    oldId,
    policy: mark?.policy,
    wasRunning,
    desiredEndState: wasRunning ? 'running' : 'stopped',
    newImageId: mark?.imageId ?? '',
  };
}

const unplanned = {
  reference: '',
  oldImageId: '',
  taggedBefore: '',
  keepMs: 0,
  autoRemoves: false,
  waitsFor: [],
  targetImageId: undefined,
  needsAutoRemoveReplica: false,
  startsFirst: false,
  laterNetworks: [],
} satisfies Partial<Member>;
