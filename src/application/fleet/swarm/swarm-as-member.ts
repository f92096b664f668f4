import type { SwarmOfEngines } from '../../../domain/fleet/group-by-swarm.ts';
import type { Swarm } from '../../../domain/outside/swarm.ts';
import type { EngineApplication } from '../../application.ts';
import type { Reachability, ReachedMember } from '../member/member.ts';

/** The application without Upkeep's own container, which its own engine shows. */
export function onlyServices(application: EngineApplication, { services }: Pick<Swarm, 'services'>): EngineApplication {
  return {
    ...application,
    containerNames: async (signal) => (await services(signal)).map(({ name }) => name),
    unwatched: () => application.unwatched().filter(({ kind }) => kind !== 'swarm task'),
  };
}

/** A swarm as a member of the fleet, under the name of its first manager. */
export function asMember({ managers }: SwarmOfEngines<ReachedMember>, application: EngineApplication): ReachedMember {
  const [{ name, address, info }] = managers;
  return { name, address, info, application, reach: reachOf(managers) };
}

/** A swarm is reachable as long as one of its managers is. */
function reachOf(managers: SwarmOfEngines<ReachedMember>['managers']): Reachability {
  const [{ reach: ofOwner }] = managers;
  const answers = managers.map(({ reach }) => reach.isReachable());
  const isReachable = answers.every((one) => one === false) ? false : answers.includes(true) || undefined;
  return {
    isReachable: () => isReachable,
    sinceMs: ofOwner.sinceMs,
    failure: ofOwner.failure,
    about: ofOwner.about,
    note: () => {},
  };
}
