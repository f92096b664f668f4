import { accessTest, type AccessFilter } from '../../domain/access/rights.ts';
import type { Outside, Instance } from '../../domain/outside/outside.ts';
import type { Outcomes, ContainerOutcome } from '../../domain/run/session.ts';
import {
  readLabels,
  effectiveSettings,
  type ServiceSettings,
  type LabelValues,
} from '../../domain/settings/effective-settings.ts';
import type { CheckReport } from '../check/check.ts';
import { listServices, type Listing, type ServiceListing } from '../engine/listing.ts';
import {
  forgetFailures,
  rememberFailure,
  followService,
  limitsOf,
  readService,
  type ServiceEnd,
} from './follow-service.ts';
import {
  ownServiceId,
  readServiceImage,
  digestIn,
  updateLabels,
  earlierImageOf,
  type SwarmService,
  type ServiceUpdate,
} from '../../domain/container/swarm-service.ts';
import { beginWatch } from '../../domain/swarm/decide-service.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { quoted } from '../../domain/text/printable.ts';
import { createSlots } from '../async/concurrency.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import type { ServiceCallOutcome, Swarm } from '../../domain/outside/engine.ts';
import type { RegistryCredentials } from '../../domain/outside/registry.ts';
import type { Platform } from '../../domain/image/platform.ts';
import { whyNotUpdated, newPlatforms, summaryOfService } from '../../domain/swarm/service-verdict.ts';
import { announceEnd, announceStart } from '../transaction/outcomes.ts';
import { needsSignature, whyUnsigned } from '../check/require-signature.ts';
import type { PlannedService } from '../../domain/plan/update-plan.ts';

type CheckedServices = {
  readonly report: CheckReport;
  readonly listing: Listing;
  readonly runId: string;
  /** See `ServiceRun`. */
  readonly whyNotNow: ServiceRun['whyNotNow'];
  /** Awaited before Upkeep's own service is updated. */
  readonly beforeOwn: (() => Promise<void>) | undefined;
};

/**
 * Updates the stale services of a report while `replaceContainers` works on containers. Upkeep's own service comes
 * last. With `rollingRestart` services come after containers. A failure of one part is thrown when the other part has
 * ended.
 */
export async function updateBesideServices<Replaced>(
  outside: Outside,
  settings: ServiceSettings,
  { report, listing, beforeOwn, ...run }: CheckedServices,
  replaceContainers: () => Promise<Replaced>,
  signal?: AbortSignal,
): Promise<{ readonly replaced: Replaced; readonly services: Outcomes }> {
  const { services } = listing;
  if (services === undefined) return { replaced: await replaceContainers(), services: new Map() };
  const planned = planServices(report, listing, outside.instance);

  async function updateOthers(listed: ServiceListing): Promise<Outcomes> {
    const others = planned.filter(({ isOwn }) => isOwn !== true);
    const outcomes = await runServices(outside, settings, others, run, signal);
    const updated = new Set([...outcomes].flatMap(([id, { outcome }]) => (outcome === 'updated' ? [id] : [])));
    await forgetFailures(outside, listed, report.containers, updated);
    return outcomes;
  }

  const containers = replaceContainers();
  const others = settings.rollingRestart ? containers.then(() => updateOthers(services)) : updateOthers(services);
  await Promise.allSettled([containers, others]);
  const [replaced, outcomes] = [await containers, await others];
  const own = planned.filter(({ isOwn }) => isOwn === true);
  if (own.length > 0) await beforeOwn?.();
  return { replaced, services: new Map([...outcomes, ...(await runServices(outside, settings, own, run, signal))]) };
}

/**
 * The updates of stale services, in the order of the listing. Nodes choose from an index by rules of their own, so that
 * of an index without a signature, the service gets the one image that has a signature.
 */
export function planServices(
  { containers: checked }: CheckReport,
  { services: listed, containers }: Pick<Listing, 'services' | 'containers'>,
  instance: Pick<Instance, 'containerId'>,
): readonly PlannedService[] {
  if (listed === undefined) return [];
  const ownService = ownServiceId(containers, instance.containerId);
  const byId = new Map(listed.services.map((service) => [service.id, service]));
  return checked.flatMap(({ id, status, pullDigest, verified, image }): PlannedService[] => {
    const service = byId.get(id);
    if (service === undefined || status !== 'stale' || pullDigest === undefined) return [];
    const { text } = readServiceImage(service.image, service.labels);
    const digest = verified?.isIndexUnsigned ? verified.manifestDigest : pullDigest;
    const planned = { id, name: service.name, image, from: service.image, to: `${text}@${digest}` };
    return [{ ...planned, after: dependenciesOf(service), ...(id === ownService && { isOwn: true }) }];
  });
}

