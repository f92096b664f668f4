import { effectiveSettings, readLabels, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { summaryOfService, type SwarmService } from '../../domain/container/swarm-service.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceCallOutcome, Swarm } from '../../domain/outside/engine.ts';
import {
  decideService,
  watchService,
  type Fault,
  type ServiceFacts,
  type ServiceLimits,
  type ServiceStep,
  type ServiceUpdate,
  type ServiceWatch,
} from '../../domain/swarm/decide-service.ts';

export type ServiceEnd = Omit<Extract<ServiceStep, { kind: 'end' }>, 'kind' | 'outcome'> & {
  readonly outcome: Extract<ServiceStep, { kind: 'end' }>['outcome'] | 'unknown' | 'skipped';
};

export type FollowOrder = {
  readonly update: ServiceUpdate;
  readonly watch: ServiceWatch;
  readonly limits: ServiceLimits;
  /** The call that begins the update. Absent if an earlier update is only followed. */
  readonly begin?: (service: SwarmService) => Promise<ServiceCallOutcome>;
  readonly onWait?: (step: Extract<ServiceStep, { kind: 'wait' }>) => void;
};

type World = Pick<Outside, 'clock' | 'log'> & { readonly swarm: Swarm };

/**
 * Follows the update of a service to its end: reads the facts, performs the next step, repeats. The swarm continues
 * without Upkeep, so an abort only ends the following; the next start reads the result.
 */
export async function followService(
  { swarm, clock, log }: World,
  { update, watch: firstWatch, limits, begin, onWait }: FollowOrder,
  signal?: AbortSignal,
): Promise<ServiceEnd> {
  let watch = firstWatch;
  let [updateCalls, rollbackCalls] = [0, 0];
  let requested: Fault | undefined;
  let unreadSinceMs: number | undefined;
  for (;;) {
    if (signal?.aborted) {
      if (!watch.isBegun) return { outcome: 'skipped', reason: 'The run was cancelled before its turn' };
      return {
        outcome: 'deferred',
        reason: 'Upkeep was stopped; the swarm continues, and the next start checks the result',
      };
    }
    let facts: ServiceFacts;
    try {
      const nowMs = clock.monotonicMs();
      facts = { update, nowMs, ...(await readService(swarm, update.serviceId, signal)) };
      unreadSinceMs = undefined;
    } catch (error) {
      if (signal?.aborted) continue;
      if (!(error instanceof ServiceError)) throw error;
      unreadSinceMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - unreadSinceMs >= longestUnreadMs) {
        return {
          outcome: watch.isBegun ? 'unknown' : 'skipped',
          reason: `The swarm cannot be read: ${describeError(error)}`,
        };
      }
      await clock.sleep(readEveryMs * 4, signal).catch(() => undefined);
      continue;
    }
    watch = watchService(watch, facts);
    const step = decideService(facts, watch, limits);
    switch (step.kind) {
      case 'end':
        return requested === undefined || step.outcome === 'deferred'
          ? step
          : { ...step, ...withRequestedReason(step, requested) };
      case 'update': {
        if (begin === undefined) return { outcome: 'deferred', reason: 'A repair does not begin an update' };
        if (updateCalls === mostTries)
          return { outcome: 'deferred', reason: 'Somebody else keeps changing the service' };
        updateCalls += 1;
        const outcome = await begin(facts.service as SwarmService);
        if (outcome.kind === 'done') watch = { ...watch, isBegun: true };
        if (outcome.kind === 'refused')
          return { outcome: 'failed', reason: `The swarm refused the update: ${outcome.message}` };
        if (outcome.kind === 'unknown')
          log.warn('The answer to an update of a service got lost', { reason: outcome.message });
        break;
      }
      case 'go back': {
        const { kind: _, ...fault } = step;
        if (rollbackCalls === mostTries) {
          return { outcome: 'failed', reason: `${fault.reason}; the swarm did not roll it back`, fault };
        }
        rollbackCalls += 1;
        requested = fault;
        const outcome = await swarm.rollBack(facts.service as SwarmService);
        if (outcome.kind === 'refused') {
          return {
            outcome: 'failed',
            reason: `${fault.reason}; the swarm refused the rollback: ${outcome.message}`,
            fault,
          };
        }
        break;
      }
      case 'wait':
        onWait?.(step);
    }
    await clock.sleep(readEveryMs, signal).catch(() => undefined);
  }
}

/** The swarm's updater takes steps of a second. A manager answers within milliseconds. */
const readEveryMs = 400;

/** A swarm that has lost its leader answers again after 20 s, if a majority of its managers still runs. */
const longestUnreadMs = 120_000;

const mostTries = 3;

/** A service with its tasks and nodes. */
export async function readService(
  swarm: Swarm,
  serviceId: string,
  signal?: AbortSignal,
): Promise<Pick<ServiceFacts, 'service' | 'tasks' | 'nodes'>> {
  const [service, tasks, nodes] = await Promise.all([
    swarm.service(serviceId, signal),
    swarm.tasks([serviceId], signal),
    swarm.nodes(signal),
  ]);
  return { service, tasks, nodes };
}

/** Upkeep requested the rollback, so its reason counts. The tasks may have reported other reasons since. */
function withRequestedReason(
  { outcome, reason }: Extract<ServiceStep, { kind: 'end' }>,
  requested: Fault,
): Pick<ServiceEnd, 'reason' | 'fault'> {
  return { reason: outcome === 'rolled_back' ? requested.reason : reason, fault: requested };
}

/** The limits of a service from its labels and the settings. */
export function limitsOf(service: SwarmService, settings: ServiceSettings): ServiceLimits {
  const { wishes } = readLabels(summaryOfService(service).labels, {});
  const { gateWindowMs, gateTimeoutMs, pullTimeoutMs } = effectiveSettings(settings, wishes);
  const windowMs = Math.max(service.monitorMs, gateWindowMs);
  return { windowMs, proofMs: windowMs + (gateTimeoutMs ?? defaultTimeoutMs), stallMs: pullTimeoutMs };
}

/** The swarm counts a task as running once its HEALTHCHECK has passed, so most of the wait is over then. */
const defaultTimeoutMs = 60_000;
