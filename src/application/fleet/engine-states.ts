import type { EngineState } from '../../domain/fleet/engine-state.ts';
import { sumOfKnown } from './inventory.ts';
import type { ReachedMember } from './member/member.ts';
import { describeUnreachable } from './member/reachability.ts';

/** The state of each engine. Its counts include the services of the swarms under its name. */
export function statesOf(
  members: readonly ReachedMember[],
  swarms: readonly ReachedMember[],
  lastRunOf: (engine: string) => number | undefined,
): readonly EngineState[] {
  return members.map(({ name, address, application, reach }) => {
    const own = [application, ...swarms.filter((swarm) => swarm.name === name).map((swarm) => swarm.application)];
    const inventories = own.map((each) => each.inventory());
    const failure = reach.failure();
    return {
      name,
      address,
      lastRunAtMs: lastRunOf(name),
      kind: reach.about()?.kind,
      version: reach.about()?.version,
      reachable: reach.isReachable(),
      sinceMs: reach.sinceMs(),
      error: failure === undefined ? undefined : describeUnreachable(failure),
      containers: inventories.reduce((sum, { containers }) => sum + containers.length, 0),
      updatesAvailable: sumOfKnown(inventories.map(({ updatesAvailable }) => updatesAvailable)),
    };
  });
}
