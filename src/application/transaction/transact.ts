import { decide } from '../../domain/transaction/decide.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import type { UpdatePhase } from '../../domain/run/session.ts';
import { describeStep } from '../../domain/transaction/memory/describe-step.ts';
import { expectAfter, mayRestOnExpectation } from '../../domain/transaction/memory/expected-facts.ts';
import { learn } from '../../domain/transaction/memory/learn.ts';
import { beginMemory, blame, turnBack } from '../../domain/transaction/memory/transaction-memory.ts';
import { type Decision, type Step, stepKey } from '../../domain/transaction/step.ts';
import { isForHelper, orTurnBack, rehearsed } from './decision.ts';
import { createFactsReader } from './facts-reader.ts';
import { logOfFailed, whoEnded } from './failed-successors.ts';
import { perform } from './steps/perform.ts';
import type { TransactOptions, TransactResult } from './transact-options.ts';

/**
 * The loop of every update and recovery: read the facts, decide, perform, learn, until nothing is left to do. A
 * harmless step may be based on the facts that earlier steps are expected to have caused. If it is refused, the facts
 * are read before the refusal counts.
 */
export async function transact(options: TransactOptions): Promise<TransactResult> {
  const { outside, mode, onPhase } = options;
  const context = { ...options, prepared: 'prepared' in mode ? mode.prepared : undefined };
  const reader = createFactsReader(options);
  const logs = new Map<string, string>();
  let memory = beginMemory(mode.kind);
  let facts: TransactionFacts | undefined;
  let isExpected = false;
  let phase: UpdatePhase | undefined;
  const conclude = (result: TransactResult['result']): TransactResult => ({ ...memory, result, facts, logs });
  for (;;) {
    if (!isExpected) {
      const reading = await reader.read(memory);
      memory = reading.memory;
      if (reading.kind === 'unreadable') return conclude('stuck');
      facts = reading.facts;
      if (reading.kind === 'outdated') continue;
    }
    if (facts === undefined) throw new Error('a transaction without facts');
    facts = { ...facts, memory: memory };
    const decision = orTurnBack(options, decide(facts));
    const wasExpected = isExpected;
    isExpected = false;
    if (wasExpected && !mayRestOnExpectation(decision)) continue;
    switch (decision.kind) {
      case 'turn':
        memory = turnBack(
          await whoEnded(options, memory, facts),
          decision.reason,
          decision.busy,
          decision === rehearsed,
        );
        continue;
      case 'end':
        return conclude(decision.result);
      case 'stuck': {
        const why = memory.refusals.get(stepKey(decision.step)) ?? 'it had no effect';
        memory = blame(memory, `${describeStep(decision.step, facts)} failed: ${why}`);
        return conclude('stuck');
      }
      case 'step':
        break;
    }
    if (isForHelper(options, decision)) return conclude('aside');
    if (phase !== decision.phase) onPhase((phase = decision.phase));
    const outcome = await perform(context, decision.step);
    outside.log.debug('transaction step', { step: decision.step, outcome });
    if (wasExpected && outcome.kind === 'refused' && decision.step.kind !== 'create') {
      const reading = await reader.read(memory);
      memory = reading.memory;
      if (reading.kind !== 'read' || reading.facts === undefined) continue;
      facts = { ...reading.facts, memory: memory };
      if (!isRefusalOf(decision.step, outcome, decide(facts))) continue;
    }
    const learned = learn(memory, decision, outcome, facts);
    memory = learned.memory;
    if (learned.logOf !== undefined)
      for (const [id, log] of await logOfFailed(outside, facts, learned.logOf)) logs.set(id, log);
    if (learned.pauseMs !== undefined) await outside.clock.sleep(learned.pauseMs);
    const expected = outcome.kind === 'done' ? expectAfter(facts, decision.step, memory) : undefined;
    isExpected = expected !== undefined;
    facts = expected ?? facts;
  }
}

/** Whether the refusal concerns the step itself, and not facts that differ from the expected ones. */
function isRefusalOf(step: Step, { status }: { readonly status: number }, now: Decision): boolean {
  return status === nameIsTaken || (now.kind === 'step' && stepKey(now.step) === stepKey(step));
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerRename */
const nameIsTaken = 409;
