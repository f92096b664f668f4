import { ServiceError, describeError } from '../../domain/errors.ts';
import type { UpdatePhase } from '../../domain/run/session.ts';
import { decide } from '../../domain/transaction/decide.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import { endRehearsal, heedAbort, isForHelper, rehearsed } from './decision.ts';
import { describeStep } from './describe-step.ts';
import { readFacts } from './facts/facts.ts';
import { type Journey, beginJourney } from './journey.ts';
import { createPruneWatch } from './prune-watch.ts';
import { backoffMs, reconnectLimitMs, refusalLimitMs } from './step-limits.ts';
import { perform } from './steps/perform.ts';
import type { TransactOptions, TransactResult } from './transact-options.ts';

/** The loop that an update and a recovery are: read the facts, decide, perform, until there is nothing left to do. */
export async function transact(options: TransactOptions): Promise<TransactResult> {
  const { outside, onPhase } = options;
  const prunes = createPruneWatch(
    outside,
    options.transaction.members.map(({ oldId }) => oldId),
  );
  const journey = beginJourney(options, prunes.pruned);
  let phase: UpdatePhase | undefined;
  for (;;) {
    const readAtMs = outside.clock.monotonicMs();
    const facts = await factsWhenReachable(options, journey);
    if (facts === undefined) return conclude(journey, 'stuck');
    journey.observe(facts);
    if (journey.takesUp(facts)) continue;
    prunes.see(facts, readAtMs);
    if (options.prepared !== undefined && (await prunes.hasTaken(facts))) continue;
    const decision = endRehearsal(options, heedAbort(options, decide(facts)));
    switch (decision.kind) {
      case 'turn':
        await journey.blameWhoEnded(facts);
        journey.turnBack(decision.reason, decision.busy, decision === rehearsed);
        continue;
      case 'end':
        return conclude(journey, decision.result);
      case 'stuck':
        journey.blame(`${describeStep(decision.step, facts)} failed: ${journey.lastRefusal(decision.step)}`);
        return conclude(journey, 'stuck');
      case 'step':
        break;
    }
    if (isForHelper(options, decision)) return conclude(journey, 'aside');
    if (phase !== decision.phase) onPhase((phase = decision.phase));
    const outcome = await perform(options, decision.step);
    outside.log.debug('transaction step', { step: decision.step, outcome });
    await journey.learn(decision, outcome, facts);
  }
}

async function factsWhenReachable(options: TransactOptions, journey: Journey): Promise<TransactionFacts | undefined> {
  const { outside, transaction } = options;
  const begunAt = outside.clock.monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readFacts(options, transaction, journey.course());
    } catch (error) {
      const hasAnswered = error instanceof ServiceError && error.code === 'engine-refused';
      const limitMs = hasAnswered ? refusalLimitMs : reconnectLimitMs;
      if (!(error instanceof ServiceError) || outside.clock.monotonicMs() - begunAt > limitMs) {
        journey.blame(describeError(error));
        if (!(error instanceof ServiceError))
          outside.log.error('the state of a transaction could not be read', { error });
        return undefined;
      }
      journey.disturbed();
      outside.log.debug('the engine does not answer, trying again', { error: error.message });
      await outside.clock.sleep(backoffMs(attempt));
    }
  }
}

function conclude(journey: Journey, result: TransactResult['result']): TransactResult {
  return { result, ...journey.state() };
}
