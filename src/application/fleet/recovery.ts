import { describeError } from '../../domain/errors.ts';
import type { Log } from '../../domain/outside/outside.ts';
import type { Application } from '../application.ts';
import { chooseEngines } from './member/choose-engines.ts';
import type { EachEngine } from './run/each-engine.ts';
import type { SwarmMembers } from './swarm/swarm-members.ts';
import type { ReachedMember } from './member/member.ts';
import { failureOfAll, hasRun, runsOf } from './run/merge.ts';

export type FleetRecovery = {
  readonly recover: Application['recover'];
  /** Recovers an engine that answers again. */
  readonly afterReturn: (member: ReachedMember, signal: AbortSignal) => Promise<void>;
};

/** Recovers each engine on its own. A start does not wait for an unreachable engine: its recovery follows later. */
export function createFleetRecovery(
  members: readonly ReachedMember[],
  { each, log, swarms }: { readonly each: EachEngine; readonly log: Log; readonly swarms: Pick<SwarmMembers, 'of'> },
): FleetRecovery {
  return {
    async recover(signal, order) {
      const work = ({ application }: ReachedMember) => application.recover(signal, order);
      const chosen = chooseEngines(members, order?.engines);
      const ofEngines = each(chosen, { work, isNamed: true, signal });
      const ofSwarms = swarms.of(chosen, signal).then((found) => each(found, { work, isNamed: true, signal }));
      const answers = [...(await ofEngines), ...(await ofSwarms)];
      if (!hasRun(answers)) throw failureOfAll(answers, 'look for interrupted updates');
      const awaitsHelper = answers.some(({ result }) => result?.awaitsHelper);
      return {
        transactions: answers.flatMap(({ member, result }) =>
          (result?.transactions ?? []).map((one) => ({ ...one, engine: member.name })),
        ),
        ...(awaitsHelper && { awaitsHelper }),
        engines: runsOf(answers),
      };
    },
    async afterReturn({ name, application }, signal) {
      try {
        const { transactions } = await application.recover(signal);
        for (const { containers, result, reason } of transactions)
          log.info('The remains of an earlier update were checked', { engine: name, containers, result, reason });
      } catch (error) {
        if (!signal.aborted)
          log.warn('The engine is back, but its interrupted updates cannot be checked', {
            engine: name,
            error: describeError(error),
          });
      }
    },
  };
}
