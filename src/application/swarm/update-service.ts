import { defined } from '../../domain/text/plain-data.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceCallOutcome, Swarm } from '../../domain/outside/engine.ts';
import { describeError } from '../../domain/text/errors.ts';
import type { RegistryCredentials } from '../../domain/outside/registry.ts';
import type { Platform } from '../../domain/image/platform.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { whyNotUpdated, newPlatforms } from '../../domain/swarm/service-verdict.ts';
import { digestIn, updateLabels, type SwarmService } from '../../domain/container/swarm-service.ts';
import { beginWatch, type ServiceUpdate, type PlannedService } from '../../domain/swarm/decide-service.ts';
import { announceEnd, announceStart } from '../transaction/outcomes.ts';
import { rememberFailure } from './failed-services.ts';
import { followService, limitsOf, readService, type ServiceEnd } from './follow-service.ts';

type World = Omit<Outside, 'swarm'> & { readonly swarm: Swarm };

/** Updates one service and proves it. Every end is an outcome, which is published. */
export async function updateService(
  outside: World,
  settings: ServiceSettings,
  planned: PlannedService,
  runId: string,
  signal?: AbortSignal,
): Promise<ContainerOutcome> {
  const { name, image, from, to } = planned;
  const [oldDigest, newDigest] = [digestIn(from) ?? '', digestIn(to) ?? ''];
  announceStart(outside, runId, { name, entryKind: 'service', image, from: oldDigest, to: newDigest });
  const end = await attempt(outside, settings, planned, runId, signal);
  if (end.outcome === 'rolled_back' || end.outcome === 'failed')
    await rememberFailure(outside, { id: planned.id, name, image: to }, end);
  const outcome: ContainerOutcome = {
    name,
    containerId: planned.id,
    image,
    outcome: end.outcome,
    reason: end.reason,
    kind: 'service',
    oldImageId: '',
    newImageId: '',
    oldDigest,
    newDigest,
  };
  announceEnd(outside, runId, outcome);
  return outcome;
}

async function attempt(
  outside: World,
  settings: ServiceSettings,
  planned: PlannedService,
  runId: string,
  signal?: AbortSignal,
): Promise<ServiceEnd> {
  const { swarm, clock, publish, newId } = outside;
  const { isOwn = false } = planned;
  const { service, tasks, nodes } = await readService(swarm, planned.id, signal);
  if (service === undefined) return { outcome: 'deferred', reason: 'The service was removed in the meantime' };
  if (service.image !== planned.from)
    return { outcome: 'deferred', reason: 'Somebody else changed the service in the meantime' };
  const refused = whyNotUpdated(service, tasks, nodes) ?? (isOwn ? whyNotItself(service) : undefined);
  if (refused !== undefined) return refused;
  const update: ServiceUpdate = { id: newId(), serviceId: service.id, from: planned.from, to: planned.to };
  const labels = updateLabels(update, outside.seal);
  const credentials = await credentialsFor(outside, planned.to, signal);
  const platforms = await platformsFor(outside, service, planned.to, signal);
  const edit = { image: update.to, labels, ...defined({ credentials, platforms }) };
  // The swarm replaces this process, so nobody follows the update.
  if (isOwn) return ownEnd(await swarm.change(service, edit));
  let published = '';
  return followService(
    outside,
    {
      update,
      watch: beginWatch(service, tasks, clock.monotonicMs()),
      limits: limitsOf(service, settings),
      begin: (now) => swarm.change(now, edit),
      onWait: ({ phase, progress }) => {
        const text = `${phase} ${progress.running} ${progress.wanted}`;
        if (text !== published)
          publish({
            kind: 'phase_entered',
            runId,
            container: planned.name,
            entryKind: 'service',
            phase,
            tasks: progress,
          });
        published = text;
      },
    },
    signal,
  );
}

/** With `pause` and one task, a failed update would leave no Upkeep to repair it. */
function whyNotItself({ failureAction }: SwarmService): ServiceEnd | undefined {
  if (failureAction === 'rollback') return undefined;
  const reason = `Upkeep runs in this service, and its failure action is ${failureAction}: after a failed update no Upkeep would run to repair it. Set update_config.failure_action to rollback`;
  return { outcome: 'skipped', reason };
}

function ownEnd(outcome: ServiceCallOutcome): ServiceEnd {
  if (outcome.kind === 'conflict') return { outcome: 'deferred', reason: 'Somebody else is changing the service' };
  if (outcome.kind === 'refused')
    return { outcome: 'failed', reason: `The swarm refused the update: ${outcome.message}` };
  return { outcome: 'deferred', reason: 'The swarm replaces Upkeep itself now; the next start checks the result' };
}

/** Undefined if Upkeep has no login for the registry: the swarm then keeps its stored one. */
async function credentialsFor(
  { registry }: Pick<Outside, 'registry'>,
  image: string,
  signal: AbortSignal | undefined,
): Promise<RegistryCredentials | undefined> {
  const reference = tryParseImageReference(image);
  return reference && (await registry.credentialsFor(reference, signal));
}

/**
 * Undefined: the platforms in the spec stay. That is also the result when no registry reports platforms; a node without
 * a matching image then refuses its task.
 */
async function platformsFor(
  { registry, log }: Pick<Outside, 'registry' | 'log'>,
  { name, platforms }: SwarmService,
  image: string,
  signal: AbortSignal | undefined,
): Promise<readonly Platform[] | undefined> {
  const [reference, digest] = [tryParseImageReference(image), digestIn(image)];
  if (platforms === undefined || reference === undefined || digest === undefined) return undefined;
  try {
    return newPlatforms(platforms, await registry.platformsOf(reference, digest, signal));
  } catch (error) {
    if (signal?.aborted) throw error;
    const why = { service: name, error: describeError(error) };
    log.warn('The platforms of the new image cannot be read: those of the service stay as they are', why);
    return undefined;
  }
}
