import type { ContainerSummary } from '../../domain/container/container.ts';
import type { ImageLabelsOf } from '../../domain/container/image-index.ts';
import { otherUpdaters } from '../../domain/check/other-updaters.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { scopeInForce } from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';

/** Before the images are listed, all labels count as the containers' own. */
export type UpdaterWarnings = (containers: readonly ContainerSummary[], imageLabelsOf?: ImageLabelsOf) => void;

/** Logs other updaters on the same engine, each container once per process. */
export function createUpdaterWarnings(
  { log, instance }: Pick<ReadOnlyOutside, 'log' | 'instance'>,
  settings: Pick<ServiceSettings, 'scope'>,
): UpdaterWarnings {
  const said = new Set<string>();
  const ownId = instance.containerId;
  return (containers, imageLabelsOf = () => ({})) => {
    const scope = scopeInForce({ scope: settings.scope, containers, imageLabelsOf, ownId });
    for (const { container, warning } of otherUpdaters({ containers, imageLabelsOf, ownId, scope })) {
      if (said.has(container.id)) continue;
      if (said.size >= mostRemembered) said.clear();
      said.add(container.id);
      log.warn(warning, { container: container.name });
    }
  };
}

/** Beyond this number all entries are dropped, and warnings are logged once more. */
const mostRemembered = 1000;
