import type { ContainerSummary } from '../../../domain/container/container.ts';
import type { ImageLabelsOf } from '../../../domain/container/lookup.ts';
import { otherUpdaters } from '../../../domain/check/other-managers.ts';
import type { Log, ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { Selection, WatchedContainer } from '../../../domain/check/selection.ts';
import { scopeInForce } from '../../../domain/check/watch-rules.ts';
import type { ServiceSettings } from '../../../domain/settings/effective-settings.ts';
import { labelsWithoutEffect, type SwarmService } from '../../../domain/container/swarm-service.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { createFirstTimes } from '../../async/remember.ts';

/** Before the images are listed, all labels count as the containers' own. */
export type UpdaterWarnings = (containers: readonly ContainerSummary[], imageLabelsOf?: ImageLabelsOf) => void;

/** Logs other updaters on the same engine, each container once per process. */
export function createUpdaterWarnings(
  { log, instance }: Pick<ReadOnlyOutside, 'log' | 'instance'>,
  settings: Pick<ServiceSettings, 'scope'>,
): UpdaterWarnings {
  const isFirst = createFirstTimes(1000);
  const ownId = instance.containerId;
  return (containers, imageLabelsOf = () => ({})) => {
    const scope = scopeInForce({ scope: settings.scope, containers, imageLabelsOf, ownId });
    for (const { container, warning } of otherUpdaters({ containers, imageLabelsOf, ownId, scope }))
      if (isFirst(container.id)) log.warn(warning, { container: container.name });
  };
}

/** Logs errors in containers' labels, each once per process. */
export function createLabelWarnings(log: Log): (selection: Selection) => void {
  const isFirst = createFirstTimes(5000);
  return ({ watched, unwatched }) => {
    for (const { container, warnings } of [...watched, ...unwatched])
      for (const warning of warnings)
        if (isFirst(`${container.name} ${warning}`)) log.warn(warning, { container: container.name });
  };
}

/**
 * Logs the containers that belong to another program, each reason once per process: a CI runner may create a hundred of
 * them in an hour.
 */
export function createManagerNotes(log: Log): (selection: Pick<Selection, 'unwatched'>) => void {
  const isFirst = createFirstTimes(100);
  return ({ unwatched }) => {
    const others = unwatched.filter(({ kind }) => kind === 'other manager');
    for (const { container, reason } of others) {
      if (!isFirst(reason)) continue;
      const alike = others.filter((other) => other.reason === reason).length - 1;
      const more = alike === 0 ? '' : `, and ${alike} more like it`;
      log.info(
        `Container ${quoted(container.name)} is not watched${more}: it ${reason}. The label upkeep.enable=true has it watched`,
        { container: container.name },
      );
    }
  };
}

/** Logs the labels of watched services that have no effect, each once per process. */
export function createServiceWarnings(
  log: Log,
): (services: readonly SwarmService[], watched: readonly WatchedContainer[]) => void {
  const isFirst = createFirstTimes(5000);
  return (services, watched) => {
    const ids = new Set(watched.map(({ container }) => container.id));
    for (const service of services.filter(({ id }) => ids.has(id)))
      for (const warning of labelsWithoutEffect(service))
        if (isFirst(`${service.name} ${warning}`)) log.warn(warning, { service: service.name });
  };
}
