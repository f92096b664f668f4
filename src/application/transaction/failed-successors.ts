import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { logTail } from '../../domain/text/log-tail.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import { hasLostSuccessor, noteLostSuccessors } from '../../domain/transaction/memory/observe.ts';
import { noteFailure, type TransactionMemory } from '../../domain/transaction/memory/transaction-memory.ts';
import type { TransactOptions } from './transact-options.ts';
import { firstToEnd } from './facts/first-to-end.ts';

/** Reads from the engine's events whether a removed successor failed, or a person or program removed it. */
export async function causeOfEnd(
  { outside, transaction }: Pick<TransactOptions, 'outside' | 'transaction'>,
  memory: TransactionMemory,
  facts: TransactionFacts,
): Promise<TransactionMemory> {
  if (!hasLostSuccessor(memory, facts)) return memory;
  const first = await firstToEnd(outside, { members: transaction.members, successors: new Map(memory.successorIds) });
  if (first === undefined) return noteLostSuccessors(memory, facts);
  const isItsOwn = first.ownFault && memory.undisturbed.has(first.id);
  const reason = first.ownFault ? `the new version of "${first.name}" failed: ${first.reason}` : first.reason;
  return { ...(isItsOwn ? noteFailure(memory, first.id, facts) : memory), reason };
}

/** The last log lines of a successor, by the old container's id. Empty if the engine does not have them. */
export async function logOfFailed(
  { engine, log }: Pick<Outside, 'engine' | 'log'>,
  { members }: TransactionFacts,
  successorId: string,
): Promise<ReadonlyMap<string, string>> {
  const oldId = members.find((member) => member.new?.id === successorId)?.oldId;
  if (oldId === undefined) return new Map();
  try {
    const written = await engine.containerLogs(successorId, { tail: 50 });
    const successor = await engine.inspectContainer(successorId);
    return new Map([[oldId, logTail(written, successor?.settings.Config.Env ?? [])]]);
  } catch (error) {
    log.debug('the log of a failed successor could not be read', { error: describeError(error) });
    return new Map();
  }
}
