import { hasSelfRemovingSuccessor, removesItself } from '../../domain/transaction/auto-remove.ts';
import { isAlive, restartPolicyOf } from '../../domain/container/container.ts';
import type { Log, Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { keepOrderOf } from '../../domain/plan/keep-old.ts';
import { startOrderOf } from '../../domain/plan/start-first.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import type { Member, OpenTransaction } from './facts/facts.ts';
import type { PreparedMember, PreparedTransaction } from './facts/prepare.ts';
import { createStopTimes } from './facts/stop-times.ts';

/** A transaction that is about to begin, of which nothing is in the engine yet. */
export function openTransaction(
  { newId, log, instance }: Pick<Outside, 'newId' | 'log' | 'instance'>,
  settings: ServiceSettings,
  { members, info }: PreparedTransaction,
  planned: PlannedTransaction,
): OpenTransaction {
  // Two running Upkeeps would both recover the same remains.
  const isOwn = members.some(({ planned: { container } }) => container.id === instance.containerId);
  const startsFirst = (member: PreparedMember) =>
    members.length === 1 && !isOwn && mayStartFirst(member.planned, settings, log);
  return {
    id: newId(),
    members: members.map((member) => {
      const told = memberOf(member, planned);
      const parts = { ...told, info, settings, log, isOwn, isInGroup: members.length > 1 };
      return { ...told, startsFirst: startsFirst(member), keepMs: keepMsOf(member.planned, parts) };
    }),
    liveRestore: info.liveRestore,
    changesRestartPolicies: info.abilities.changesRestartPolicies,
    successors: new Map(),
    standIns: new Map(),
    marks: new Map(),
    tagsBefore: new Map(),
    stopTimes: createStopTimes(),
  };
}

function mayStartFirst(
  { container, afterwards }: PlannedMember,
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
  return order.kind === 'start-first' && afterwards === 'running';
}

type KeepParts = Pick<Member, 'needsStandIn' | 'vanishes'> & {
  readonly info: PreparedTransaction['info'];
  readonly settings: ServiceSettings;
  readonly isInGroup: boolean;
  readonly isOwn: boolean;
  readonly log: Pick<Log, 'info'>;
};

function keepMsOf({ container }: PlannedMember, { needsStandIn, info, log, ...parts }: KeepParts): number {
  const vanishes = parts.vanishes || needsStandIn;
  const { keepMs, reason } = keepOrderOf(container, { ...parts, vanishes, abilities: info.abilities });
  if (reason !== undefined)
    log.info('A container is not kept after its update', { container: container.name, because: `It ${reason}` });
  return keepMs;
}

function memberOf(
  { planned, image, laterEndpoints }: PreparedMember,
  { members }: PlannedTransaction,
): Omit<Member, 'startsFirst' | 'keepMs'> {
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
