import { type ContainerSummary, restartPolicyOf } from '../domain/container.ts';
import { type Journal, readJournal } from '../domain/journal.ts';
import type { Outside } from '../domain/outside.ts';
import { samePolicy } from '../domain/transaction.ts';
import { isStandInName, parseStandingName } from '../domain/transaction-names.ts';
import { carriesJournal, type Member } from './facts.ts';
import type { RecoveredTransaction } from './recover.ts';

/** A transaction that is not over, as the engine shows it. */
export type FoundTransaction = {
  readonly id: string;
  readonly members: readonly Member[];
  readonly owner: string;
  readonly ownerContainer: string;
  readonly createdAtMs: number;
};

/** `left`: what another version of Upkeep has begun, and only that can end. */
export async function findOpen(
  outside: Outside,
  containers: readonly ContainerSummary[],
  nowMs: number,
): Promise<{ open: FoundTransaction[]; left: RecoveredTransaction[] }> {
  const byId = new Map(containers.map((container) => [container.id, container]));
  const open = new Map<string, FoundTransaction>();
  const left: RecoveredTransaction[] = [];
  const claimed = new Set<string>();
  const foreignNames = new Set<string>();
  for (const container of containers) {
    const standing = parseStandingName(container.name);
    const isParked = standing?.role === 'old' || standing?.role === 'drop';
    if ((isParked && !isStandInName(container.name)) || !carriesJournal(container.labels)) continue;
    const reading = readJournal(container.labels);
    if (reading.kind === 'none') continue;
    if (reading.kind === 'foreign') {
      if (standing !== undefined) {
        foreignNames.add(standing.name);
        left.push({ containers: [container.name], result: 'left', reason: reading.reason });
      }
      continue;
    }
    const { journal } = reading;
    if (!(await isOpen(outside, container, journal, byId, nowMs))) continue;
    claimed.add(journal.oldId).add(container.id);
    const known = open.get(journal.transaction);
    const others = (known?.members ?? []).filter(({ oldId }) => oldId !== journal.oldId);
    const members = inOrder([...others, memberOf(journal)], journal);
    open.set(journal.transaction, {
      id: journal.transaction,
      members,
      owner: journal.owner,
      ownerContainer: journal.ownerContainer,
      createdAtMs: Math.max(known?.createdAtMs ?? 0, container.createdAtMs),
    });
  }
  for (const container of containers) {
    const standing = parseStandingName(container.name);
    if ((standing?.role !== 'old' && standing?.role !== 'drop') || claimed.has(container.id)) continue;
    const { name, policy, wasRunning } = standing;
    if (foreignNames.has(name)) continue;
    const member = {
      name,
      oldId: container.id,
      policy,
      wasRunning,
      afterwards: wasRunning ? ('running' as const) : ('stopped' as const),
      waitsFor: [],
      reference: '',
      oldImageId: '',
      taggedBefore: '',
      targetImageId: undefined,
      newImageId: '',
      needsStandIn: false,
      isStandIn: isStandIn(container.labels),
      vanishes: false,
      startsFirst: false,
      keepMs: 0,
      laterNetworks: [],
    };
    open.set(container.id, { id: '', members: [member], owner: '', ownerContainer: '', createdAtMs: 0 });
  }
  return { open: [...open.values()], left };
}

/** A journal stays on a container as inert history; it is open while its old container, or a name of the transaction, exists. */
async function isOpen(
  outside: Outside,
  container: ContainerSummary,
  journal: Journal,
  byId: ReadonlyMap<string, ContainerSummary>,
  nowMs: number,
): Promise<boolean> {
  if (parseStandingName(container.name) !== undefined || journal.members.some(({ oldId }) => byId.has(oldId)))
    return true;
  const ageMs = nowMs - container.createdAtMs;
  if (container.name !== journal.name || ageMs > inertAfterMs) return false;
  const inspected = await outside.engine.inspectContainer(container.id);
  if (inspected === undefined) return false;
  const neverStarted = inspected.state.status === 'created' && journal.afterwards !== 'stopped';
  const lacksItsPolicy =
    restartPolicyOf(inspected).Name === 'no' && !samePolicy(restartPolicyOf(inspected), journal.policy);
  return neverStarted || lacksItsPolicy;
}

/** A successor without its policy whose old container is gone was interrupted, if it is this young; later it is a person's wish. */
const inertAfterMs = 24 * 3_600_000;

/** Only members whose successor exists: the others were not begun, or are repaired by the name of their old container. */
function inOrder(members: readonly Member[], journal: Journal): readonly Member[] {
  const place = new Map(journal.members.map(({ oldId }, index) => [oldId, index]));
  return members.toSorted((one, other) => (place.get(one.oldId) ?? 0) - (place.get(other.oldId) ?? 0));
}

/** Of the journals of a transaction that has a stand-in in it the container's own is found by its label, as its successor is. */
export function memberOf(journal: Journal): Member {
  const { name, oldId, policy, wasRunning, afterwards, keepMs, reference, oldImageId, newImageId, vanishes } = journal;
  const told = { name, oldId, policy, wasRunning, afterwards, keepMs, reference, oldImageId, newImageId, vanishes };
  const taggedBefore = journal.taggedBefore;
  return {
    ...told,
    taggedBefore,
    waitsFor: [],
    targetImageId: undefined,
    needsStandIn: false,
    startsFirst: false,
    laterNetworks: [],
  };
}

function isStandIn(labels: ContainerSummary['labels']): boolean {
  const reading = readJournal(labels);
  return reading.kind === 'journal' && reading.journal.role === 'standin';
}
