import type { Outside, Instance } from '../../domain/outside/outside.ts';
import { isContainer, type Outcomes } from '../../domain/run/session.ts';
import { readLabels, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { CheckReport } from '../check/check.ts';
import type { Listing, ServiceListing } from '../engine/listing.ts';
import { forgetFailures } from './failed-services.ts';
import { runServices, type ServiceRun } from './run-services.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import { summaryOfService, readServiceImage, type SwarmService } from '../../domain/container/swarm-service.ts';
import type { PlannedService } from '../../domain/swarm/decide-service.ts';

export type CheckedServices = {
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

/** The same report with containers only, for the steps after an update of containers. */
export function withoutServices<Report extends Pick<CheckReport, 'containers'>>(report: Report): Report {
  const containers = report.containers.filter(isContainer);
  return containers.length === report.containers.length ? report : { ...report, containers };
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
  const ownService = ownServiceId(containers, instance);
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
  const { wishes } = readLabels(summaryOfService(service).labels, {});
  return wishes.dependsOn ?? [];
}

/** The service of the task in which this process runs. */
export function ownServiceId(
  containers: readonly ContainerSummary[],
  { containerId }: Pick<Instance, 'containerId'>,
): string | undefined {
  return containers.find(({ id }) => id === containerId)?.labels[serviceIdLabel];
}

/**
 * A label of every container of a task: https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/
 */
const serviceIdLabel = 'com.docker.swarm.service.id';
