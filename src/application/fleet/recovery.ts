import { describeError } from '../../domain/errors.ts';
import type { Log } from '../../domain/outside/outside.ts';
import type { Application } from '../application.ts';
import type { EachEngine } from './run/each-engine.ts';
import type { ReachedMember } from './member/member.ts';
import { failureOfAll, hasRun } from './run/merge.ts';

export type FleetRecovery = {
  readonly recover: Application['recover'];
  /** Recovers an engine that was away and is back. */
  readonly afterReturn: (member: ReachedMember, signal: AbortSignal) => Promise<void>;
};

/** Every engine for itself; one that is away is recovered when it is back, and a start does not wait for it. */
export function createFleetRecovery(
  members: readonly ReachedMember[],
  { each, log }: { readonly each: EachEngine; readonly log: Log },
): FleetRecovery {
  return {
    async recover(signal, order) {
      const work = ({ application }: ReachedMember) => application.recover(signal, order);
      const answers = await each(members, { work, isNamed: true, signal });
      if (!hasRun(answers)) throw failureOfAll(answers, 'look for interrupted updates');
      const awaitsHelper = answers.some(({ result }) => result?.awaitsHelper);
      return {
        transactions: answers.flatMap(({ member, result }) =>
          (result?.transactions ?? []).map((one) => ({ ...one, engine: member.name })),
        ),
        ...(awaitsHelper && { awaitsHelper }),
        engines: answers.map(({ run }) => run),
      };
    },
    async afterReturn({ name, application }, signal) {
      try {
        const { transactions } = await application.recover(signal);
        for (const { containers, result, reason } of transactions)
          log.info('What an earlier update left was looked at', { engine: name, containers, result, reason });
      } catch (error) {
        if (!signal.aborted)
          log.warn('The engine is back, and cannot be looked at', { engine: name, error: describeError(error) });
      }
    },
  };
}
