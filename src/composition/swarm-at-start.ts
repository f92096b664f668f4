import { describeError, ServiceError } from '../domain/text/errors.ts';
import type { Log } from '../domain/outside/outside.ts';
import type { SwarmReader } from '../domain/outside/engine.ts';
import type { ServiceSettings } from '../domain/settings/service-settings.ts';

/** `log` names the engine if there are several. */
export type SwarmOfEngine = { readonly swarm: SwarmReader; readonly log: Pick<Log, 'info' | 'warn' | 'debug'> };

export type SwarmStart = SwarmOfEngine & {
  readonly settings: Pick<ServiceSettings, 'swarm' | 'cleanup'>;
  /** Without a swarm, a service continues with containers; a command ends with an error. */
  readonly isService: boolean;
  readonly signal?: AbortSignal;
};

/**
 * Reports at the start how the swarm's services are treated. Throws a `ServiceError` for a command with --swarm if
 * there are no services to manage.
 */
export async function reportSwarm({ swarm, settings, log, isService, signal }: SwarmStart): Promise<void> {
  const { requireManager } = await import('../application/engine/service-listing.ts');
  if (settings.swarm && !isService) return requireManager(swarm, signal);
  try {
    if (settings.swarm) await requireManager(swarm, signal);
    else await logIgnoredServices(swarm, log, signal);
    if (settings.swarm && settings.cleanup)
      log.info('--cleanup does not reach the nodes of a swarm: their old images stay');
  } catch (error) {
    if (isService && signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    // Without --swarm nothing is reported. With it, the first use of an unreachable engine reports it.
    if (settings.swarm && error.code === 'invalid-input')
      log.warn(`${describeError(error)}; only containers are watched`);
    else log.debug('The swarm cannot be asked', { error: describeError(error) });
  }
}

async function logIgnoredServices(
  swarm: SwarmReader,
  log: Pick<Log, 'info'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((await swarm.state(signal)).kind !== 'manager') return;
  const { length } = await swarm.services(signal);
  if (length === 0) return;
  const [services, them] = length === 1 ? ['Its service is', 'it'] : [`Its ${length} services are`, 'them'];
  log.info(`This engine manages a swarm. ${services} left alone: --swarm (UPKEEP_SWARM) watches ${them} too`);
}
