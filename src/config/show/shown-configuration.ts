import { quoted } from '../../domain/text/printable.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { ShownOption } from '../read/shown-options.ts';

/** Content of `/v1/config`. `ownScope` is our own container's scope, which applies without an option. */
export function shownConfiguration(service: ServiceSettings, options: readonly ShownOption[], ownScope: string) {
  const asked = service.scope === 'none' ? '' : service.scope;
  const inForce = { ...service, scope: asked ?? ownScope };
  return { config: { ...inForce, filterDescription: describeSelection(inForce) }, options };
}

/** A sentence about which containers are watched, without a final period. */
export function describeSelection(settings: ServiceSettings): string {
  const { names, scope, monitorImageNames, skipImageNames } = settings;
  const which = names.length === 0 ? 'All containers' : `Containers named ${list(names)}`;
  const conditions = [
    settings.labelEnable ? 'with the label upkeep.enable=true' : 'except those that a label disables',
    ...mention(settings.disableContainers, 'except those named'),
    ...mention(monitorImageNames, 'of the images'),
    ...mention(skipImageNames, 'except those of the images'),
    ...mention(settings.enableContainersByLabel, 'with the label'),
    ...mention(settings.disableContainersByLabel, 'except those with the label'),
    ...(scope === undefined || scope === '' || scope === 'none' ? [] : [`in the scope ${quoted(scope)}`]),
    ...(settings.includeStopped ? ['stopped ones included'] : []),
    ...(settings.includeRestarting ? ['restarting ones included'] : []),
  ];
  return [which, ...conditions].join(', ');
}

function mention(items: readonly string[], words: string): readonly string[] {
  return items.length === 0 ? [] : [`${words} ${list(items)}`];
}

function list(names: readonly string[]): string {
  return names.map((name) => quoted(name)).join(' or ');
}
