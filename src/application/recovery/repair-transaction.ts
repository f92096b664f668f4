import type { MemberFacts } from '../../domain/transaction/facts.ts';
import type { RepairResult } from './background-repairs.ts';
import { describeError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { OwnWay, OwnWays } from '../../domain/self-update/own-ways.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { nameIsTaken } from '../../domain/recovery/unfinished-update.ts';
import { noRestart } from '../../domain/transaction/member.ts';
import { parkedName } from '../../domain/transaction/transaction-names.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import {
  failuresOf,
  rememberFailures,
  leftToNextStart,
  describeLostLinks,
  linksOfSuccessors,
} from '../transaction/outcomes.ts';
import type { OpenTransaction } from '../transaction/open-transaction.ts';
import { handOver } from '../transaction/hand-over.ts';
import type { StepContext } from '../transaction/create-successor.ts';
import { transact } from '../transaction/transact.ts';

export type Repair = {
  /** Of its containers. */
  readonly names: readonly string[];
  readonly transaction: OpenTransaction;
  readonly isHelper: boolean;
  /** It was tried before by this process. */
  readonly isAgain?: boolean | undefined;
  readonly ways: OwnWays;
  readonly whyDoorClosed?: StepContext['whyDoorClosed'];
  /** See `TransactOptions`. */
  readonly onWait?: (() => void) | undefined;
  /** An abort ends only the wait for an engine that is gone. */
  readonly signal?: AbortSignal | undefined;
};

/** Finishes or undoes one interrupted update. Never throws: an error is the reason of its result. */
export async function repairTransaction(
  outside: Outside,
  settings: ServiceSettings,
  { names, transaction, isHelper, isAgain = false, ways, whyDoorClosed, onWait, signal }: Repair,
): Promise<RepairResult> {
  if (!isHelper)
    outside.log[isAgain ? 'debug' : 'info']('An interrupted update was found, repairing it', { containers: names });
  try {
    const links = await linksOfSuccessors(outside, transaction.successors);
    const { result, reason, facts, failedImages, logs } = await transact({
      outside,
      settings,
      transaction,
      ways,
      onWait,
      whyDoorClosed,
      signal,
      mode: { kind: isHelper ? 'finish-as-helper' : 'recover' },
      onPhase: () => {},
    });
    if (result === 'left') return { containers: names, result: 'left', reason: leftToNextStart, isPending: true };
    if (result === 'aside') {
      const ids = facts?.members.flatMap(({ old, new: successor }) => [old?.id ?? '', successor?.id ?? '']) ?? [];
      const way = ids.map((id) => ways.get(id)).find((found) => found !== undefined);
      return await handOverToHelper(outside, { names, transaction, way, selfUpdate: settings.selfUpdate });
    }
    for (const log of logs.values()) outside.log.warn('The last lines that the new version has written', { log });
    await rememberFailures(outside, failuresOf(transaction, failedImages));
    if (result === 'stuck') return { containers: names, result: 'failed', reason };
    const displaced = facts?.members.find(
      ({ nameHeldBy, old }) => (nameHeldBy === 'stranger' || nameHeldBy === 'copy') && old !== undefined,
    );
    if (displaced !== undefined) {
      return {
        containers: names,
        result: 'left',
        reason: nameIsTaken(displaced.name, {
          name: parkedNameOf(displaced),
          status: displaced.old?.status ?? 'exited',
        }),
        isPending: true,
      };
    }
    const isFinished =
      result === 'committed' ||
      (facts?.members.every(isReplaced) === true && !(await isReplicaBack(outside, transaction)));
    const why = reason === '' && !isHelper ? 'the update had been interrupted' : reason;
    const lost = isFinished
      ? []
      : await Promise.all(transaction.members.map(({ oldId }) => describeLostLinks(outside, oldId, links.get(oldId))));
    return { containers: names, result: isFinished ? 'finished' : 'undone', reason: why + lost.join('') };
  } catch (error) {
    outside.log.error('An interrupted update could not be repaired', { containers: names, error });
    return { containers: names, result: 'failed', reason: describeError(error) };
  }
}

function parkedNameOf({ name, policy = noRestart, wasRunning }: MemberFacts): string {
  return parkedName(name, policy, wasRunning);
}

/** True if the old container cannot come back because a later version has its name. */
function isReplaced({ old, new: successor, nameHeldBy }: MemberFacts): boolean {
  const hasSuccessor = successor?.place === 'name' || nameHeldBy === 'new' || nameHeldBy === 'rival';
  return old === undefined && hasSuccessor;
}

/** Whether a stand-in has the name of its container, so that an earlier repair has undone the update. */
async function isReplicaBack({ engine }: Outside, { id, members }: OpenTransaction): Promise<boolean> {
  const holders = await Promise.all(members.map(({ name }) => engine.inspectContainer(name)));
  return holders.some((holder) => {
    const reading = readJournal(holder?.settings.Config.Labels ?? {});
    return reading.kind === 'journal' && reading.journal.role === 'standin' && reading.journal.transaction === id;
  });
}

type Aside = Pick<Repair, 'names' | 'transaction'> &
  Pick<ServiceSettings, 'selfUpdate'> & {
    /** The door that the next step would stop; undefined for our own container. */
    readonly way: OwnWay | undefined;
  };

/** Hands the transaction to a helper, because its next step would stop our own container, or the engine's door. */
async function handOverToHelper(
  outside: Outside,
  { names, transaction: { id, members }, way, selfUpdate }: Aside,
): Promise<RepairResult> {
  const [member] = members;
  const isPossible = way === undefined || (way.socketOf !== undefined && selfUpdate !== 'off');
  if (member === undefined || id === '' || !isPossible) {
    const reason = way === undefined ? 'it is Upkeep itself' : `it ${way.reason}: ${byHand}`;
    return { containers: names, result: 'left', reason, ...(way !== undefined && { isPending: true }) };
  }
  const { name, oldId, oldImageId, newImageId, reference, files = [] } = member;
  const order = { transaction: id, name, oldId, oldImageId, newImageId, reference };
  const needs = way?.socketOf === undefined ? { files } : { socketOf: way.socketOf };
  const failure = await handOver(outside, order, needs);
  return failure === undefined ? 'handed over' : { containers: names, result: 'failed', reason: failure };
}

const byHand = 'run "upkeep recover" on the host of the engine, with its own socket';
