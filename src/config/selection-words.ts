import { quoted } from '../domain/printable.ts';
import type { ServiceSettings } from '../domain/settings.ts';

/** A sentence on which containers the settings have watched, without a final period. */
export function describeSelection(settings: ServiceSettings): string {
  const { names, labelEnable, disableContainers, scope, includeStopped, includeRestarting } = settings;
  const which = names.length === 0 ? 'All containers' : `Containers named ${list(names)}`;
  const conditions = [
    labelEnable ? 'with the label upkeep.enable=true' : 'except those that a label disables',
    ...(disableContainers.length > 0 ? [`except those named ${list(disableContainers)}`] : []),
    ...(scope === undefined ? [] : [`in the scope ${quoted(scope)}`]),
    ...(includeStopped ? ['stopped ones included'] : []),
    ...(includeRestarting ? ['restarting ones included'] : []),
  ];
  return [which, ...conditions].join(', ');
}

function list(names: readonly string[]): string {
  return names.map((name) => quoted(name)).join(' or ');
}
