import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { FailedServiceVersion, SwarmReader, SwarmState } from '../../domain/outside/engine.ts';
import type { SwarmNode, SwarmService } from '../../domain/container/swarm-service.ts';

/** The services of a swarm with their tasks and nodes, from one reading. */
export type ServiceListing = {
  readonly services: readonly SwarmService[];
  readonly nodes: readonly SwarmNode[];
  readonly failures: readonly FailedServiceVersion[];
};

/**
 * Lists the services. Undefined outside a swarm, and if services are not watched. Asks the node for its role first,
 * because a swarm without a leader takes 20 s to answer. Throws a `ServiceError`.
 */
export async function listServices(
  { swarm, log }: Pick<ReadOnlyOutside, 'swarm' | 'log'>,
  signal?: AbortSignal,
): Promise<ServiceListing | undefined> {
  if (swarm === undefined) return undefined;
  const state = await swarm.state(signal);
  if (state.kind === 'leaderless') throw leaderless(state.message);
  if (state.kind !== 'manager') {
    log.debug('No services are watched', { reason: whyNoManager(state) });
    return undefined;
  }
  const [services, nodes, failures] = await Promise.all([
    swarm.services(signal),
    swarm.nodes(signal),
    readFailures(swarm, log, signal),
  ]);
  return { services: services.toSorted((one, other) => compare(one.name, other.name)), nodes, failures };
}

/** Throws an error for a person who asked for services on an engine that cannot have any. */
export async function requireManager(swarm: Pick<SwarmReader, 'state'>, signal?: AbortSignal): Promise<void> {
  const state = await swarm.state(signal);
  if (state.kind === 'leaderless') throw leaderless(state.message);
  if (state.kind === 'manager') return;
  throw new ServiceError('invalid-input', `Cannot use --swarm: ${whyNoManager(state)}`, {
    remedy: 'Name a manager of the swarm with --host, or remove --swarm (UPKEEP_SWARM)',
  });
}

export function whyNoManager({ kind }: Pick<SwarmState, 'kind'>): string {
  return kind === 'worker'
    ? 'this engine is a worker of its swarm, and only a manager knows the services'
    : 'this engine is in no swarm';
}

function leaderless(message: string): ServiceError {
  return new ServiceError('engine-unreachable', `Cannot list the services of the swarm: it has no leader: ${message}`, {
    remedy: 'Bring back the majority of its managers: docker node ls',
  });
}

/** A proxy may forbid configs. The swarm's own update state is then the only memory. */
async function readFailures(
  swarm: SwarmReader,
  log: Pick<ReadOnlyOutside['log'], 'warn'>,
  signal: AbortSignal | undefined,
): Promise<readonly FailedServiceVersion[]> {
  try {
    return await swarm.failures(signal);
  } catch (error) {
    if (signal?.aborted || !(error instanceof ServiceError) || error.code === 'engine-unreachable') throw error;
    log.warn('Versions that failed in services cannot be read', { error: describeError(error) });
    return [];
  }
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
