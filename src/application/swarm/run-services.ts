import { describeError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, Outcomes } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { PlannedService } from '../../domain/swarm/decide-service.ts';
import { digestIn } from '../../domain/container/swarm-service.ts';
import { quoted } from '../../domain/text/printable.ts';
import { createSlots } from '../async/concurrency.ts';
import { updateService } from './update-service.ts';

/**
 * Updates services, `updateConcurrency` at once or one by one, each after its dependencies. A failure stops only the
 * services that depend on it. After an abort no further update begins.
 */
export async function runServices(
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

export type ServiceRun = {
  readonly runId: string;
  /** Called just before an update begins. Returns why services with these ids must not be updated now. */
  readonly whyNotNow?: ((ids: readonly string[]) => Promise<string | undefined>) | undefined;
};

/** The outcome of a service that was not changed. */
export function leftAlone({ id, name, image, from }: PlannedService, reason: string): ContainerOutcome {
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
