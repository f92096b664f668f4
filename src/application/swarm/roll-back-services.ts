import { ServiceError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import {
  effectiveSettings,
  readLabels,
  type LabelValues,
  type ServiceSettings,
} from '../../domain/settings/effective-settings.ts';
import type { PlannedService } from '../../domain/swarm/decide-service.ts';
import {
  digestIn,
  rollbackImageOf,
  unpinnedEarlierImage,
  whyFromIgnored,
  summaryOfService,
  type SwarmService,
} from '../../domain/container/swarm-service.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import { quoted } from '../../domain/text/printable.ts';
import { needsSignature, whyUnsigned } from '../check/require-signature.ts';
import { listServices } from '../engine/listing.ts';
import { forgetFailures, rememberFailure } from './follow-service.ts';
import { runServices, ownServiceId } from './update-services.ts';

/** The services among the names, each with its earlier image. Other names are containers. Throws before any change. */
export async function findServicesBack(
  outside: Outside,
  settings: ServiceSettings,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<readonly PlannedService[]> {
  const listing = await listServices(outside, signal);
  const services = listing?.services.filter(({ name }) => names.includes(name)) ?? [];
  if (services.length === 0) return [];
  const { engine, instance } = outside;
  const { containerId: ownId } = instance;
  const containers = ownId === undefined ? [] : await engine.listContainers({ ids: [ownId] }, signal);
  const own = ownServiceId(containers, instance);
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
  runId: string,
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  const outcomes = await runServices(outside, settings, planned, { runId }, signal);
  const back = planned.filter(({ id }) => outcomes.get(id)?.outcome === 'updated');
  const reason = 'A person rolled it back';
  for (const { id, name, from } of back)
    await rememberFailure(outside, { id, name, image: from }, { fault: { reason, isImagesOwn: true } });
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
  const to = rollbackImageOf(service, seal);
  const unpinned = unpinnedEarlierImage(service, seal);
  if (unpinned !== undefined)
    throw refuse(
      name,
      `its earlier image ${quoted(unpinned)} has no digest, so the nodes would pull the present version of its tag`,
    );
  if (to === undefined) {
    const ignored = whyFromIgnored(service, seal);
    const why = ignored ?? 'it was never updated, or its labels were replaced';
    throw refuse(name, `neither Upkeep nor the swarm knows its earlier image: ${why}`);
  }
  return { id, name, image, from, to, after: [] };
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
