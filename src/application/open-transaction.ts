import { hasSelfRemovingSuccessor, removesItself } from '../domain/auto-remove.ts';
import { isAlive, restartPolicyOf } from '../domain/container.ts';
import type { PlannedTransaction } from '../domain/update-plan.ts';
import type { Member, OpenTransaction } from './facts.ts';
import type { PreparedMember, PreparedTransaction } from './prepare.ts';

/** A transaction that is about to begin, of which nothing is in the engine yet; `id` is fresh. */
export function openTransaction(
  id: string,
  { members, info }: PreparedTransaction,
  planned: PlannedTransaction,
): OpenTransaction {
  return {
    id,
    members: members.map((member) => memberOf(member, planned)),
    liveRestore: info.liveRestore,
    changesRestartPolicies: info.abilities.changesRestartPolicies,
    successors: new Map(),
    standIns: new Map(),
  };
}

function memberOf({ planned, image, laterEndpoints }: PreparedMember, { members }: PlannedTransaction): Member {
  const { container, reference, afterwards, waitsFor } = planned;
  return {
    name: container.name,
    oldId: container.id,
    policy: restartPolicyOf(container),
    wasRunning: isAlive(container.state.status),
    afterwards,
    waitsFor: waitsFor.map((awaited) => members.findIndex((other) => other.container.id === awaited)),
    reference,
    oldImageId: container.imageId,
    taggedBefore: container.imageId,
    targetImageId: image.id,
    newImageId: image.id,
    needsStandIn: removesItself(container) && isAlive(container.state.status),
    vanishes: hasSelfRemovingSuccessor(container),
    laterNetworks: laterEndpoints,
  };
}
