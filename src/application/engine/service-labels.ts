import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ImageLabelsOf } from '../../domain/container/image-index.ts';
import type { Labels } from '../../domain/container/label-names.ts';
import type { Log } from '../../domain/outside/outside.ts';
import { labelsWithoutEffect } from '../../domain/swarm/service-summary.ts';
import type { SwarmService } from '../../domain/swarm/swarm-service.ts';

/** All labels of a service count as its own: this engine may not have its image. */
export function withoutImages(services: readonly SwarmService[], imageLabelsOf: ImageLabelsOf): ImageLabelsOf {
  if (services.length === 0) return imageLabelsOf;
  return (container) => (container.imageId === '' ? noLabels : imageLabelsOf(container));
}

const noLabels: Labels = {};

/** Logs the labels of watched services that have no effect, each once per process. */
export function createServiceWarnings(
  log: Pick<Log, 'warn'>,
): (services: readonly SwarmService[], watched: readonly WatchedContainer[]) => void {
  const said = new Set<string>();
  return (services, watched) => {
    if (services.length === 0) return;
    const ids = new Set(watched.map(({ container }) => container.id));
    for (const service of services) {
      if (!ids.has(service.id)) continue;
      for (const warning of labelsWithoutEffect(service)) {
        const key = `${service.name} ${warning}`;
        if (said.has(key)) continue;
        if (said.size >= mostRemembered) said.clear();
        said.add(key);
        log.warn(warning, { service: service.name });
      }
    }
  };
}

/** Beyond this number all entries are dropped, and warnings are logged once more. */
const mostRemembered = 5000;
