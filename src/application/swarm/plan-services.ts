import type { ContainerSummary } from '../../domain/container/container.ts';
import type { Instance } from '../../domain/outside/outside.ts';
import { summaryOfService } from '../../domain/swarm/service-summary.ts';
import { readServiceImage } from '../../domain/swarm/service-image.ts';
import type { PlannedService } from '../../domain/swarm/update/service-update.ts';
import type { SwarmService } from '../../domain/swarm/swarm-service.ts';
import { readLabels } from '../../domain/settings/labels.ts';
import type { CheckReport } from '../check/check.ts';
import type { Listing } from '../engine/list-all.ts';

/** The updates of stale services, in the order of the listing. */
export function planServices(
  { containers: checked }: CheckReport,
  { services: listed, containers }: Pick<Listing, 'services' | 'containers'>,
  instance: Pick<Instance, 'containerId'>,
): readonly PlannedService[] {
  if (listed === undefined) return [];
  const ownService = ownServiceId(containers, instance);
  const byId = new Map(listed.services.map((service) => [service.id, service]));
  return checked.flatMap(({ id, status, pullDigest, image }): PlannedService[] => {
    const service = byId.get(id);
    if (service === undefined || status !== 'stale' || pullDigest === undefined) return [];
    const { text } = readServiceImage(service.image, service.labels);
    const planned = { id, name: service.name, image, from: service.image, to: `${text}@${pullDigest}` };
    return [{ ...planned, after: dependenciesOf(service), ...(id === ownService && { isOwn: true }) }];
  });
}

function dependenciesOf(service: SwarmService): readonly string[] {
  const { wishes } = readLabels(summaryOfService(service).labels, {});
  return wishes.dependsOn ?? [];
}

/** The service of the task in which this process runs. */
function ownServiceId(
  containers: readonly ContainerSummary[],
  { containerId }: Pick<Instance, 'containerId'>,
): string | undefined {
  return containers.find(({ id }) => id === containerId)?.labels[serviceIdLabel];
}

/**
 * A label of every container of a task: https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/
 */
const serviceIdLabel = 'com.docker.swarm.service.id';