function dependenciesOf(service: SwarmService): readonly string[] {
  const { labelSettings } = readLabels(summaryOfService(service).labels, {});
  return labelSettings.dependsOn ?? [];
}

/**
 * Updates services, `updateConcurrency` at once or one by one, each after its dependencies. A failure stops only the
 * services that depend on it. After an abort no further update begins.
 */
async function runServices(
  outside: Outside,
  settings: ServiceSettings,
  planned: readonly PlannedService[],
  { runId, whyNotNow }: ServiceRun,
  signal?: AbortSignal,
): Promise<Outcomes> {
  const { swarm, log } = outside;
  if (swarm === undefined || planned.length === 0) return new Map();
  const world = { ...outside, swarm };
  const slots = createSlots(settings.rollingRestart ? 1 : settings.updateConcurrency);
  const ends = new Map<string, Promise<ContainerOutcome>>();

  async function attempt(service: PlannedService, needs: readonly string[]): Promise<ContainerOutcome> {
    const awaited = await Promise.all(needs.flatMap((name) => ends.get(name) ?? []));
    const failed = awaited.find(({ outcome }) => outcome !== 'updated');
    if (failed !== undefined) return leftAlone(service, `It depends on ${quoted(failed.name)}, which was not updated`);
    return slots.run(async () => {
      if (signal?.aborted) return leftAlone(service, 'The run was cancelled before its turn');
      try {
        const why = await whyNotNow?.([service.id]);
        if (why !== undefined) return { ...leftAlone(service, why), outcome: 'deferred' };
        return await updateService(world, settings, service, runId, signal);
      } catch (error) {
        if (signal?.aborted) return leftAlone(service, 'The run was cancelled before its turn');
        log.error('The update of a service failed', { service: service.name, error: describeError(error) });
        return { ...leftAlone(service, describeError(error)), outcome: 'failed' };
      }
    });
  }

  for (const service of inOrder(planned)) {
    const needs = service.after.filter((name) => ends.has(name));
    ends.set(service.name, attempt(service, needs));
  }
  const outcomes = await Promise.all([...ends.values()]);
  return new Map(outcomes.map((outcome) => [outcome.containerId ?? '', outcome]));
}

type ServiceRun = {
  readonly runId: string;
  /** Called just before an update begins. Returns why services with these ids must not be updated now. */
  readonly whyNotNow?: ((ids: readonly string[]) => Promise<string | undefined>) | undefined;
};

/** The outcome of a service that was not changed. */
function leftAlone({ id, name, image, from }: PlannedService, reason: string): ContainerOutcome {
  const digest = digestIn(from) ?? '';
  return {
    name,
    containerId: id,
    image,
    outcome: 'skipped',
    reason,
    kind: 'service',
    oldImageId: '',
    newImageId: '',
    oldDigest: digest,
    newDigest: digest,
  };
}

/** Services that depend on each other in a circle keep the order of the listing. */
function inOrder(planned: readonly PlannedService[]): readonly PlannedService[] {
  const byName = new Map(planned.map((service) => [service.name, service]));
  const ordered = new Set<PlannedService>();
  const visiting = new Set<PlannedService>();
  function visit(service: PlannedService): void {
    if (visiting.has(service)) return;
    visiting.add(service);
    for (const name of service.after) {
      const need = byName.get(name);
      if (need !== undefined) visit(need);
    }
    ordered.add(service);
  }
  for (const service of planned) visit(service);
  return [...ordered];
}

type World = Omit<Outside, 'swarm'> & { readonly swarm: Swarm };

