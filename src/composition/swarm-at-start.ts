import { describeError, ServiceError } from '../domain/errors.ts';
import type { Log } from '../domain/outside/outside.ts';
import type { SwarmReader } from '../domain/outside/swarm.ts';
import type { ServiceSettings } from '../domain/settings/settings.ts';

export type SwarmStart = {
  readonly swarm: SwarmReader;
  readonly settings: Pick<ServiceSettings, 'swarm' | 'cleanup'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /** A service goes on with containers where a command ends. */
  readonly isService: boolean;
  readonly signal?: AbortSignal;
};

/**
 * Says at the start what becomes of the swarm's services. Throws a `ServiceError` for a command that asks for them where
 * there can be none.
 */
export async function tellOfSwarm({ swarm, settings, log, isService, signal }: SwarmStart): Promise<void> {
  const { requireManager } = await import('../application/engine/service-listing.ts');
  if (settings.swarm && !isService) return requireManager(swarm, signal);
  try {
    if (settings.swarm) await requireManager(swarm, signal);
    else await tellOfServicesLeftAlone(swarm, log, signal);
    if (settings.swarm && settings.cleanup)
      log.info('--cleanup does not reach the nodes of a swarm: their old images stay');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Without --swarm nobody has asked; with it, an engine that is away is told of by whoever needs it.
    if (settings.swarm && error.code === 'invalid-input')
      log.warn(`${describeError(error)}; containers are watched all the same`);
    else log.debug('The swarm cannot be asked', { error: describeError(error) });
  }
}

async function tellOfServicesLeftAlone(
  swarm: SwarmReader,
  log: Pick<Log, 'info'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((await swarm.state(signal)).kind !== 'manager') return;
  const { length } = await swarm.services(signal);
  if (length === 0) return;
  const services = length === 1 ? 'Its service is' : `Its ${length} services are`;
  log.info(`This engine manages a swarm. ${services} left alone: --swarm (UPKEEP_SWARM) watches them too`);
}
