import { type ContainerSummary, isAlive, restartPolicyOf } from '../domain/container.ts';
import { describeError } from '../domain/errors.ts';
import { type Journal, readJournal } from '../domain/journal.ts';
import type { Outside } from '../domain/outside.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import { samePolicy } from '../domain/transaction.ts';
import { isStandInName, parseStandingName } from '../domain/transaction-names.ts';
import { rememberFailures } from './failed-versions.ts';
import { carriesJournal, type Member, type OpenTransaction } from './facts.ts';
import { transact } from './transact.ts';

/** What a start found of interrupted updates, and what became of each. */
export type RecoveryReport = {
  readonly transactions: readonly RecoveredTransaction[];
};

export type RecoveredTransaction = {
  readonly containers: readonly string[];
  /** `finished`: the new version runs; `undone`: the old one; `left`: not ours to touch now; `failed`: tried in vain. */
  readonly result: 'finished' | 'undone' | 'left' | 'failed';
  readonly reason: string;
};

/**
 * Finishes or undoes what interrupted updates left, from the engine's state alone. Where nothing was
 * left it makes no state-changing call. `onListed` hears what the engine holds before anything is
 * done. Throws a `ServiceError` when the engine cannot be read.
 */
export async function recoverTransactions(
  outside: Outside,
  settings: ServiceSettings,
  signal?: AbortSignal,
  onListed?: (containers: readonly ContainerSummary[]) => void,
): Promise<RecoveryReport> {
  const [info, containers] = await Promise.all([
    outside.engine.info(signal),
    outside.engine.listContainers({}, signal),
  ]);
  onListed?.(containers);
  const found = await findOpen(outside, containers, info.nowMs);
  const transactions: RecoveredTransaction[] = [...found.left];
  for (const { id, members, owner, ownerContainer, createdAtMs } of found.open) {
    if (signal?.aborted) break;
    const names = members.map(({ name }) => name);
    const reason = await whyNotOurs(outside, { owner, ownerContainer, ageMs: info.nowMs - createdAtMs });
    if (reason !== undefined) {
      transactions.push({ containers: names, result: 'left', reason });
      continue;
    }
    transactions.push(
      await recoverOne(outside, settings, names, {
        id,
        members,
        liveRestore: info.liveRestore,
        changesRestartPolicies: info.abilities.changesRestartPolicies,
        successors: new Map(),
        standIns: new Map(),
      }),
    );
  }
  return { transactions };
}

async function recoverOne(
  outside: Outside,
  settings: ServiceSettings,
  names: readonly string[],
  transaction: OpenTransaction,
): Promise<RecoveredTransaction> {
  outside.log.info('an interrupted update was found, repairing it', { containers: names });
  try {
    const { result, reason, facts, failedImages } = await transact({
      outside,
      settings,
      transaction,
      prepared: undefined,
      onPhase: () => {},
    });
    const failures = transaction.members.flatMap(({ name, oldId, oldImageId }) => {
      const failedImageId = failedImages.get(oldId);
      return failedImageId === undefined ? [] : [{ name, oldImageId, failedImageId }];
    });
    await rememberFailures(outside, failures);
    if (result === 'stuck') return { containers: names, result: 'failed', reason };
    const displaced = facts?.members.find((member) => member.nameHeldBy === 'stranger' && member.old !== undefined);
    if (displaced !== undefined) {
      return {
        containers: names,
        result: 'left',
        reason: `another container holds the name "${displaced.name}"; the old one stays parked and stopped beside it`,
      };
    }
    return {
      containers: names,
      result: result === 'committed' ? 'finished' : 'undone',
      reason: reason === '' ? 'the update had been interrupted' : reason,
    };
  } catch (error) {
    outside.log.error('an interrupted update could not be repaired', { containers: names, error });
    return { containers: names, result: 'failed', reason: describeError(error) };
  }
}

type Found = {
  readonly id: string;
  readonly members: readonly Member[];
  readonly owner: string;
  readonly ownerContainer: string;
  readonly createdAtMs: number;
};

async function findOpen(
  outside: Outside,
  containers: readonly ContainerSummary[],
  nowMs: number,
): Promise<{ open: Found[]; left: RecoveredTransaction[] }> {
  const byId = new Map(containers.map((container) => [container.id, container]));
  const open = new Map<string, Found>();
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

/** Longer than any transaction takes: the longest stop and the longest health check together. */
const longestTransactionMs = 2 * 3_600_000;

type Owner = { readonly owner: string; readonly ownerContainer: string; readonly ageMs: number };

async function whyNotOurs(outside: Outside, { owner, ownerContainer, ageMs }: Owner): Promise<string | undefined> {
  if (owner === '') return undefined;
  const state = outside.instance.ownerState(owner);
  if (state === 'alive') return 'another instance of Upkeep is at it';
  if (state !== 'unknown' || ageMs < 0 || ageMs >= longestTransactionMs) return undefined;
  if (ownerContainer === '')
    return 'another instance of Upkeep may be at it; it is taken over when it is two hours old';
  return (await runsInAnother(outside, ownerContainer)) ? 'another instance of Upkeep is at it' : undefined;
}

/** The engine itself tells of an owner that ran in one of its containers. */
async function runsInAnother({ engine, instance }: Outside, id: string): Promise<boolean> {
  if (id === instance.containerId) return false;
  const container = await engine.inspectContainer(id);
  return container !== undefined && isAlive(container.state.status);
}

/** Only members whose successor exists: the others were not begun, or are repaired by the name of their old container. */
function inOrder(members: readonly Member[], journal: Journal): readonly Member[] {
  const place = new Map(journal.members.map(({ oldId }, index) => [oldId, index]));
  return members.toSorted((one, other) => (place.get(one.oldId) ?? 0) - (place.get(other.oldId) ?? 0));
}

/** Of the journals of a transaction that has a stand-in in it the container's own is found by its label, as its successor is. */
function memberOf(journal: Journal): Member {
  const { name, oldId, policy, wasRunning, afterwards, reference, oldImageId, newImageId, vanishes } = journal;
  const told = { name, oldId, policy, wasRunning, afterwards, reference, oldImageId, newImageId, vanishes };
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
