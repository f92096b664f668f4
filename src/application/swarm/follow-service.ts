import { effectiveSettings, readLabels, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import {
  digestIn,
  type SwarmService,
  openUpdate,
  isRolledBackBySwarm,
  type ServiceUpdate,
} from '../../domain/container/swarm-service.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceCallOutcome, Swarm, FailedServiceVersion } from '../../domain/outside/engine.ts';
import {
  decideService,
  watchService,
  isLongProven,
  versionRolledBackBySwarm,
  beginWatch,
  type Fault,
  type ServiceFacts,
  type ServiceLimits,
  type ServiceStep,
  type ServiceWatch,
} from '../../domain/swarm/decide-service.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import type { RecoveryOrder } from '../recovery/recover.ts';
import { listServices, type ServiceListing } from '../engine/listing.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { summaryOfService } from '../../domain/swarm/service-verdict.ts';

export type ServiceEnd = Omit<Extract<ServiceStep, { kind: 'end' }>, 'kind' | 'outcome'> & {
  readonly outcome: Extract<ServiceStep, { kind: 'end' }>['outcome'] | 'unknown' | 'skipped';
};

type FollowOrder = {
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
      if (clock.monotonicMs() - unreadSinceMs >= maxUnreadMs) {
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
        if (updateCalls === maxTries) return { outcome: 'deferred', reason: 'Someone else keeps changing the service' };
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
        if (rollbackCalls === maxTries) {
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
const maxUnreadMs = 120_000;

const maxTries = 3;

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
  const { labelSettings } = readLabels(summaryOfService(service).labels, {});
  const { healthWindowMs, healthTimeoutMs, pullTimeoutMs } = effectiveSettings(settings, labelSettings);
  const windowMs = Math.max(service.monitorMs, healthWindowMs);
  return {
    windowMs,
    proofMs: windowMs + (healthTimeoutMs ?? defaultTimeoutMs),
    stallMs: pullTimeoutMs + service.pauseMs + service.monitorMs + (healthTimeoutMs ?? 0),
  };
}

/** The swarm counts a task as running once its HEALTHCHECK has passed, so most of the wait is over then. */
const defaultTimeoutMs = 60_000;

/** Ends updates of services that an earlier process began. Reports each one that needed attention. */
export type RecoverServices = (signal?: AbortSignal) => Promise<readonly RecoveredTransaction[]>;

/**
 * Reads the state of each update. With several instances of Upkeep, the first one acts: the swarm accepts only one
 * change per version of a service. With `background`, an update that the swarm has not ended is followed there, so that
 * other updates need not wait for it.
 */
export function createServiceRecovery(
  outside: Outside,
  settings: ServiceSettings,
  background: RecoveryOrder['background'],
): RecoverServices {
  /** Updates whose end this process has seen. */
  const ended = new Set<string>();

  function noteEnd(id: string): void {
    if (ended.size >= maxRemembered) ended.clear();
    ended.add(id);
  }

  const isFollowed = ({ name }: SwarmService) => background?.repairs.whyNotNow([name]) !== undefined;

  /** Undefined if nothing of the update was left to do. */
  async function repair(
    world: World & Outside,
    { service, update }: OpenUpdate,
    signal: AbortSignal | undefined,
  ): Promise<RecoveredTransaction | undefined> {
    if (await isProven(world, settings, { service, update }, signal)) {
      noteEnd(update.id);
      return undefined;
    }
    const follow = async (onWait?: () => void, until?: AbortSignal) => {
      const end = await followOpen(world, settings, { service, update }, { onWait, signal: until });
      if (end.outcome !== 'deferred') noteEnd(update.id);
      return asTransaction(service, end);
    };
    if (background === undefined || background.repairs.isFull()) return follow(undefined, signal);
    const begun = await background.repairs.begin(
      [service.name],
      (parts) =>
        follow(parts.onWait, parts.signal).catch((error: unknown) =>
          asTransaction(service, { outcome: 'unknown', reason: describeError(error) }),
        ),
      (result) => result !== 'handed over' && background.onEnd(result),
      signal,
    );
    if (begun === 'handed over') return undefined;
    return begun ?? { ...asTransaction(service, { outcome: 'deferred', reason: goesOn }), isUnderWay: true };
  }

  return async (signal) => {
    const { swarm, clock } = outside;
    const listing = swarm && (await listServices(outside, signal));
    if (swarm === undefined || listing === undefined) return [];
    const world = { ...outside, swarm };
    const open = listing.services.flatMap((service) => {
      const update = openUpdate(service, clock.nowMs());
      const isOver = update === undefined || ended.has(update.id) || isKnownToFail(service, update, listing.failures);
      return isOver || isFollowed(service) ? [] : [{ service, update }];
    });
    const repaired = await mapConcurrently(open, settings.updateConcurrency, (one) => repair(world, one, signal));
    const rolledBack = (await rememberRolledBack(world, listing, signal)).filter(
      ({ service, image }) => !ended.has(`${service.id} ${image}`) && !isFollowed(service),
    );
    for (const { service, image } of rolledBack) noteEnd(`${service.id} ${image}`);
    const undone = rolledBack.map(({ service, fault }) =>
      asTransaction(service, { outcome: 'rolled_back', reason: fault.reason }),
    );
    return [...repaired.filter((one) => one !== undefined), ...undone];
  };
}

type OpenUpdate = { readonly service: SwarmService; readonly update: ServiceUpdate };

const goesOn = 'the swarm still updates it; others can be updated meanwhile';

const maxRemembered = 10_000;

/** True if the end of the update was reported before: the rollback has ended and the failed version is stored. */
function isKnownToFail(
  { id, image }: SwarmService,
  { to, from }: ServiceUpdate,
  failures: readonly FailedServiceVersion[],
): boolean {
  return image === from && failures.some(({ serviceId, digest }) => serviceId === id && digest === digestIn(to));
}

/** Whether the new version has run for so long that there is nothing left to watch. */
async function isProven(
  { swarm, engine }: World & Pick<Outside, 'engine'>,
  settings: ServiceSettings,
  { service, update }: OpenUpdate,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (service.update?.state !== 'completed' || service.image !== update.to) return false;
  const [{ tasks, nodes }, { nowMs }] = await Promise.all([
    readService(swarm, service.id, signal),
    engine.info(signal),
  ]);
  return isLongProven(service, tasks, nodes, { nowMs, windowMs: limitsOf(service, settings).windowMs });
}

async function followOpen(
  world: World,
  settings: ServiceSettings,
  { service, update }: OpenUpdate,
  { signal, onWait }: { readonly signal: AbortSignal | undefined; readonly onWait: (() => void) | undefined },
): Promise<ServiceEnd> {
  const limits = limitsOf(service, settings);
  const watch = { ...beginWatch({ update: undefined }, [], world.clock.monotonicMs()), isBegun: true };
  const end = await followService(world, { update, watch, limits, ...(onWait && { onWait }) }, signal);
  if (end.outcome === 'rolled_back' || end.outcome === 'failed')
    await rememberFailure(world, { id: service.id, name: service.name, image: update.to }, end);
  return end;
}

const resultOf: Readonly<Record<ServiceEnd['outcome'], RecoveredTransaction['result']>> = {
  updated: 'finished',
  rolled_back: 'undone',
  failed: 'failed',
  deferred: 'left',
  skipped: 'left',
  unknown: 'failed',
};

function asTransaction(service: SwarmService, { outcome, reason }: ServiceEnd): RecoveredTransaction {
  const { name } = service;
  const { notify } = readLabels(summaryOfService(service).labels, {}).labelSettings;
  return {
    containers: [name],
    kind: 'service',
    result: resultOf[outcome],
    reason: reason || 'All tasks of the service run the new version',
    ...(notify && { recipients: { [name]: notify } }),
  };
}

/**
 * Stores versions that the swarm rolled back while no Upkeep ran, for example of Upkeep's own service. Returns the
 * newly stored versions.
 */
async function rememberRolledBack(
  outside: Pick<Outside, 'log' | 'clock'> & { readonly swarm: Swarm },
  { services, nodes, failures }: ServiceListing,
  signal?: AbortSignal,
): Promise<readonly { readonly service: SwarmService; readonly image: string; readonly fault: Fault }[]> {
  const candidates = services.filter((service) => isRolledBackBySwarm(service, outside.clock.nowMs()));
  if (candidates.length === 0) return [];
  const tasks = await outside.swarm.tasks(
    candidates.map(({ id }) => id),
    signal,
  );
  const found = candidates.flatMap((service) => {
    const own = tasks.filter(({ serviceId }) => serviceId === service.id);
    const version = versionRolledBackBySwarm(service, own, nodes);
    const isKnown = failures.some(
      ({ serviceId, digest }) => serviceId === service.id && digest === digestIn(version?.image ?? ''),
    );
    return version === undefined || isKnown ? [] : [{ ...version, service }];
  });
  for (const { service, image, fault } of found)
    await rememberFailure(outside, { id: service.id, name: service.name, image }, { fault });
  return found;
}

type MaybeSwarm = Pick<Outside, 'swarm' | 'log' | 'clock'>;

/** Stores a version that has failed by its own fault, or that a person (`askedBy`) went back from, in the swarm, so that no run tries it again. */
export async function rememberFailure(
  { swarm, log, clock }: MaybeSwarm,
  { id, name, image }: { readonly id: string; readonly name: string; readonly image: string },
  { fault }: Pick<ServiceEnd, 'fault'>,
  askedBy?: string,
): Promise<void> {
  const digest = digestIn(image);
  if (swarm === undefined || digest === undefined || fault === undefined || !fault.isImagesOwn) return;
  const { reason } = fault;
  const stored = { serviceId: id, serviceName: name, digest, atMs: clock.nowMs(), reason };
  const outcome = await swarm.noteFailure({ ...stored, ...(askedBy !== undefined && { askedBy }) });
  if (outcome.kind === 'done' || outcome.kind === 'noop') return;
  const why = { service: name, reason: outcome.message };
  log.warn('A failed version cannot be stored: only the swarm itself holds it back now', why);
}

/** Removes failures without effect: the service is gone, its tag has moved, or the version runs. */
export async function forgetFailures(
  { swarm, log }: MaybeSwarm,
  { services, failures }: ServiceListing,
  checked: readonly Pick<CheckedContainer, 'id' | 'status' | 'latestDigest'>[],
  updated: ReadonlySet<string>,
): Promise<void> {
  if (swarm === undefined || failures.length === 0) return;
  const present = new Map(services.map((service) => [service.id, service]));
  const verdicts = new Map(checked.map((one) => [one.id, one]));
  for (const failure of failures) {
    const { status = 'unknown', latestDigest } = verdicts.get(failure.serviceId) ?? {};
    const hasMovedOn = status !== 'unknown' && latestDigest !== undefined && latestDigest !== failure.digest;
    const service = present.get(failure.serviceId);
    // While the swarm shows a completed rollback, only this record names the version that failed.
    const isShown = service?.update?.state === 'rollback_completed';
    if (service !== undefined && (!hasMovedOn || isShown) && !updated.has(service.id)) continue;
    const outcome = await swarm.forgetFailure(failure);
    if (outcome.kind === 'refused')
      log.debug('A failed version cannot be forgotten', { service: failure.serviceName, reason: outcome.message });
  }
}