/** Updates one service and proves it. Every end is an outcome, which is published. */
async function updateService(
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
    return { outcome: 'deferred', reason: 'Someone else changed the service in the meantime' };
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
  if (outcome.kind === 'conflict') return { outcome: 'deferred', reason: 'Someone else is changing the service' };
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

/**
 * The services among the names, each with its earlier image. Other names are containers. A service outside of `within`
 * is none of them: it may have the name of a container that the caller may change. Throws before any change.
 */
export async function findServicesBack(
  outside: Outside,
  settings: ServiceSettings,
  { names, within }: { readonly names: readonly string[]; readonly within: AccessFilter | undefined },
  signal?: AbortSignal,
): Promise<readonly PlannedService[]> {
  const listing = await listServices(outside, signal);
  const isWithin = within === undefined ? () => true : accessTest(within);
  const services = listing?.services.filter((service) => names.includes(service.name) && isWithin(service)) ?? [];
  if (services.length === 0) return [];
  const { engine, instance } = outside;
  const { containerId: ownId } = instance;
  const containers = ownId === undefined ? [] : await engine.listContainers({ ids: [ownId] }, signal);
  const own = ownServiceId(containers, instance.containerId);
  const planned: PlannedService[] = [];
  for (const service of services) {
    if (service.id === own) throw refuse(service.name, 'this process runs in it: run the command on the host');
    const back = plannedBack(service, outside.seal);
    await requireSigned(outside, settings, { service, back }, signal);
    planned.push(back);
  }
  return planned;
}

/**
 * Rolls services back by a normal update to their earlier image, because any change of a label discards the swarm's own
 * rollback. No run tries the rolled-back version again.
 */
export async function rollBackServices(
  outside: Outside,
  settings: ServiceSettings,
  planned: readonly PlannedService[],
  { runId, askedBy }: { readonly runId: string; readonly askedBy: string },
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  const outcomes = await runServices(outside, settings, planned, { runId }, signal);
  const back = planned.filter(({ id }) => outcomes.get(id)?.outcome === 'updated');
  const reason = 'A person rolled it back';
  for (const { id, name, from } of back)
    await rememberFailure(outside, { id, name, image: from }, { fault: { reason, isImagesOwn: true } }, askedBy);
  const listing = back.length === 0 ? undefined : await listServices(outside, signal);
  if (listing !== undefined) {
    const overcome = listing.failures.filter(({ serviceId, digest }) =>
      back.some(({ id, to }) => id === serviceId && digestIn(to) === digest),
    );
    await forgetFailures(outside, { ...listing, failures: overcome }, [], new Set(back.map(({ id }) => id)));
  }
  return [...outcomes.values()].map((outcome) =>
    outcome.outcome === 'updated' ? { ...outcome, reason: 'back to the image from before its last update' } : outcome,
  );
}

function plannedBack(service: SwarmService, seal: Outside['seal']): PlannedService {
  const { id, name, image: from } = service;
  const { image } = summaryOfService(service);
  if (labelSettingsOf(service).enable === false) throw refuse(name, 'it is disabled by its label');
  const earlier = earlierImageOf(service, seal);
  if (earlier.kind === 'unpinned')
    throw refuse(
      name,
      `its earlier image ${quoted(earlier.image)} has no digest, so the nodes would pull the present version of its tag`,
    );
  if (earlier.kind === 'none') {
    const why = earlier.why ?? 'it was never updated, or its labels were replaced';
    throw refuse(name, `neither Upkeep nor the swarm knows its earlier image: ${why}`);
  }
  return { id, name, image, from, to: earlier.image, after: [] };
}

function labelSettingsOf(service: SwarmService): LabelValues {
  return readLabels(summaryOfService(service).labels, {}).labelSettings;
}

type Signing = {
  readonly service: SwarmService;
  readonly back: PlannedService;
};

/**
 * The nodes pull the earlier image, so it needs a signature like a new one. They choose from an index themselves, so the
 * signature of one of its images is not enough.
 */
async function requireSigned(
  outside: Outside,
  settings: ServiceSettings,
  { service, back: { name, to } }: Signing,
  signal: AbortSignal | undefined,
): Promise<void> {
  const effective = effectiveSettings(settings, labelSettingsOf(service));
  const [reference, digest] = [tryParseImageReference(to), digestIn(to)];
  if (reference === undefined || digest === undefined || !needsSignature(effective, outside.verificationKeys)) return;
  const why = await whyUnsigned(outside, effective, { reference, digest }, signal);
  if (why !== undefined) throw refuse(name, `its earlier image has to be pulled, and is ${why}`);
}

function refuse(name: string, why: string): ServiceError {
  return new ServiceError('not-found', `Cannot roll back the service ${quoted(name)}: ${why}`, {
    remedy: 'nothing was changed',
  });
}
