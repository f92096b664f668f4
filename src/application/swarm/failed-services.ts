import type { Outside } from '../../domain/outside/outside.ts';
import { digestIn } from '../../domain/container/swarm-service.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import type { ServiceEnd } from './follow-service.ts';
import type { ServiceListing } from '../engine/listing.ts';

type World = Pick<Outside, 'swarm' | 'log' | 'clock'>;

/** Stores a version that has failed by its own fault in the swarm, so that no run tries it again. */
export async function rememberFailure(
  { swarm, log, clock }: World,
  { id, name, image }: { readonly id: string; readonly name: string; readonly image: string },
  { fault }: Pick<ServiceEnd, 'fault'>,
): Promise<void> {
  const digest = digestIn(image);
  if (swarm === undefined || digest === undefined || fault === undefined || !fault.isImagesOwn) return;
  const { reason } = fault;
  const outcome = await swarm.noteFailure({ serviceId: id, serviceName: name, digest, atMs: clock.nowMs(), reason });
  if (outcome.kind === 'done' || outcome.kind === 'noop') return;
  const why = { service: name, reason: outcome.message };
  log.warn('A failed version cannot be stored: only the swarm itself holds it back now', why);
}

/** Removes failures without effect: the service is gone, its tag has moved, or the version runs. */
export async function forgetFailures(
  { swarm, log }: World,
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
