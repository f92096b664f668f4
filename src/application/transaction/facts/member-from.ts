import type { Member } from '../../../domain/transaction/facts.ts';
import { isAlive, restartPolicyOf } from '../../../domain/container/container.ts';
import { hasSelfRemovingSuccessor, removesItself } from '../../../domain/transaction/auto-remove.ts';
import type { Journal } from '../../../domain/transaction/journal.ts';
import type { OpenMark } from '../../../domain/transaction/open-mark.ts';
import type { PlannedTransaction } from '../../../domain/plan/update-plan.ts';
import type { PreparedMember } from './prepare.ts';

/** A member whose update is about to begin; its old container is not kept, and is stopped before its successor starts. */
export function memberFromPlan(
  { planned, image, laterEndpoints }: PreparedMember,
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
    desiredEndState,
    waitsFor: waitsFor.map((awaited) => members.findIndex((other) => other.container.id === awaited)),
    reference,
    ...(formerReference !== undefined && { formerReference }),
    oldImageId: container.imageId,
    // The old image was never behind the other tag.
    taggedBefore: formerReference === undefined ? container.imageId : '',
    targetImageId: image.id,
    newImageId: image.id,
    needsAutoRemoveReplica: removesItself(container) && isRunning,
    autoRemoves: hasSelfRemovingSuccessor(container),
    laterNetworks: laterEndpoints,
  };
}

/** Of the journals of a transaction that has a stand-in in it the container's own is found by its label, as its successor is. */
export function memberFromJournal(journal: Journal): Member {
  return { ...unplanned, ...journal };
}

/** All that is known where every carrier of a journal is gone. */
export function memberFromMark(
  name: string,
  oldId: string,
  mark: Pick<OpenMark, 'policy' | 'wasRunning' | 'imageId'> | undefined,
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
